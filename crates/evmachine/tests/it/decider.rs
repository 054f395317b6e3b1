//! One query at a time: every decision is that of the same query among others, bit for bit.

use std::sync::Arc;

use evmachine::{
    Decider, Decision, Distance, Evm, FeatureError, Features, Labels, Metric, MetricError, Params, Run,
    RunError, Search, TailModel, TailSize, Weight,
};

/// Clumps on a line through several dimensions, and queries around and far from them; every seventh is a training row.
fn drawn(rows: usize, dimensions: usize, classes: usize) -> (Features<'static>, Labels, Features<'static>) {
    let mut state = 11u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0
    };
    let mut row = |class: usize, spread: f32| -> Vec<f32> {
        (0..dimensions).map(|k| ((class * (k + 3)) % 7) as f32 + spread * (next() - 0.5)).collect()
    };
    let train: Vec<Vec<f32>> = (0..rows).map(|at| row(at % classes, 1.5)).collect();
    let queries: Vec<Vec<f32>> = (0..150)
        .map(|at| match at % 7 {
            0 => train[at].clone(),
            1 => row(at % classes, 40.0),
            2 => row(at % classes, 1e6),
            _ => row(at % (classes + 2), 2.5),
        })
        .collect();
    let labels = Labels::new((0..rows).map(|at| format!("class {}", at % classes))).unwrap();
    (Features::from_rows(train).unwrap(), labels, Features::from_rows(queries).unwrap())
}

fn assert_same(name: &str, evm: &Evm, queries: &Features<'_>) {
    let together = evm.decide(queries).unwrap();
    let mut decider: Decider<'_> = evm.decider().unwrap();
    for (at, (query, expected)) in queries.iter().zip(&together).enumerate() {
        let bits = |decision: &Decision| {
            let score = decision.score();
            let p_value = decision.p_value().map(f64::to_bits);
            let numbers = [decision.support(), score.support, score.ln_probability].map(f64::to_bits);
            (decision.class(), decision.best(), numbers, p_value)
        };
        let found = decider.decide(query).unwrap();
        assert_eq!(bits(&found), bits(expected), "{name}, query {at}: {found:?} {expected:?}");
        assert_eq!(bits(&evm.decide_one(query).unwrap()), bits(expected), "{name}, query {at}, alone");
        let one = evm.decide(&Features::new(query, query.len()).unwrap()).unwrap();
        assert_eq!(bits(&one[0]), bits(expected), "{name}, query {at}, as a batch of one");
    }
}

#[derive(Debug)]
struct Largest;

impl Distance for Largest {
    fn name(&self) -> &'static str {
        "largest difference"
    }

    fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
}

#[test]
fn a_query_alone_is_decided_as_among_others() {
    let heard = |params: Params| Params {
        probe_weight: Weight::Fixed(1.0),
        logit_weight: Weight::Fixed(0.5),
        forest_weight: Weight::Fixed(0.7),
        ..params
    };
    let plain = || Params { tail_size: TailSize::Count(30), ..Params::plain() };
    let cases = [
        ("paper", Params::paper()),
        ("plain", plain()),
        ("five of a class", Params { n_fused: 5, ..plain() }),
        ("cosine", Params { metric: Metric::Cosine, ..plain() }),
        ("Manhattan", Params { metric: Metric::Manhattan, ..plain() }),
        ("own metric", Params { metric: Metric::Custom(Arc::new(Largest)), ..plain() }),
        ("whitened and standardised", Params { whitening: 0.4, standardize: true, ..plain() }),
        ("libmr", Params { tail_model: TailModel::Libmr, ..plain() }),
        ("Gumbel", Params { tail_model: TailModel::Gumbel, contrast: 0.0, ..plain() }),
        ("lead and background", Params { contrast: 0.25, background: 0.3, ..plain() }),
        ("robust", Params::robust_for(Metric::Euclidean)),
        ("robust, cosine", Params::robust_for(Metric::Cosine)),
        ("all witnesses", heard(Params::robust_for(Metric::Euclidean))),
        ("all witnesses, cosine", heard(Params::robust_for(Metric::Cosine))),
    ];
    // From 32 dimensions on, Euclidean distances are made of products; sums are cut at 256.
    for (rows, dimensions, classes) in [(320, 3, 5), (330, 40, 6), (310, 300, 4), (240, 9, 30)] {
        let (features, labels, queries) = drawn(rows, dimensions, classes);
        for (name, params) in &cases {
            let (evm, _) = Evm::fit(params, &features, &labels).unwrap();
            assert_same(&format!("{name}, {rows} x {dimensions}"), &evm, &queries);
        }
    }
}

#[test]
fn ignored_samples_denials_and_classes_alone_count_for_one_query_too() {
    let (features, labels, queries) = drawn(320, 6, 5);
    for params in [Params::plain(), Params::robust_for(Metric::Euclidean)] {
        let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        evm.ignore(&queries.part(3..9)).unwrap();
        evm.deny(&queries.part(10..16), "class 1").unwrap();
        assert_same("ignored and denied", &evm, &queries);
    }
    let one = Labels::new((0..features.rows()).map(|_| "all")).unwrap();
    let (evm, _) = Evm::fit(&Params::plain(), &features, &one).unwrap();
    assert_same("one class", &evm, &queries);
}

#[test]
fn an_approximate_search_answers_one_query_as_it_does_many() {
    let (features, labels, queries) = drawn(4_000, 4, 5);
    let params = Params { search: Search::Approximate(0.9), cover_threshold: 1.0, ..Params::plain() };
    let run = Run::new().approximate_from(1_000);
    let (evm, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
    assert!(evm.decision_recall_with(&run).unwrap().is_some(), "few extreme vectors are met");
    assert_same("approximate", &evm, &queries);
}

#[test]
fn bad_queries_are_named() {
    let (features, labels, _) = drawn(200, 3, 4);
    let (evm, _) = Evm::fit(&Params::plain(), &features, &labels).unwrap();
    let refused = |query: &[f32]| evm.decide_one(query).unwrap_err();
    assert_eq!(refused(&[1.0; 6]), RunError::from(FeatureError::Dimensions { expected: 3, found: 6 }));
    assert_eq!(refused(&[]), RunError::from(FeatureError::Dimensions { expected: 3, found: 0 }));
    let text = refused(&[1.0, f32::NAN, 0.0]).to_string();
    assert!(text.starts_with("row 0, column 1: NaN"), "{text}");
    let cosine = Params { metric: Metric::Cosine, ..Params::plain() };
    let (evm, _) = Evm::fit(&cosine, &features, &labels).unwrap();
    assert_eq!(evm.decide_one(&[0.0; 3]).unwrap_err(), RunError::from(FeatureError::ZeroVector { row: 0 }));
}

#[test]
fn a_metric_without_a_distance_is_told() {
    #[derive(Debug)]
    struct Sometimes;
    impl Distance for Sometimes {
        fn name(&self) -> &'static str {
            "sometimes"
        }
        fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
            let apart = (a[0] - b[0]).abs();
            if apart > 1e5 { f32::NAN } else { apart }
        }
    }
    let (features, labels, _) = drawn(200, 3, 4);
    let params = Params { metric: Metric::Custom(Arc::new(Sometimes)), ..Params::plain() };
    let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    let error = evm.decide_one(&[1e7, 0.0, 0.0]).unwrap_err();
    assert!(matches!(error, RunError::Metric(MetricError { .. })), "{error}");
}
