//! One answer for rows that belong together.

use evmachine::{Evm, Features, Labels, Params, Rejection, TrackBasis, TrackError, TrackRule};

use crate::random::Random;
use crate::streams::{CLASSES, COLUMNS, World};

const LENGTH: usize = 6;

/// Tracks of known classes in turn, or of the one that is not learned: their rows share a disturbance.
fn tracks(
    world: &World,
    random: &mut Random,
    count: usize,
    known: bool,
) -> (Features<'static>, Vec<String>, Vec<String>) {
    let (mut values, mut classes, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for track in 0..count {
        let class = if known { track % CLASSES } else { CLASSES };
        let shared: Vec<f64> = (0..COLUMNS).map(|_| 0.4 * random.normal()).collect();
        for _ in 0..LENGTH {
            let row = world.centres[class].iter().zip(&shared);
            values.extend(row.map(|(centre, shared)| (centre + shared + 0.3 * random.normal()) as f32));
            classes.push(format!("class {class}"));
            names.push(format!("track {track}"));
        }
    }
    (Features::new(values, COLUMNS).unwrap(), classes, names)
}

#[test]
fn known_tracks_are_rejected_no_more_often_than_promised() {
    let world = World::new(3).unwrap();
    let (mut rejected, mut right, mut accepted, mut early) = (0, 0, 0, 0);
    let (draws, tested) = (20, 160);
    for draw in 0..draws {
        let mut random = Random(50 + draw);
        let (rows, classes, names) = tracks(&world, &mut random, 160, true);
        let rule = TrackRule::calibrated(&world.evm, &rows, &Labels::new(&classes).unwrap(), &names).unwrap();
        assert_eq!((rule.basis, rule.rate, rule.tracks), (TrackBasis::Tracks, Some(0.05), 160));
        let (rows, _, names) = tracks(&world, &mut random, tested, true);
        let decided = world.evm.decide_tracks(&rule, &rows, &names).unwrap();
        assert_eq!(decided.len(), tested);
        for (track, (name, decision)) in decided.iter().enumerate() {
            assert_eq!((name.as_str(), decision.rows), (format!("track {track}").as_str(), LENGTH));
            rejected += usize::from(decision.class.is_none());
            let class = decision.class.map(|class| world.evm.class_name(class).to_owned());
            right += usize::from(class == Some(format!("class {}", track % CLASSES)));
            early += usize::from(decision.sure_at.is_some_and(|row| row < LENGTH));
        }
        let (rows, _, names) = tracks(&world, &mut random, 40, false);
        let strangers = world.evm.decide_tracks(&rule, &rows, &names).unwrap();
        accepted += strangers.iter().filter(|(_, decision)| decision.class.is_some()).count();
    }
    let all = (draws as usize * tested) as f64;
    // 5 % on average over draws; each has 160 calibrating tracks and as many tested ones, which gives a deviation of 0.5 %.
    assert!(rejected as f64 / all <= 0.065, "{rejected} of {all}");
    assert!(right as f64 / all >= 0.9, "{right} of {all}");
    assert!(accepted as f64 / 800.0 <= 0.2, "{accepted} of 800");
    assert!(early as f64 / all >= 0.5, "{early} of {all}");
}

#[test]
fn without_tracks_the_share_holds_for_rows_that_are_all_the_same() {
    let world = World::new(3).unwrap();
    let rule = TrackRule::of(&world.evm);
    assert_eq!((rule.basis, rule.rate), (TrackBasis::Rows, Some(0.05)));
    let mut random = Random(4);
    let rows = world.rows(&mut random, crate::streams::Planted::Nothing, 0, 2_000).unwrap();
    let five: Vec<usize> = (0..2_000).flat_map(|row| [row; 5]).collect();
    let names: Vec<String> = five.iter().map(usize::to_string).collect();
    let decided = world.evm.decide_tracks(&rule, &rows.select(&five), &names).unwrap();
    let rejected = decided.iter().filter(|(_, decision)| decision.class.is_none()).count();
    // Half of 5 rows is 3: p-values up to 3 %.
    assert!((10..=100).contains(&rejected), "{rejected} of 2000");
    // A track of one row is rejected as the row is.
    let alone: Vec<String> = (0..2_000).map(|row| row.to_string()).collect();
    let decided = world.evm.decide_tracks(&rule, &rows, &alone).unwrap();
    for ((_, track), row) in decided.iter().zip(world.evm.decide(&rows).unwrap()) {
        assert_eq!(track.p_value, row.p_value());
        if track.sure_at.is_none() {
            assert_eq!(track.class.is_some(), row.p_value().unwrap() > 0.05);
        }
    }
}

#[test]
fn an_answer_stands_once_it_is_sure_and_rows_that_disagree_are_named() {
    let world = World::new(3).unwrap();
    let mut random = Random(8);
    let (rows, classes, names) = tracks(&world, &mut random, 160, true);
    let rule = TrackRule::calibrated(&world.evm, &rows, &Labels::new(&classes).unwrap(), &names).unwrap();
    // Six rows of the first class, then six of the second under the same name.
    let mixed: Vec<usize> = (0..12).collect();
    let one = vec!["one".to_owned(); 12];
    let decided = world.evm.decide_tracks(&rule, &rows.select(&mixed), &one).unwrap().remove(0).1;
    assert!(decided.sure_at.is_some_and(|row| row <= 6), "{decided:?}");
    assert_eq!(decided.class.map(|class| world.evm.class_name(class)), Some("class 0"));
    assert!((6..12).all(|row| decided.disagree.contains(&row)), "{decided:?}");
    for length in decided.sure_at.unwrap()..12 {
        let part: Vec<usize> = (0..length).collect();
        let short = world.evm.decide_tracks(&rule, &rows.select(&part), &one[..length]).unwrap().remove(0).1;
        assert_eq!((short.class, short.sure_at), (decided.class, decided.sure_at));
    }
    let answer = world.evm.track_answer("one", &decided);
    assert_eq!((answer.class.as_deref(), answer.known, answer.rows), (Some("class 0"), true, 12));
    assert!(answer.disagree.contains(&12), "rows count from 1: {answer:?}");
}

#[test]
fn classes_that_lie_far_apart_are_not_sure_of_what_lies_between() {
    let mut random = Random(2);
    let mut place = |row: usize| (random.normal() + (row % 2) as f64 * 100.0) as f32;
    let values: Vec<f32> = (0..400).map(&mut place).collect();
    let labels = Labels::new((0..400).map(|row| ["low", "high"][row % 2])).unwrap();
    let (evm, _) = Evm::fit(&Params::plain(), &Features::new(values, 1).unwrap(), &labels).unwrap();
    let known = Features::new((0..400).map(&mut place).collect::<Vec<f32>>(), 1).unwrap();
    let names: Vec<String> = (0..400).map(|row| format!("{} {}", row % 2, row / 8)).collect();
    let set = TrackRule::calibrated(&evm, &known, &labels, &names).unwrap();
    for rule in [TrackRule::of(&evm), set] {
        let between = Features::new(vec![30.0, 40.0, 50.0, 60.0, 70.0], 1).unwrap();
        let decided = evm.decide_tracks(&rule, &between, &vec!["one".to_owned(); 5]).unwrap();
        assert_eq!(decided[0].1.class, None, "{rule}: {decided:?}");
    }
}

#[test]
fn tracks_that_cannot_be_used_are_named() {
    let world = World::new(3).unwrap();
    let (rows, mut classes, names) = tracks(&world, &mut Random(8), 24, true);
    let labels = |classes: &[String]| Labels::new(classes).unwrap();
    let set = |classes: &[String], names: &[String]| {
        TrackRule::calibrated(&world.evm, &rows, &labels(classes), names)
    };
    assert!(set(&classes, &names).is_ok());
    assert_eq!(set(&classes, &names[1..]), Err(TrackError::Count { rows: 144, tracks: 143 }));
    let few = vec!["a".to_owned(); 6];
    let error = TrackRule::calibrated(&world.evm, &rows.part(0..6), &labels(&classes[..6]), &few);
    assert_eq!(error, Err(TrackError::TooFew { rate: 0.05, tracks: 1, needed: 19 }));
    classes[1] = "class 5".to_owned();
    let error = set(&classes, &names).unwrap_err().to_string();
    assert_eq!(
        error,
        "the calibrating track \"track 0\" has rows of class \"class 0\" and of class \"class 5\"; a track is of one class"
    );
    let mut evm = world.evm.clone();
    evm.set_rejection(Rejection::Probability(0.5)).unwrap();
    assert_eq!(TrackRule::of(&evm).basis, TrackBasis::Threshold);
    let error = TrackRule::calibrated(&evm, &rows, &labels(&classes), &names);
    assert!(matches!(error, Err(TrackError::NoRate { .. })), "{error:?}");
    let error = world.evm.decide_tracks(&TrackRule::of(&evm), &rows, &names[1..]);
    assert_eq!(error, Err(TrackError::Count { rows: 144, tracks: 143 }));
}
