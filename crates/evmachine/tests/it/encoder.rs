//! The encoder of a model: its name, what its vectors look like, and the way to another one.

use evmachine::{
    Edit, Encoder, EncoderError, Evm, Features, Labels, NewVectors, Params, RowNames, Run, TailModel, Trait,
};
use proptest::prelude::*;

use crate::common::{Random, Set, any_metric, any_set};
use crate::data;

fn named(name: &str) -> Encoder {
    name.parse().unwrap()
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|row| format!("row {row}")).collect()
}

/// A model of the set whose rows have ids.
fn with_ids(set: &Set, params: &Params) -> Evm {
    let mut evm = set.fit(params);
    let names = RowNames { ids: Some(ids(set.len())), batch: Some("all".to_owned()), ..RowNames::default() };
    evm.name_rows(0, set.len() as u64, names).unwrap();
    evm
}

/// By id, class and Psi-model of every extreme vector.
fn fits(evm: &Evm) -> Vec<String> {
    let vectors = evm.extreme_vectors().map(|vector| {
        let id = evm.origin(vector.source).id.map(str::to_owned);
        format!("{id:?} {} {:?} {:?}", evm.class_name(vector.class), vector.vector, vector.psi)
    });
    let mut fits: Vec<String> = vectors.collect();
    fits.sort();
    fits
}

fn migrated(evm: &Evm, ids: &[String], features: &Features<'_>) -> (Evm, evmachine::MigrationReport) {
    evm.migrated_with(&Run::new(), &NewVectors { ids, features, encoder: None }).unwrap()
}

/// Rows in reverse, with their ids.
fn reversed(set: &Set) -> (Vec<String>, Features<'static>) {
    let back: Vec<usize> = (0..set.len()).rev().collect();
    (back.iter().map(|row| format!("row {row}")).collect(), set.features.select(&back))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn an_identity_migration_changes_no_byte_of_any_psi(
        set in any_set(), metric in any_metric(), cover in 0.05f64..1.0, whole in any::<bool>(),
        seed in any::<u64>(), calibrated in any::<bool>(),
    ) {
        let base = if calibrated { Params::plain() } else { Params::paper() };
        let params = Params { metric, cover_threshold: if whole { 1.0 } else { cover }, ..base };
        prop_assume!(params.smoothing == 0.0);
        let mut evm = with_ids(&set, &params);
        let first = evm.extreme_vectors().next().unwrap().source;
        evm.edit(&Edit::SetAside { rows: vec![first] }).ok();
        let mut random = Random(seed);
        let more: Vec<f32> = (0..2 * set.features.columns()).map(|_| 1.0 + 8.0 * random.next()).collect();
        let more = Features::new(more, set.features.columns()).unwrap();
        let seen = evm.points_seen();
        evm.ignore(&more.select(&[0])).unwrap();
        let name = evm.class_name(0).to_owned();
        evm.deny(&more.select(&[1]), &name).unwrap();
        let names = vec!["stranger".to_owned(), "not her".to_owned()];
        evm.name_rows(seen, 2, RowNames { ids: Some(names.clone()), ..RowNames::default() }).unwrap();
        let (mut ids, features) = reversed(&set);
        ids.extend(names);
        let values = [features.values(), more.values()].concat();
        let features = Features::new(values, more.columns()).unwrap();
        let (same, report) = migrated(&evm, &ids, &features);
        prop_assert!(report.unchanged && report.missing.is_empty());
        prop_assert!(same.to_bytes().unwrap() == evm.to_bytes().unwrap());
    }

    #[test]
    fn learned_again_from_all_rows_it_is_the_model_of_a_fit_to_them(
        set in any_set(), metric in any_metric(), smoothing in prop::sample::select(vec![0.0, 0.5]),
        model in prop::sample::select(TailModel::ALL.to_vec()),
    ) {
        let params =
            Params { metric, smoothing, tail_model: model, cover_threshold: 1.0, ..Params::paper() };
        let evm = with_ids(&set, &params);
        // Another space: twice as large, with another column.
        let d = set.features.columns();
        let wider = |features: &Features<'_>| {
            let rows = features.values().chunks_exact(d).flat_map(|row| row.iter().map(|x| 2.0 * x).chain([3.0]));
            Features::new(rows.collect::<Vec<f32>>(), d + 1).unwrap()
        };
        let (ids, features) = reversed(&set);
        let (again, report) = migrated(&evm, &ids, &wider(&features));
        prop_assert!(!report.unchanged && report.missing.is_empty() && report.dropped == 0);
        let right = with_ids(&Set { features: wider(&set.features), labels: set.labels.clone() }, &params);
        prop_assert_eq!(fits(&again), fits(&right));
        prop_assert!(again.to_bytes().unwrap() == right.to_bytes().unwrap());
    }
}

#[test]
fn what_a_migration_keeps_and_what_it_misses() {
    let mut random = Random(5);
    let values: Vec<f32> =
        (0..120).flat_map(|row| [random.next() + (row % 3) as f32 * 2.0, random.next()]).collect();
    let set = Set {
        features: Features::new(values, 2).unwrap(),
        labels: Labels::new((0..120).map(|row| ["a", "b", "c"][row % 3])).unwrap(),
    };
    let params = Params { cover_threshold: 1.0, ..Params::paper() };
    let mut evm = with_ids(&set, &params);
    let of = |evm: &Evm, id: &str| evm.sources_with_id(id);
    evm.edit(&Edit::Relabel { rows: of(&evm, "row 0"), class: "new".to_owned() }).unwrap();
    evm.edit(&Edit::SetAside { rows: of(&evm, "row 1") }).unwrap();
    evm.edit(&Edit::Ignore { rows: of(&evm, "row 2") }).unwrap();
    evm.edit(&Edit::Unlearn { rows: of(&evm, "row 3") }).unwrap();
    let query = set.features.select(&[7]);
    evm.edit(&Edit::Unlearn { rows: of(&evm, "row 7") }).unwrap();
    let seen = evm.points_seen();
    evm.deny(&query, "b").unwrap();
    evm.name_rows(seen, 1, RowNames { ids: Some(vec!["row 7".to_owned()]), ..RowNames::default() }).unwrap();

    let keep: Vec<usize> = (0..120).filter(|row| ![10, 11].contains(row)).collect();
    let wider = |row: &usize| [set.features.row(*row), &[1.0]].concat();
    let features = Features::new(keep.iter().flat_map(wider).collect::<Vec<f32>>(), 3).unwrap();
    let names: Vec<String> = keep.iter().map(|row| format!("row {row}")).collect();
    let encoder = named("wider@2");
    let new = NewVectors { ids: &names, features: &features, encoder: Some(&encoder) };
    let (again, report) = evm.migrated_with(&Run::new(), &new).unwrap();
    assert_eq!(report.missing, ["row 10", "row 11"]);
    assert_eq!((report.rows, report.without_id, report.unchanged), (117, 0, false));
    assert_eq!((again.dimensions(), again.encoder()), (3, Some(&encoder)));
    let class = |id: &str| {
        let source = again.sources_with_id(id)[0];
        again.extreme_vectors().find(|vector| vector.source == source).map(|vector| vector.class)
    };
    assert_eq!(class("row 0"), again.class_index("new"));
    assert_eq!((class("row 2"), again.sources_with_id("row 3")), (None, vec![]));
    assert_eq!((again.ignored_count(), again.denied_count(), again.rows_aside().count()), (1, 1, 1));
    let aside = again.rows_aside().next().unwrap();
    assert_eq!((aside.class, again.origin(aside.source).id), ("b", Some("row 1")));
    assert_eq!(again.origin(again.sources_with_id("row 50")[0]).batch_name, Some("all"));
    let denied = again.decide(&Features::new(wider(&7), 3).unwrap()).unwrap();
    assert_ne!(again.name_of(&denied[0]), Some("b"));
    assert!(Evm::from_bytes(&again.to_bytes().unwrap()).unwrap() == again);
    // Back to where it was: a row that is set aside comes back there too.
    let mut back = again.clone();
    back.edit(&Edit::Restore { rows: vec![aside.source] }).unwrap();
    assert_eq!(back.sources_with_id("row 1").len(), 1);
}

#[test]
fn another_name_is_refused_and_another_version() {
    let (features, labels) = data::read().unwrap();
    let some: Vec<usize> = (0..3_000).collect();
    let (features, labels) = (features.select(&some), labels.select(&some));
    let (mut evm, _) = Evm::fit(&Params::paper(), &features, &labels).unwrap();
    let given = named("letter");
    assert_eq!(evm.check_encoder(&given), Err(EncoderError::NotNamed { given: given.clone() }));
    assert_eq!((evm.encoder(), evm.encoder_doubt(&features)), (None, None));
    evm.set_encoder(named("letter@1"), &features, &labels);
    let evm = Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap();
    assert_eq!(evm.check_encoder(&given), Ok(()), "who says no version is taken at its name");
    assert_eq!(evm.check_encoder(&named("letter@1")), Ok(()));
    for other in ["letter@2", "letters", "Letter@1"] {
        let error = evm.check_encoder(&named(other)).unwrap_err();
        assert!(error.to_string().contains("letter@1") && error.to_string().contains(other), "{error}");
    }
    for nameless in ["", " ", "@1", "letter@"] {
        assert!(matches!(nameless.parse::<Encoder>(), Err(EncoderError::NoName { .. })), "{nameless:?}");
    }
}

#[test]
fn vectors_that_look_otherwise_are_doubted_and_new_letters_are_not() {
    let (features, labels) = data::read().unwrap();
    let rows =
        |wanted: &dyn Fn(usize) -> bool| (0..labels.len()).filter(|&row| wanted(row)).collect::<Vec<_>>();
    let known = rows(&|row| labels.ids()[row] % 4 < 3 && row % 4 == 0);
    let few: Vec<usize> = known.iter().copied().take(300).collect();
    let (mut evm, _) = Evm::fit(&Params::paper(), &features.select(&few), &labels.select(&few)).unwrap();
    evm.set_encoder(named("letter"), &features.select(&known), &labels.select(&known));
    for wanted in [
        rows(&|row| labels.ids()[row] % 4 == 3),
        rows(&|row| row % 4 == 1),
        rows(&|row| labels.ids()[row] == 3),
    ] {
        for part in wanted.chunks(20).take(100) {
            assert_eq!(evm.encoder_doubt(&features.select(part)), None);
        }
        assert_eq!(evm.encoder_doubt(&features.select(&wanted)), None);
    }
    let batch = features.select(&known[..100]);
    let twice =
        Features::new(batch.values().iter().map(|value| 8.0 * value).collect::<Vec<f32>>(), 16).unwrap();
    let doubt = evm.encoder_doubt(&twice).unwrap();
    assert!(doubt.rows == 100 && doubt.to_string().contains("usual is"), "{doubt}");
    let turned = batch.values().chunks_exact(16).flat_map(|row| row.iter().map(|value| -value));
    let doubt = evm.encoder_doubt(&Features::new(turned.collect::<Vec<f32>>(), 16).unwrap()).unwrap();
    assert!(doubt.unlike != Trait::Length && doubt.found < doubt.least, "{doubt:?}");
    let few = twice.select(&(0..19).collect::<Vec<_>>());
    assert_eq!(evm.encoder_doubt(&few), None, "so few say too little");
}
