use evmachine::{Capture, EnrolmentRule, HeldReason, Run};
use evmachine_openworld::{Answer, NewSample, Outcome, Pool, SampleId, StoreError, Target, Which};

use crate::{assert_sound, fill, folder, place, stream};

fn captured(quality: Option<f64>, occasion: &str) -> NewSample {
    let occasion = Some(occasion.to_owned());
    NewSample { capture: Capture { quality, occasion, time: None }, ..NewSample::default() }
}

fn reasons(pool: &mut Pool) -> Vec<(SampleId, &'static str)> {
    let held = pool.held_back(&Run::new()).unwrap();
    held.iter().map(|held| (held.sample, held.reason.name())).collect()
}

#[test]
fn rows_of_too_little_quality_are_not_taken_in() {
    let (place, mut pool) = place();
    let run = Run::new();
    let rule = EnrolmentRule { least_quality: Some(0.6), ..EnrolmentRule::default() };
    pool.set_enrolment(&rule).unwrap();
    assert_eq!(Pool::open(&folder(&place)).unwrap().enrolment().unwrap(), rule, "kept with the pool");
    let features = stream().select(&[0, 1, 2]);
    let details = [captured(Some(0.9), "a"), captured(Some(0.3), "a"), captured(None, "a")];
    let found = pool.add(&run, &features, &details, Which::Unknown).unwrap();
    let low = HeldReason::LowQuality { quality: 0.3, least: 0.6 };
    let none = HeldReason::NoQuality { least: 0.6 };
    assert_eq!(found, [Outcome::Added(1), Outcome::HeldBack(low), Outcome::HeldBack(none)]);
    let bad = [captured(Some(f64::NAN), "a"), captured(None, "a"), captured(None, "a")];
    let error = pool.add(&run, &features, &bad, Which::All).unwrap_err();
    assert_eq!(error.to_string(), "row 0: quality = NaN: must be a finite number, or left out");
    let rule = EnrolmentRule { most_moved: Some(0.0), ..EnrolmentRule::default() };
    assert!(matches!(pool.set_enrolment(&rule), Err(StoreError::Enrolment(_))));
    let sample = pool.sample(1).unwrap();
    assert_eq!((sample.capture.quality, sample.capture.occasion.as_deref()), (Some(0.9), Some("a")));
    assert_eq!(sample.capture.time, Some(sample.added as f64), "when it came, unless it is known");
    drop(pool);
    assert_sound(&folder(&place));
}

#[test]
fn what_is_held_back_waits_and_is_learned_when_it_may_be() {
    let (place, mut pool) = place();
    let run = Run::new();
    let features = stream().select(&[0, 1, 2, 3, 4]);
    let details = ["a", "a", "a", "b", "b"].map(|occasion| captured(None, occasion));
    pool.add(&run, &features.part(0..3), &details[..3], Which::Unknown).unwrap();
    pool.answer(&run, &Target::Samples(&[1, 2, 3]), Answer::Propose("c"), None).unwrap();
    assert!(pool.sample(1).unwrap().proposed);
    let rule =
        EnrolmentRule { least_samples: 4, least_occasions: 2, quarantine: true, ..EnrolmentRule::default() };
    pool.set_enrolment(&rule).unwrap();
    assert_eq!(reasons(&mut pool), [(1, "quarantined"), (2, "quarantined"), (3, "quarantined")]);
    let error = pool.update(&run, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing was learned: the rule of the pool holds all 3 samples back (3 quarantined)"
    );
    pool.answer(&run, &Target::Samples(&[1, 2, 3]), Answer::Label("c"), Some("Ada")).unwrap();
    assert!(!pool.sample(1).unwrap().proposed);
    assert_eq!(reasons(&mut pool), [(1, "few_samples"), (2, "few_samples"), (3, "few_samples")]);
    // Undoing the confirmation makes it a proposal again.
    let (_, undoing) = pool.undo(None, None).unwrap();
    assert_eq!(reasons(&mut pool)[0], (1, "quarantined"));
    pool.undo(Some(undoing), None).unwrap();

    pool.add(&run, &features.part(3..5), &details[3..], Which::Unknown).unwrap();
    pool.answer(&run, &Target::Samples(&[4]), Answer::Label("c"), None).unwrap();
    pool.answer(&run, &Target::Samples(&[5]), Answer::Label("d"), None).unwrap();
    assert_eq!(reasons(&mut pool), [(5, "few_samples")]);
    let learned = pool.update(&run, None).unwrap();
    assert_eq!(learned.report.unwrap().rows, 4);
    assert_eq!(learned.held_back.iter().map(|held| held.sample).collect::<Vec<_>>(), [5]);
    let status = pool.status().unwrap();
    assert_eq!((status.to_learn, pool.live().unwrap().classes().len()), (1, 3));
    assert!(matches!(pool.update(&run, None), Err(StoreError::HeldBack { held }) if held.len() == 1));
    pool.set_enrolment(&EnrolmentRule::default()).unwrap();
    assert_eq!(pool.update(&run, None).unwrap().report.unwrap().new_classes, ["d"]);
    drop(pool);
    assert_sound(&folder(&place));
}

#[test]
fn strangers_are_ignored_whatever_is_held_back() {
    let (_place, mut pool) = place();
    let run = Run::new();
    let samples = fill(&mut pool);
    pool.set_enrolment(&EnrolmentRule { least_samples: 5, ..EnrolmentRule::default() }).unwrap();
    pool.answer(&run, &Target::Samples(&samples[..2]), Answer::Label("c"), None).unwrap();
    pool.answer(&run, &Target::Samples(&samples[2..4]), Answer::Ignore, None).unwrap();
    let learned = pool.update(&run, None).unwrap();
    assert_eq!((learned.ignored, learned.held_back.len(), learned.report), (2, 2, None));
}
