//! Alarms of quiet streams, and the causes of others.

use evmachine::{CauseKind, DriftBasis, DriftError, DriftMonitor, Evm, Features, Labels, Params};

use crate::random::Random;
use crate::streams::{Planted, World};

/// A stream after so many quiet rows, with its cause planted.
fn watched(planted: Planted, quiet: usize, rows: usize) -> (World, DriftMonitor) {
    let world = World::new(5).unwrap();
    let mut random = Random(6);
    let reference = world.rows(&mut random, Planted::Nothing, 0, 1_000).unwrap();
    let mut monitor = DriftMonitor::with_reference(&world.evm, &reference, 0.01).unwrap();
    monitor.observe(&world.evm, &world.rows(&mut random, Planted::Nothing, 0, quiet).unwrap()).unwrap();
    assert!(monitor.alarm().is_none(), "{planted:?}: {:?}", monitor.alarm());
    monitor.observe(&world.evm, &world.rows(&mut random, planted, 7, rows).unwrap()).unwrap();
    (world, monitor)
}

#[test]
fn quiet_streams_alarm_no_more_often_than_the_rate_says() {
    const RATE: f64 = 0.2;
    let world = World::new(1).unwrap();
    let alarms = (0..60).filter(|stream| {
        let mut random = Random(100 + stream);
        let reference = world.rows(&mut random, Planted::Nothing, 0, 100).unwrap();
        let mut monitor = DriftMonitor::with_reference(&world.evm, &reference, RATE).unwrap().seeded(*stream);
        monitor.observe(&world.evm, &world.rows(&mut random, Planted::Nothing, 0, 4_000).unwrap()).unwrap();
        monitor.alarm().is_some()
    });
    // 12 of 60 on average at most; 21 are three deviations more.
    let alarms = alarms.count();
    assert!(alarms <= 21, "{alarms} of 60");
}

#[test]
fn each_planted_cause_is_found_dated_and_named() {
    let causes = [
        (Planted::NewClass, CauseKind::NewClass),
        (Planted::Moved, CauseKind::Moved),
        (Planted::ClassAges, CauseKind::ClassAges),
        (Planted::Encoder, CauseKind::Encoder),
    ];
    for (planted, kind) in causes {
        let (world, monitor) = watched(planted, 1_000, 500);
        let report = monitor.report(&world.evm).unwrap();
        let alarm = report.alarm.as_ref().unwrap_or_else(|| panic!("{planted:?} was not found"));
        assert!((1_001..=1_400).contains(&alarm.row), "{planted:?}: {alarm:?}");
        assert!((900..=alarm.row).contains(&alarm.since), "{planted:?}: {alarm:?}");
        let cause = report.cause.as_ref().unwrap_or_else(|| panic!("{planted:?} was not named"));
        assert_eq!(cause.kind, kind, "{}", cause.text);
        match planted {
            Planted::Moved => {
                let size = cause.shift.as_ref().unwrap().size;
                assert!((0.8..1.2).contains(&size), "moved by 1, {size} was found");
            }
            Planted::ClassAges => assert_eq!(cause.class.as_deref(), Some("class 0")),
            Planted::NewClass => {
                let group = cause.group.as_ref().unwrap();
                assert!((0.1..0.25).contains(&group.share), "a fifth is new, {} was found", group.share);
                assert!(group.rows.contains(&group.middle) && group.rows.iter().all(|row| *row > 900));
            }
            _ => {}
        }
    }
}

#[test]
fn a_state_that_was_written_goes_on_as_if_it_had_not_been() {
    let (world, mut monitor) = watched(Planted::Nothing, 300, 300);
    let text = serde_json::to_string(&monitor).unwrap();
    let mut read: DriftMonitor = serde_json::from_str(&text).unwrap();
    let rows = world.rows(&mut Random(9), Planted::Moved, 7, 400).unwrap();
    for one in [&mut monitor, &mut read] {
        one.observe(&world.evm, &rows).unwrap();
    }
    assert!(monitor.alarm().is_some());
    assert_eq!(monitor.report(&world.evm).unwrap(), read.report(&world.evm).unwrap());
    assert_eq!(serde_json::to_string(&monitor).unwrap(), serde_json::to_string(&read).unwrap());

    let other = World::new(50).unwrap();
    let (updated, _) = {
        let mut evm = other.evm.clone();
        let report =
            evm.update(&Features::new(vec![9.0; 16], 16).unwrap(), &Labels::new(["new"]).unwrap()).unwrap();
        (evm, report)
    };
    assert_eq!(monitor.observe(&updated, &rows), Err(DriftError::OtherModel));
    let damaged = text.replace("\"places\":[0,", "\"places\":[900,");
    assert_ne!(damaged, text);
    let damaged: DriftMonitor = serde_json::from_str(&damaged).unwrap();
    assert_eq!(damaged.report(&world.evm), Err(DriftError::OtherModel));
}

#[test]
fn what_a_stream_is_compared_with() {
    // Up to 2,000 rows are all learned; of more, a tenth is not.
    let world = World::new(2).unwrap();
    let monitor = DriftMonitor::new(&world.evm, 0.05).unwrap();
    let report = monitor.report(&world.evm).unwrap();
    assert_eq!((report.basis, report.reference_rows), (DriftBasis::Stream, 0));
    let mut random = Random(3);
    let values: Vec<f32> =
        (0..6_000).map(|at| (random.normal() + f64::from(at / 2 % 2) * 8.0) as f32).collect();
    let labels = Labels::new((0..3_000).map(|row| format!("{}", row % 2))).unwrap();
    let (evm, _) = Evm::fit(&Params::paper(), &Features::new(values, 2).unwrap(), &labels).unwrap();
    let (held, _) = Evm::fit(
        &Params { rejection_threshold: evmachine::Rejection::FalseUnknown(0.05), ..Params::paper() },
        &Features::new(
            (0..6_000).map(|at| (random.normal() + f64::from(at / 2 % 2) * 8.0) as f32).collect::<Vec<_>>(),
            2,
        )
        .unwrap(),
        &labels,
    )
    .unwrap();
    let report = DriftMonitor::new(&held, 0.05).unwrap().report(&held).unwrap();
    assert_eq!(report.basis, DriftBasis::HeldOut);
    assert!((200..400).contains(&report.reference_rows), "{}", report.reference_rows);
    assert_eq!(report.classes_watched, 2);
    assert!(report.to_string().starts_with("no drift in 0 rows"), "{report}");
    // Without held-out rows, a change within the stream is found all the same.
    let mut monitor = DriftMonitor::new(&evm, 0.05).unwrap();
    assert_eq!(monitor.report(&evm).unwrap().basis, DriftBasis::Stream);
    let mut draw = |by: f64| {
        let values = (0..2_000).map(|at| (random.normal() + f64::from(at / 2 % 2) * 8.0 + by) as f32);
        Features::new(values.collect::<Vec<f32>>(), 2).unwrap()
    };
    monitor.observe(&evm, &draw(0.0)).unwrap();
    assert!(monitor.alarm().is_none());
    monitor.observe(&evm, &draw(2.0)).unwrap();
    assert!(monitor.alarm().is_some_and(|alarm| alarm.row > 1_000));
    for rate in [0.0, 1.0, f64::NAN] {
        assert!(matches!(DriftMonitor::new(&evm, rate), Err(DriftError::Rate { .. })), "{rate}");
    }
}
