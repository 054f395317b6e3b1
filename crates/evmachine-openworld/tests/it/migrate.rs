use evmachine::{Evm, Features, Labels, NewVectors, Params, RowNames, Run};
use evmachine_openworld::{Answer, NewSample, Pool, State, Target, Which};
use tempfile::TempDir;

use crate::{Random, assert_sound, clump, stream};

/// Two known clumps of twenty rows, and the stream, by their ids.
fn rows() -> (Vec<String>, Vec<f32>) {
    let mut random = Random(11);
    let train = [clump(&mut random, 0.0, 0.0, 20), clump(&mut random, 5.0, 0.0, 20)].concat();
    let ids = (0..40).map(|row| format!("train {row}"));
    let ids = ids.chain((0..stream().rows()).map(|row| format!("new {row}"))).collect();
    (ids, [train, stream().values().to_vec()].concat())
}

/// A pool in which one group was learned, one is handed out, and one sample has no id.
fn pool(place: &TempDir) -> Pool {
    let (ids, values) = rows();
    let labels = Labels::new((0..40).map(|row| if row < 20 { "a" } else { "b" })).unwrap();
    let train = Features::new(values[..80].to_vec(), 2).unwrap();
    let all = Params { cover_threshold: 1.0, ..Params::paper() };
    let (mut model, _) = Evm::fit(&all, &train, &labels).unwrap();
    let names = RowNames { ids: Some(ids[..40].to_vec()), ..RowNames::default() };
    model.name_rows(0, 40, names).unwrap();
    let mut pool = Pool::create(&place.path().join("pool"), &model).unwrap();
    let run = Run::new();
    let details: Vec<NewSample> =
        ids[40..].iter().map(|id| NewSample { id: Some(id.clone()), ..NewSample::default() }).collect();
    pool.add(&run, &stream(), &details, Which::Unknown).unwrap();
    let group = pool.next_groups(&run, 1, false).unwrap().remove(0);
    let target = Target::Group { group: group.number, except: &[] };
    pool.answer(&run, &target, Answer::Label("c"), Some("Ada")).unwrap();
    pool.update(&run, None).unwrap();
    let group = pool.next_groups(&run, 1, false).unwrap().remove(0);
    pool.add_note(group.exemplar, "who is it?", None).unwrap();
    pool.answer(&run, &Target::Samples(&group.samples[..1]), Answer::Ignore, None).unwrap();
    pool
}

fn classes(model: &Evm) -> Vec<String> {
    model.classes().map(|class| class.name.to_owned()).collect()
}

#[test]
fn the_same_vectors_make_the_same_pool() {
    let place = tempfile::tempdir().unwrap();
    let mut pool = pool(&place);
    let (ids, values) = rows();
    let features = Features::new(values, 2).unwrap();
    let (run, folder) = (Run::new(), place.path().join("same"));
    let new = NewVectors { ids: &ids, features: &features, encoder: None };
    let report = pool.migrate(&run, &folder, &new, &[]).unwrap();
    assert!(report.unchanged && report.missing.is_empty() && report.without_id == 0, "{report:?}");
    assert!(report.versions.iter().all(|version| version.hash == version.before), "no byte is another");
    assert_eq!(report.versions.len(), 2);
    let mut same = Pool::open(&folder).unwrap();
    assert_eq!(same.status().unwrap(), pool.status().unwrap());
    assert_eq!(same.events().unwrap(), pool.events().unwrap());
    assert_eq!(same.next_groups(&run, 9, false).unwrap(), pool.next_groups(&run, 9, false).unwrap());
    assert_eq!(same.live().unwrap(), pool.live().unwrap());
    assert_sound(&folder);
    assert!(pool.migrate(&run, &folder, &new, &[]).is_err(), "the folder is not empty");
}

#[test]
fn another_space_keeps_answers_events_and_versions() {
    let place = tempfile::tempdir().unwrap();
    let mut pool = pool(&place);
    let run = Run::new();
    // One that cannot be found again.
    let strange = Features::new(vec![60.0, 60.0], 2).unwrap();
    pool.add(&run, &strange, &[], Which::Unknown).unwrap();
    let (mut ids, values) = rows();
    // Another space: three columns, and turned. The last stranger of the stream is not in it.
    let turned = |row: &[f32]| [row[1] - row[0], row[0] + row[1], 0.5 * row[0]];
    let mut values: Vec<f32> = values.chunks_exact(2).flat_map(turned).collect();
    let lost = ids.remove(40 + 23);
    values.drain(3 * (40 + 23)..3 * (40 + 24));
    let features = Features::new(values, 3).unwrap();
    let new = NewVectors { ids: &ids, features: &features, encoder: None };
    let folder = place.path().join("turned");
    let names: Vec<String> = ["x", "y", "z"].map(String::from).to_vec();
    let report = pool.migrate(&run, &folder, &new, &names).unwrap();
    assert_eq!((report.missing.clone(), report.without_id, report.unchanged), (vec![lost], 1, false));
    assert!(report.versions.iter().all(|version| version.hash != version.before));
    let mut turned = Pool::open(&folder).unwrap();
    assert!(turned.is_refreshed().unwrap());
    assert_sound(&folder);
    let (before, after) = (pool.status().unwrap(), turned.status().unwrap());
    assert_eq!(after.dimensions, 3);
    assert_eq!(
        (after.labelled, after.ignored, after.to_learn),
        (before.labelled, before.ignored, before.to_learn)
    );
    assert_eq!(after.waiting, before.waiting - 2);
    assert_eq!(after.versions.len(), before.versions.len());
    let kinds = |pool: &Pool| -> Vec<_> {
        let events = pool.events().unwrap().into_iter();
        events.map(|event| (event.kind, event.person, event.label, event.time, event.in_force)).collect()
    };
    assert_eq!(kinds(&turned), kinds(&pool));
    let live = turned.live().unwrap();
    assert_eq!(
        (live.dimensions(), classes(&live), live.feature_names()),
        (3, ["a", "b", "c"].map(String::from).to_vec(), &names[..])
    );
    let note = turned.for_each_sample::<evmachine_openworld::StoreError>(|sample| {
        if sample.state == State::Waiting {
            assert!(sample.id.is_some() && sample.model == after.live, "{sample:?}");
        }
        Ok(())
    });
    note.unwrap();
    // The learned group is known in the new space, and the version before it can be gone back to.
    let asked = Features::new(features.row(40).to_vec(), 3).unwrap();
    assert_eq!(live.name_of(&live.decide(&asked).unwrap()[0]), Some("c"));
    turned.rollback(None).unwrap();
    assert_eq!(classes(&turned.live().unwrap()), ["a", "b"]);
    turned.undo(None, None).unwrap();
    let groups = turned.next_groups(&run, 9, false).unwrap();
    assert!(
        !groups.is_empty() && groups.iter().all(|group| group.members.iter().all(|one| one.id.is_some()))
    );
    turned.update(&run, None).unwrap();
    assert_sound(&folder);
}
