use evmachine::{
    Candidate, Capture, EnrolmentRule, Evm, Features, HeldReason, Labels, Metric, Params, PoolError,
    UnknownPool,
};

use crate::random::Random;

/// Two classes of 40 rows around (0, 0) and (10, 0).
fn model() -> Evm {
    let mut random = Random(3);
    let rows = (0..80).flat_map(|row| {
        let x = if row < 40 { 0.0 } else { 10.0 };
        [(x + random.normal()) as f32, random.normal() as f32]
    });
    let labels = Labels::new((0..80).map(|row| if row < 40 { "a" } else { "b" })).unwrap();
    let all = Params { cover_threshold: 1.0, ..Params::paper() };
    Evm::fit(&all, &Features::new(rows.collect::<Vec<_>>(), 2).unwrap(), &labels).unwrap().0
}

fn around(random: &mut Random, x: f64, y: f64, rows: usize) -> Vec<f32> {
    (0..rows).flat_map(|_| [(x + random.normal()) as f32, (y + random.normal()) as f32]).collect()
}

fn examine(model: &Evm, rule: &EnrolmentRule, values: &[f32], class: &str) -> Vec<Option<HeldReason>> {
    let capture = Capture::default();
    let features = Features::new(values, 2).unwrap();
    let candidates = vec![Candidate { class, capture: &capture, proposed: false }; features.rows()];
    rule.examine(model, &features, &candidates).unwrap()
}

#[test]
fn nothing_is_held_back_unless_a_rule_asks() {
    let model = model();
    let mut random = Random(5);
    let far = around(&mut random, 500.0, 0.0, 3);
    assert_eq!(examine(&model, &EnrolmentRule::default(), &far, "a"), [None; 3]);
    let mut pool = UnknownPool::new(2);
    let samples = pool.add(&Features::new(far, 2).unwrap()).unwrap();
    pool.propose(&samples, "c").unwrap();
    let mut same = pool.clone();
    let enrolled = pool.take_enrolled(&model, &EnrolmentRule::default()).unwrap();
    assert_eq!((enrolled.features, enrolled.labels), same.take_labelled());
    assert_eq!((enrolled.samples, enrolled.held_back.len(), pool), (samples, 0, same));
}

#[test]
fn a_new_class_needs_samples_and_occasions() {
    let model = model();
    let mut pool = UnknownPool::new(2);
    let mut random = Random(7);
    let rule = EnrolmentRule {
        least_quality: Some(0.5),
        least_samples: 3,
        least_occasions: 2,
        ..EnrolmentRule::default()
    };
    let mut add = |pool: &mut UnknownPool, quality: Option<f64>, occasion: &str| {
        let row = Features::new(around(&mut random, 0.0, 60.0, 1), 2).unwrap();
        let samples = pool.add(&row).unwrap();
        let capture = Capture { quality, occasion: Some(occasion.to_owned()), time: None };
        pool.describe(&samples, &[capture]).unwrap();
        pool.label(&samples, "new").unwrap();
        samples[0]
    };
    let (bad, none) = (add(&mut pool, Some(0.2), "monday"), add(&mut pool, None, "tuesday"));
    add(&mut pool, Some(0.5), "monday");
    add(&mut pool, Some(0.9), "monday");
    let reasons = |pool: &mut UnknownPool| {
        let enrolled = pool.take_enrolled(&model, &rule).unwrap();
        let held = enrolled.held_back.iter().map(|held| (held.sample, held.reason)).collect::<Vec<_>>();
        (enrolled.samples, held)
    };
    let (samples, held) = reasons(&mut pool);
    let few = HeldReason::FewSamples { samples: 2, least: 3 };
    assert!(samples.is_empty());
    let low = (bad, HeldReason::LowQuality { quality: 0.2, least: 0.5 });
    let unknown = (none, HeldReason::NoQuality { least: 0.5 });
    assert_eq!(held, [low, unknown, (2, few), (3, few)], "what is too bad counts for nothing");

    add(&mut pool, Some(0.8), "monday");
    let (samples, held) = reasons(&mut pool);
    let once = HeldReason::FewOccasions { occasions: 1, least: 2 };
    assert_eq!((samples.len(), held[2..].to_vec()), (0, vec![(2, once), (3, once), (4, once)]));

    add(&mut pool, Some(0.8), "wednesday");
    let (samples, held) = reasons(&mut pool);
    assert_eq!((samples, held), (vec![2, 3, 4, 5], vec![low, unknown]));
    assert_eq!(pool.len(), 2, "what is held back stays, with its label");

    // A class that is there needs neither.
    add(&mut pool, Some(0.8), "monday");
    pool.label(&[6], "a").unwrap();
    assert_eq!(reasons(&mut pool).0, [6]);
}

#[test]
fn what_the_system_named_waits_for_a_person() {
    let model = model();
    let mut pool = UnknownPool::new(2);
    pool.add(&Features::new(vec![0.0, 60.0, 0.5, 60.0], 2).unwrap()).unwrap();
    pool.propose(&[0, 1], "new").unwrap();
    let quarantine = EnrolmentRule { quarantine: true, ..EnrolmentRule::default() };
    let held = pool.take_enrolled(&model, &quarantine).unwrap().held_back;
    assert!(held.iter().all(|held| held.reason == HeldReason::Quarantined && held.class == "new"));
    assert_eq!(held.len(), 2);
    pool.label(&[1], "new").unwrap();
    assert_eq!(pool.take_enrolled(&model, &quarantine).unwrap().samples, [1]);
    // Taking the label away and naming it again, by a person, confirms it too.
    pool.unlabel(&[0]).unwrap();
    pool.label(&[0], "new").unwrap();
    assert_eq!(pool.take_enrolled(&model, &quarantine).unwrap().samples, [0]);
}

/// The measure, as its documentation has it.
fn moved(model: &Evm, new: &[f32], width: f64) -> f64 {
    let own: Vec<&[f32]> =
        model.extreme_vectors().filter(|vector| vector.class == 0).map(|vector| vector.vector).collect();
    let mean = |rows: &[&[f32]], at: usize| {
        rows.iter().map(|row| f64::from(row[at])).sum::<f64>() / rows.len() as f64
    };
    let new: Vec<&[f32]> = new.chunks_exact(2).collect();
    let shift = (mean(&new, 0) - mean(&own, 0)).hypot(mean(&new, 1) - mean(&own, 1));
    let (m, n) = (new.len() as f64, own.len() as f64);
    m / (n + m) * shift / width
}

/// The median distance between two rows of one class.
fn width(model: &Evm) -> f64 {
    let vectors: Vec<_> = model.extreme_vectors().collect();
    let mut distances = Vec::new();
    for (at, one) in vectors.iter().enumerate() {
        for other in vectors[..at].iter().filter(|other| other.class == one.class) {
            distances.push(
                f64::from(one.vector[0] - other.vector[0]).hypot(f64::from(one.vector[1] - other.vector[1])),
            );
        }
    }
    distances.sort_by(f64::total_cmp);
    distances[distances.len() / 2]
}

#[test]
fn a_class_moves_no_farther_than_it_may() {
    let model = model();
    let width = width(&model);
    let mut random = Random(9);
    // Ten rows where the class is, and six far off.
    let values = [around(&mut random, 0.0, 0.0, 10), around(&mut random, 6.0, 6.0, 6)].concat();
    let all = moved(&model, &values, width);
    for most in [0.01, 0.05, 0.1, 0.2, 0.3] {
        let rule = EnrolmentRule { most_moved: Some(most), ..EnrolmentRule::default() };
        let held = examine(&model, &rule, &values, "a");
        let kept: Vec<f32> = (0..16)
            .filter(|&row| held[row].is_none())
            .flat_map(|row| values[2 * row..2 * row + 2].to_vec())
            .collect();
        let count = held.iter().flatten().count();
        assert!(kept.is_empty() || moved(&model, &kept, width) <= most + 1e-4, "{most}: {held:?}");
        assert!((count > 0) == (all > most), "{most} of {all}: {held:?}");
        for reason in held.iter().flatten() {
            let HeldReason::Moved { moved, most: limit } = *reason else { panic!("{reason:?}") };
            assert!((moved - all).abs() < 1e-4 && limit == most, "{moved} {all}");
        }
        if (1..=6).contains(&count) {
            assert!(held[..10].iter().all(Option::is_none), "the farthest first: {held:?}");
        }
    }
    // No class of that name: nothing is moved.
    let rule = EnrolmentRule { most_moved: Some(0.01), ..EnrolmentRule::default() };
    assert_eq!(examine(&model, &rule, &values, "c"), [None; 16]);
}

#[test]
fn near_zero_vectors_are_named_under_the_cosine() {
    let mut random = Random(4);
    let rows: Vec<f32> = (0..40)
        .flat_map(|row| {
            let (x, y) = if row < 20 { (1.0, 0.1) } else { (0.1, 1.0) };
            [(x + 0.05 * random.normal()) as f32, (y + 0.05 * random.normal()) as f32]
        })
        .collect();
    let labels = Labels::new((0..40).map(|row| if row < 20 { "a" } else { "b" })).unwrap();
    let features = Features::new(rows, 2).unwrap();
    let capture = Capture::default();
    let candidates = [Candidate { class: "a", capture: &capture, proposed: false }; 3];
    let asked = Features::new(vec![1.0, 0.0, 0.001, 0.0, 0.0, 0.0], 2).unwrap();
    let rule = EnrolmentRule { least_samples: 2, ..EnrolmentRule::default() };
    let near_zero = |metric: Metric| {
        let (model, _) = Evm::fit(&Params { metric, ..Params::plain() }, &features, &labels).unwrap();
        let held = rule.examine(&model, &asked, &candidates).unwrap();
        held.iter().map(|held| held.map(|reason| reason.name())).collect::<Vec<_>>()
    };
    assert_eq!(near_zero(Metric::Cosine), [None, Some("near_zero"), Some("near_zero")]);
    assert_eq!(near_zero(Metric::Euclidean), [None; 3], "lengths say something there");
}

#[test]
fn bad_descriptions_and_rules_are_refused() {
    let mut pool = UnknownPool::new(1);
    pool.add(&Features::new(vec![1.0, 2.0], 1).unwrap()).unwrap();
    let bad = Capture { quality: Some(f64::NAN), ..Capture::default() };
    let error = pool.describe(&[0, 1], &[Capture::default(), bad.clone()]).unwrap_err();
    assert_eq!(error.to_string(), "row 1: quality = NaN: must be a finite number, or left out");
    assert!(matches!(pool.describe(&[0], &[]), Err(PoolError::Numbers { .. })));
    assert_eq!(pool.describe(&[7], &[Capture::default()]), Err(PoolError::NoSample { sample: 7 }));
    let rule = EnrolmentRule { most_moved: Some(-1.0), ..EnrolmentRule::default() };
    let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1).unwrap();
    let labels = Labels::new(["low", "low", "low", "high", "high", "high"]).unwrap();
    let (model, _) = Evm::fit(&Params::plain(), &features, &labels).unwrap();
    let error = pool.take_enrolled(&model, &rule).unwrap_err();
    assert_eq!(error.to_string(), "most_moved = -1: must be above 0, in widths of classes");
}
