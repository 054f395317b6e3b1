//! The linear classifier.

use evmachine::{Features, FitError, Labels, Metric, Probe, Run};
use serde::Deserialize;

use crate::data;

/// What `tests/golden/probe.py` wrote.
#[derive(Deserialize)]
struct Golden {
    rows: Vec<f32>,
    classes: Vec<u32>,
    penalty: f64,
    logits: Vec<f64>,
}

#[test]
fn logits_are_those_of_scikit_learn() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/probe.json")).unwrap();
    let features = Features::new(golden.rows, 6).unwrap();
    let labels = Labels::new(golden.classes.iter().map(u32::to_string)).unwrap();
    let probe =
        Probe::fit_at_with(&Run::new(), &Metric::Euclidean, &features, &labels, golden.penalty).unwrap();
    let first: Vec<usize> = (0..20).collect();
    let found = probe.logits(&features.select(&first)).unwrap();
    for (found, expected) in found.iter().zip(&golden.logits) {
        assert!((found - expected).abs() < 5e-3, "{found} {expected}");
    }
    let (weights, intercepts) = (probe.weights(), probe.intercepts());
    for (row, logits) in found.chunks_exact(4).enumerate() {
        for (class, &logit) in logits.iter().enumerate() {
            let own = &weights[class * 6..(class + 1) * 6];
            let sum: f64 = own.iter().zip(features.row(row)).map(|(w, &x)| w * f64::from(x)).sum();
            assert!((sum + intercepts[class] - logit).abs() < 1e-4, "weights of the features themselves");
        }
    }
}

#[test]
fn it_is_the_same_for_any_number_of_threads() {
    let (features, labels) = data::read().unwrap();
    let rows: Vec<usize> = (0..3_000).collect();
    let (features, labels) = (features.select(&rows), labels.select(&rows));
    let fit = || Probe::fit_with(&Run::new(), &Metric::Euclidean, &features, &labels).unwrap();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (one, three) = (pool(1).install(fit), pool(3).install(fit));
    assert_eq!(one, three);
    let rows: Vec<usize> = (15_000..16_000).collect();
    let (all, names) = data::read().unwrap();
    let logits = one.logits(&all.select(&rows)).unwrap();
    let classes = one.classes();
    let right = rows.iter().zip(logits.chunks_exact(classes)).filter(|(row, logits)| {
        let best = (0..classes).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap();
        labels.names()[best] == names.name(**row)
    });
    let accuracy = right.count() as f64 / 1000.0;
    assert!(accuracy > 0.70 && accuracy < 0.80, "{accuracy}: a linear classifier on Letter");
}

#[test]
fn what_cannot_be_fitted_is_named() {
    let features = Features::new(vec![1.0, 2.0, 3.0], 1).unwrap();
    let one = Labels::new(["a", "a", "a"]).unwrap();
    let error = Probe::fit_with(&Run::new(), &Metric::Euclidean, &features, &one).unwrap_err();
    assert!(matches!(error, FitError::OneClass { .. }), "{error}");
    let constant = Features::new(vec![1.0; 8], 2).unwrap();
    let two = Labels::new(["a", "b", "a", "b"]).unwrap();
    let probe = Probe::fit_with(&Run::new(), &Metric::Euclidean, &constant, &two).unwrap();
    assert!(probe.logits(&constant).unwrap().iter().all(|logit| logit.is_finite()));
    assert!(probe.logits(&features).is_err(), "other columns");
}

#[test]
fn a_penalty_is_above_zero_and_finite() {
    let features = Features::new(vec![0.0, 0.1, 5.0, 5.1], 1).unwrap();
    let labels = Labels::new(["low", "low", "high", "high"]).unwrap();
    for penalty in [f64::NAN, -1.0, 0.0, f64::INFINITY] {
        let refused =
            Probe::fit_at_with(&Run::new(), &Metric::Euclidean, &features, &labels, penalty).unwrap_err();
        let said = format!("penalty = {penalty}: it must be above 0 and finite");
        assert_eq!(refused.to_string(), said);
    }
}
