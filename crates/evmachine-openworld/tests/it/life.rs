use std::collections::BTreeSet;

use evmachine::{Features, Run};
use evmachine_openworld::{
    Answer, EventKind, LARGEST_PICTURE, NewSample, Outcome, Picture, Pool, QueueAsked, QueuePart, QueuePlace,
    State, StoreError, Target, Which,
};

use crate::{assert_sound, fill, folder, model, place, stream};

const NOBODY: Option<&str> = None;

#[test]
fn the_loop_learns_new_classes_and_goes_back() {
    let (place, mut pool) = place();
    let run = Run::new();
    let samples = fill(&mut pool);
    assert!((24..=25).contains(&samples.len()), "{}", samples.len());
    let first_version = pool.status().unwrap().live;

    let groups = pool.next_groups(&run, 3, false).unwrap();
    let sizes: Vec<usize> = groups.iter().map(|group| group.members.len()).collect();
    assert_eq!(sizes, [12, 8, 4], "one group for each clump, the largest first");
    assert_eq!(groups[0].members[0].sample, groups[0].exemplar);
    assert!(groups[0].members.iter().all(|member| member.distance <= groups[0].radius));
    let nearest = &groups[0].neighbors[0];
    assert_eq!((groups[0].neighbors.len(), nearest.class.as_str()), (2, "a"));
    assert!(nearest.distance > 25.0 && nearest.psi < 0.05 && nearest.support < Some(0.0), "{nearest:?}");
    for (group, name) in groups.iter().zip(["c", "d", "e"]) {
        let target = Target::Group { group: group.number, except: &[] };
        let (_, count) = pool.answer(&run, &target, Answer::Label(name), Some("Ada")).unwrap();
        assert_eq!(count, group.members.len());
    }
    let status = pool.status().unwrap();
    assert_eq!((status.to_learn, status.labelled["c"], status.labelled["e"]), (24, 12, 4));

    let learned = pool.update(&run, NOBODY).unwrap();
    assert_eq!(learned.report.unwrap().new_classes, ["c", "d", "e"]);
    assert_eq!(pool.live().unwrap().classes().len(), 5);
    let status = pool.status().unwrap();
    assert_eq!((status.live.as_str(), status.to_learn), (learned.version.as_str(), 0));
    assert_eq!(status.previous.as_ref(), Some(&first_version));
    assert!(matches!(pool.update(&run, NOBODY), Err(StoreError::NothingToLearn)));
    let again = pool.answer(&run, &Target::Samples(&samples[..1]), Answer::Discard, NOBODY);
    assert!(matches!(again, Err(StoreError::AlreadyLearned { sample }) if sample == samples[0]));

    pool.rollback(NOBODY).unwrap();
    assert_eq!(pool.live().unwrap().classes().len(), 2);
    assert_eq!(pool.status().unwrap().to_learn, 24, "what the live version has not learned is to be learned");
    pool.promote(&learned.version[..8], NOBODY).unwrap();
    assert_eq!(pool.status().unwrap().to_learn, 0);
    assert!(matches!(pool.promote("live", NOBODY), Err(StoreError::AlreadyLive { .. })));
    assert!(matches!(pool.promote("zz", NOBODY), Err(StoreError::NoVersion { .. })));
    let kinds: Vec<EventKind> = pool.events().unwrap().iter().map(|event| event.kind).collect();
    let expected =
        [[EventKind::Labelled; 3].as_slice(), &[EventKind::Updated], &[EventKind::Promoted; 2]].concat();
    assert_eq!(kinds, expected);
    assert_eq!(pool.events().unwrap()[0].person.as_deref(), Some("Ada"));
    drop(pool);
    assert_sound(&folder(&place));
}

#[test]
fn a_group_that_was_handed_out_keeps_its_members() {
    let (_place, mut pool) = place();
    let run = Run::new();
    fill(&mut pool);
    let group = pool.next_groups(&run, 1, false).unwrap().remove(0);
    // The same points once more: they would all lie in that group.
    let more = pool.add(&run, &stream().part(0..12), &[], Which::Unknown).unwrap();
    assert_eq!(more.len(), 12);
    assert_eq!(
        pool.next_groups(&run, 1, false).unwrap(),
        std::slice::from_ref(&group),
        "the same until it is answered"
    );
    let other = pool.next_groups(&run, 1, true).unwrap().remove(0);
    assert_ne!(other.number, group.number);
    assert_eq!(other.members.len(), 12, "those who came later have a group of their own");

    // What does not belong goes on to wait elsewhere.
    let strange = [group.members[3].sample, group.members[7].sample];
    let target = Target::Group { group: group.number, except: &strange };
    let (_, count) = pool.answer(&run, &target, Answer::Label("c"), NOBODY).unwrap();
    assert_eq!(count, 10);
    for sample in strange {
        let sample = pool.sample(sample).unwrap();
        assert_eq!(sample.state, State::Waiting);
        assert!(sample.group != group.number && sample.group != other.number, "{sample:?}");
    }
    let again = pool.answer(&run, &target, Answer::Label("c"), NOBODY);
    assert!(matches!(again, Err(StoreError::NoGroup { group: found }) if found == group.number));
    let target = Target::Group { group: other.number, except: &strange };
    let wrong = pool.answer(&run, &target, Answer::Ignore, NOBODY);
    assert!(matches!(wrong, Err(StoreError::NotInGroup { sample, .. }) if sample == strange[0]));

    // Everyone who waits is in one group, and all groups come in the end.
    let mut seen = BTreeSet::new();
    for group in pool.next_groups(&run, 100, false).unwrap() {
        assert!(group.members.iter().all(|member| seen.insert(member.sample)));
    }
    assert_eq!(seen.len() as u64, pool.status().unwrap().waiting);
    assert!(pool.check().unwrap().is_empty());
}

#[test]
fn an_update_keeps_what_was_handed_out_and_groups_the_rest_anew() {
    let (_place, mut pool) = place();
    let run = Run::new();
    fill(&mut pool);
    let groups = pool.next_groups(&run, 2, false).unwrap();
    let target = Target::Group { group: groups[0].number, except: &[] };
    pool.answer(&run, &target, Answer::Label("c"), NOBODY).unwrap();
    // More of the first clump, which the next version will know.
    pool.add(&run, &stream().part(0..6), &[], Which::Unknown).unwrap();
    pool.update(&run, NOBODY).unwrap();
    let members = |group: &evmachine_openworld::Group| -> Vec<i64> {
        group.members.iter().map(|member| member.sample).collect()
    };
    let after = pool.next_groups(&run, 3, false).unwrap();
    assert_eq!((after[0].number, members(&after[0])), (groups[1].number, members(&groups[1])));
    assert_eq!(after[1].members.len(), 4, "what is still unknown comes before what is known by now");
    assert!(
        after[2]
            .members
            .iter()
            .all(|member| member.known && member.class.as_ref() == Some(&member.best) && member.best == "c"),
        "{:?}",
        after[2]
    );
    assert!(pool.check().unwrap().is_empty());
}

#[test]
fn adding_again_what_has_an_id_changes_nothing() {
    let (_place, mut pool) = place();
    let run = Run::new();
    let features = stream().select(&[0, 1, 0, 29]);
    let details: Vec<NewSample> = ["one", "two", "one", "known"]
        .iter()
        .map(|id| NewSample {
            id: Some((*id).to_owned()),
            text: Some(format!("text of {id}")),
            picture: Some(Picture { media_type: "image/png".to_owned(), bytes: vec![1, 2, 3] }),
            ..NewSample::default()
        })
        .collect();
    let first = pool.add(&run, &features, &details, Which::Unknown).unwrap();
    let known = Outcome::Known("a".to_owned());
    let present = Outcome::Present(1);
    assert_eq!(first, [Outcome::Added(1), Outcome::Added(2), present.clone(), known.clone()]);
    let again = pool.add(&run, &features, &details, Which::Unknown).unwrap();
    assert_eq!(again, [present.clone(), Outcome::Present(2), present, known]);
    let sample = pool.sample(1).unwrap();
    assert_eq!((sample.id.as_deref(), sample.text.as_deref()), (Some("one"), Some("text of one")));
    assert_eq!((sample.features.as_slice(), sample.picture.unwrap().bytes), (features.row(0), vec![1, 2, 3]));

    let other = stream().select(&[2]);
    let error = pool.add(&run, &other, &details[..1], Which::All).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 0: the id \"one\" belongs to sample 1 already, which has other features"
    );
    let twice = vec![NewSample { id: Some("x".to_owned()), ..NewSample::default() }; 2];
    let error = pool.add(&run, &stream().part(2..4), &twice, Which::All).unwrap_err();
    assert!(error.to_string().starts_with("row 1: the id \"x\""), "{error}");
    let large = Picture { media_type: "image/png".to_owned(), bytes: vec![0; LARGEST_PICTURE + 1] };
    let large = [NewSample { picture: Some(large), ..NewSample::default() }];
    let error = pool.add(&run, &other, &large, Which::All).unwrap_err();
    assert!(error.to_string().starts_with("row 0: a picture of 262145 bytes"), "{error}");
    let wide = Features::new(vec![0.0; 3], 3).unwrap();
    assert!(pool.add(&run, &wide, &[], Which::All).is_err());
    assert!(matches!(pool.add(&run, &other, &twice, Which::All), Err(StoreError::DetailCount { .. })));
    assert_eq!(pool.status().unwrap().waiting, 2, "an error adds nothing");
}

#[test]
fn a_backup_is_a_pool_and_a_restored_one_goes_on() {
    let (place, mut pool) = place();
    let run = Run::new();
    fill(&mut pool);
    let group = pool.next_groups(&run, 1, false).unwrap().remove(0);
    let target = Target::Group { group: group.number, except: &[] };
    pool.answer(&run, &target, Answer::Label("c"), NOBODY).unwrap();
    pool.update(&run, NOBODY).unwrap();
    let copy = place.path().join("copy");
    pool.backup(&copy).unwrap();
    assert!(matches!(pool.backup(&copy), Err(StoreError::Exists { .. })));
    pool.answer(&run, &Target::Samples(&[20]), Answer::Discard, NOBODY).unwrap();
    let mut restored = Pool::restore(&copy, &place.path().join("restored")).unwrap();
    assert!(restored.check().unwrap().is_empty());
    assert_eq!(restored.status().unwrap().discarded, 0);
    assert_eq!(restored.live().unwrap(), pool.live().unwrap());
    fill(&mut restored);
}

#[test]
fn what_is_no_pool_is_refused() {
    let (place, pool) = place();
    let error = Pool::open(place.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotAPool { .. }), "{error}");
    assert!(matches!(Pool::create(&folder(&place), &model()), Err(StoreError::Exists { .. })));
    drop(pool);
    let path = folder(&place).join("pool.sqlite");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let error = Pool::open(&folder(&place)).unwrap_err().to_string();
    assert!(error.ends_with("has schema 99; this program reads up to 6, use a newer one"), "{error}");
    std::fs::write(&path, "label,x\na,1\n").unwrap();
    assert!(matches!(Pool::open(&folder(&place)), Err(StoreError::Foreign { .. })));
}

#[test]
fn what_is_ignored_stays_a_stranger_to_the_versions_that_come() {
    let (place, mut pool) = place();
    let run = Run::new();
    let samples = fill(&mut pool);
    let group = pool.next_groups(&run, 1, false).unwrap().remove(0);
    let target = Target::Group { group: group.number, except: &[] };
    pool.answer(&run, &target, Answer::Ignore, NOBODY).unwrap();
    let learned = pool.update(&run, NOBODY).unwrap();
    assert_eq!((learned.report, learned.ignored), (None, group.members.len()));
    let live = pool.live().unwrap();
    assert_eq!((live.classes().len(), live.ignored_count()), (2, group.members.len()));
    let source = live.ignored_sources()[0];
    assert_eq!(
        live.origin(source).number,
        group.members.iter().map(|member| member.sample).min().unwrap() as u64
    );
    let features = pool.sample(group.exemplar).unwrap().features;
    let query = Features::new(features, live.dimensions()).unwrap();
    let why = live.explain(&query, 1).unwrap().remove(0);
    assert!(why.decision.class().is_none() && why.ignored.unwrap().decides);

    // Labels that come later are measured against them.
    let next = pool.next_groups(&run, 1, false).unwrap().remove(0);
    let target = Target::Group { group: next.number, except: &[] };
    pool.answer(&run, &target, Answer::Label("c"), NOBODY).unwrap();
    let learned = pool.update(&run, NOBODY).unwrap();
    assert_eq!((learned.report.unwrap().new_classes, learned.ignored), (vec!["c".to_owned()], 0));
    assert_eq!(pool.live().unwrap().ignored_count(), group.members.len());
    assert!(samples.len() > group.members.len());
    drop(pool);
    assert_sound(&folder(&place));
}

#[test]
fn groups_are_parted_put_together_and_put_off() {
    let (place, mut pool) = place();
    fill(&mut pool);
    let run = Run::new();
    let groups = pool.next_groups(&run, 10, false).unwrap();
    let (first, members) = (groups[0].number, groups[0].members.len());
    assert_eq!((members, groups[0].size), (12, 12));
    let radius = groups[0].members[5].distance;
    let (_, parts) = pool.split(&run, first, radius, NOBODY).unwrap();
    assert_eq!(parts[0], first);
    let sizes: Vec<usize> = parts.iter().map(|part| pool.group(*part, 1).unwrap().size).collect();
    assert_eq!((sizes[0], sizes.iter().sum::<usize>()), (6, 12));
    assert!(pool.group(first, 99).unwrap().members.iter().all(|member| member.distance <= radius));
    let error = pool.split(&run, first, 1e9, NOBODY).unwrap_err();
    assert!(matches!(error, StoreError::NoParting { inside: 6, members: 6, .. }), "{error}");
    let order = |pool: &mut Pool| -> Vec<i64> {
        pool.next_groups(&Run::new(), 100, false).unwrap().iter().map(|group| group.number).collect()
    };
    assert_eq!(order(&mut pool)[..parts.len()], parts, "the parts stand where the group stood");
    assert_eq!(pool.merge(&run, &parts, NOBODY).unwrap().1, first);
    let merged = pool.group(first, 99).unwrap();
    assert_eq!((merged.size, merged.members.len()), (12, 12));
    assert!(merged.members.iter().all(|member| member.distance <= merged.radius));
    assert!(matches!(pool.group(parts[1], 1), Err(StoreError::NoGroup { .. })));
    pool.skip(first, NOBODY).unwrap();
    assert_eq!(order(&mut pool).last(), Some(&first));
    assert!(matches!(pool.skip(999, NOBODY), Err(StoreError::NoGroup { .. })));
    drop(pool);
    assert_sound(&folder(&place));
}

#[test]
fn a_correction_is_a_version_that_can_be_undone() {
    let (place, mut pool) = place();
    let (run, before) = (Run::new(), pool.live_hash().unwrap());
    let query = Features::new(vec![0.5, 0.5], 2).unwrap();
    let carrier = pool.live().unwrap().doubt(&query).unwrap().remove(0).because.source;
    let edit = evmachine::Edit::SetAside { rows: vec![carrier] };
    let version = pool.correction(edit).unwrap().make(&run, "row set aside".to_owned()).unwrap();
    let taken = pool.take(version, Some("anna")).unwrap();
    assert_eq!(pool.live_hash().unwrap(), taken.version);
    assert_ne!(pool.live().unwrap().doubt(&query).unwrap().remove(0).because.source, carrier);
    let event = pool.last_events(1, None).unwrap().remove(0);
    assert_eq!((event.kind, event.label.as_deref()), (EventKind::Edited, Some("row set aside")));
    let stale = pool.correction(evmachine::Edit::Restore { rows: vec![carrier] }).unwrap();
    pool.undo(Some(taken.event), None).unwrap();
    assert_eq!(pool.live_hash().unwrap(), before);
    let stale = stale.make(&run, String::new()).unwrap();
    assert!(matches!(pool.take(stale, None), Err(StoreError::ChangedMeanwhile)));
    drop(pool);
    assert_sound(&folder(&place));
}

/// Rows and answers that come between two parts of a refresh are in their place when it is done.
#[test]
fn a_refresh_in_parts_lets_others_in() {
    let (place, mut pool) = place();
    let samples = fill(&mut pool);
    let run = Run::new();
    pool.answer(&run, &Target::Samples(&samples[..4]), Answer::Label("top"), None).unwrap();
    let version = pool.lesson().unwrap().learn(&run).unwrap();
    pool.take(version, None).unwrap();
    assert!(!pool.is_refreshed().unwrap());
    let handed = pool.hand_out(1, false, 1).unwrap().remove(0);
    let mut parts = 0;
    while !pool.refresh_some(&run).unwrap() {
        parts += 1;
        pool.add(&run, &stream().part(12..14), &[], Which::All).unwrap();
        pool.answer(&run, &Target::Samples(&samples[20..21]), Answer::Discard, None).unwrap();
    }
    assert!(parts >= 2, "{parts}");
    assert!(pool.is_refreshed().unwrap());
    assert_eq!(pool.group(handed.number, 1).unwrap().exemplar, handed.exemplar, "it stays as it was");
    let live = pool.live_hash().unwrap();
    for sample in pool.samples(Some("waiting"), 0, 1000).unwrap() {
        assert_eq!(sample.model, live, "sample {}", sample.number);
    }
    drop(pool);
    assert_sound(&folder(&place));
}

/// An answer means the samples that were seen: whatever came to the group since waits on, and what others answered stays theirs.
#[test]
fn an_answer_holds_for_what_was_seen() {
    let (place, mut pool) = place();
    let run = Run::new();
    fill(&mut pool);
    let group = pool.next_groups(&run, 1, false).unwrap().remove(0);
    let seen = &group.samples[..group.samples.len() - 2];
    let target = Target::Waiting { samples: seen, group: Some(group.number) };
    let (event, count) = pool.answer(&run, &target, Answer::Label("c"), Some("Ada")).unwrap();
    assert_eq!(count, seen.len());
    for stray in &group.samples[seen.len()..] {
        let stray = pool.sample(*stray).unwrap();
        assert!(stray.state == State::Waiting && stray.group != group.number, "{stray:?}");
    }
    let late = Target::Waiting { samples: &group.samples, group: Some(group.number) };
    let refused = pool.answer(&run, &late, Answer::Label("d"), Some("Bob")).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("was named \"c\" by Ada"), "{text}");
    let StoreError::AnsweredAlready { answered, meant } = refused else { panic!("{refused}") };
    assert_eq!((answered.len(), meant), (seen.len(), group.samples.len()));
    assert_eq!(pool.status().unwrap().labelled.get("d"), None, "nothing of it was done");
    // As it was: the strays are back, and the group can be answered again as a whole.
    pool.undo(Some(event), NOBODY).unwrap();
    assert_eq!(pool.group(group.number, 99).unwrap().samples, group.samples);
    let whole = Target::Group { group: group.number, except: &group.samples[..1] };
    assert_eq!(pool.answer(&run, &whole, Answer::Label("d"), NOBODY).unwrap().1, group.samples.len() - 1);
    drop(pool);
    assert_sound(&folder(&place));
}

#[test]
fn the_queue_is_read_to_its_end_and_shared() {
    let (_place, mut pool) = place();
    let run = Run::new();
    // Each on its own.
    let far: Vec<f32> = (0..40).flat_map(|row| [100.0 + 50.0 * row as f32, 0.0]).collect();
    pool.add(&run, &Features::new(far, 2).unwrap(), &[], Which::All).unwrap();
    let live = pool.live().unwrap();
    let part = |after, holder| QueueAsked { count: 7, after, members: 3, holder };
    let (mut seen, mut after) = (BTreeSet::new(), None);
    loop {
        let found = pool.queue(&live, &part(after, None)).unwrap();
        assert!(found.groups.iter().all(|group| seen.insert(group.number)));
        // A place is text on its way, and holds though groups before it are handed out.
        after = found.next.map(|place| place.to_string().parse::<QueuePlace>().unwrap());
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 40);
    assert_eq!(pool.status().unwrap().handed_out, 0, "who looks hands nothing out");
    assert!("1_2_3".parse::<QueuePlace>().is_err() && "a_1_2_3".parse::<QueuePlace>().is_err());

    let numbers = |part: &QueuePart| part.groups.iter().map(|group| group.number).collect::<Vec<_>>();
    let ada = pool.hand_out_to(&live, &part(None, Some("Ada"))).unwrap();
    let bob = pool.hand_out_to(&live, &part(None, Some("Bob"))).unwrap();
    assert!(numbers(&ada).iter().all(|group| !numbers(&bob).contains(group)), "each has their own");
    assert_eq!(ada.groups[0].holder.as_deref(), Some("Ada"));
    assert_eq!(numbers(&pool.hand_out_to(&live, &part(None, Some("Ada"))).unwrap()), numbers(&ada));
    let more = pool.hand_out_to(&live, &part(ada.next, Some("Ada"))).unwrap();
    assert!(numbers(&more).iter().all(|group| !numbers(&ada).contains(group)), "the place goes on");
    let all = QueueAsked { count: 99, ..part(None, Some("Bob")) };
    let all = numbers(&pool.queue(&live, &all).unwrap());
    assert_eq!(all.len(), 40, "what others have comes last, and comes");
    assert!(numbers(&ada).contains(all.last().unwrap()));
    assert!(pool.check().unwrap().is_empty());
}

#[test]
fn names_that_no_class_may_have_are_refused() {
    let (_place, mut pool) = place();
    let samples = fill(&mut pool);
    let long = "x".repeat(5_000_000);
    for name in ["", " ", "unknown", "a\0b", "a\nb", "\u{1b}[31m", "\u{202e}cba", long.as_str()] {
        let target = Target::Samples(&samples[..1]);
        let refused = pool.answer(&Run::new(), &target, Answer::Label(name), NOBODY).unwrap_err();
        assert!(matches!(refused, StoreError::ClassName(_)), "{refused}");
        assert!(refused.to_string().len() < 300);
    }
    assert_eq!(pool.status().unwrap().events, 0);
}

/// What is written to a file that has no name any more is lost.
#[test]
#[cfg(unix)]
fn a_pool_that_was_removed_takes_nothing() {
    let (place, mut pool) = place();
    let samples = fill(&mut pool);
    std::fs::remove_dir_all(folder(&place)).unwrap();
    let run = Run::new();
    let refused = pool.answer(&run, &Target::Samples(&samples), Answer::Ignore, NOBODY).unwrap_err();
    assert!(matches!(refused, StoreError::Gone { .. }), "{refused}");
    assert!(matches!(pool.is_there(), Err(StoreError::Gone { .. })));
    // Another one in its place is not the one that was opened.
    drop(Pool::create(&folder(&place), &crate::model()).unwrap());
    assert!(matches!(pool.add(&run, &stream(), &[], Which::All), Err(StoreError::Gone { .. })));
}
