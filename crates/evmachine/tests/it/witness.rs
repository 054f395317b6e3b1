//! What is heard beside the features, and how far a model reaches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evmachine::{
    Budget, Distance, Evm, Features, Labels, Metric, Params, Rejection, RunError, TailModel, Testimony,
    Weight,
};
use proptest::prelude::*;

use crate::common::{Random, Set};
use crate::data;

/// Twelve classes in eight dimensions that overlap a little: a line divides them, near points too.
fn embedding(rows: usize, seed: u64) -> Set {
    let mut random = Random(seed);
    let mut centres = Random(99);
    let centres: Vec<f32> = (0..12 * 8).map(|_| centres.next() * 6.0).collect();
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let class = row % 12;
        names.push(format!("class {class}"));
        let noise = |random: &mut Random| (0..4).map(|_| random.next()).sum::<f32>() - 2.0;
        values.extend(
            centres[class * 8..(class + 1) * 8].iter().map(|centre| centre + 1.6 * noise(&mut random)),
        );
    }
    Set { features: Features::new(values, 8).unwrap(), labels: Labels::new(names).unwrap() }
}

/// The parameters with the support in feature space alone.
fn alone(params: &Params) -> Params {
    let none = Weight::Fixed(0.0);
    Params { logit_weight: none, probe_weight: none, forest_weight: none, ..params.clone() }
}

fn accuracy(evm: &Evm, set: &Set) -> f64 {
    let decisions = evm.decide(&set.features).unwrap();
    let right = decisions
        .iter()
        .enumerate()
        .filter(|(row, decision)| evm.class_name(decision.best()) == set.labels.name(*row));
    right.count() as f64 / set.len() as f64
}

#[test]
fn witnesses_name_at_least_as_well_and_say_what_they_said() {
    let (train, test) = (embedding(600, 1), embedding(1200, 2));
    let params = Params::robust();
    let (heard, alone) = (train.fit(&params), train.fit(&alone(&params)));
    let shares = heard.shares().unwrap();
    let sum = shares.features + shares.logits + shares.probe + shares.forest;
    assert!((sum - 1.0).abs() < 1e-12 && shares.features > 0.04, "{shares:?}");
    assert_eq!(alone.shares(), None);
    assert!(accuracy(&heard, &test) >= accuracy(&alone, &test) - 0.005);
    let few: Vec<usize> = (0..50).collect();
    for why in heard.explain(&test.features.select(&few), 12).unwrap() {
        let total = |said: Testimony| said.features + said.logits + said.probe + said.forest;
        let supports: Vec<f64> = why.classes.iter().map(|class| total(class.witnesses.unwrap())).collect();
        assert!(
            supports.windows(2).all(|pair| pair[0] >= pair[1] - 1e-9),
            "classes stand best first: {supports:?}"
        );
    }
    assert!(alone.explain(&test.features.select(&few), 1).unwrap()[0].classes[0].witnesses.is_none());
}

#[test]
fn weights_of_zero_are_the_machine_alone_bit_for_bit() {
    let train = embedding(240, 3);
    let zero = Params { rejection_threshold: Rejection::Probability(0.05), ..Params::robust() };
    let zero = alone(&zero);
    let evm = train.fit(&zero);
    let calibrated = train.fit(&Params { rejection_threshold: Rejection::FalseUnknown(0.05), ..zero });
    let queries = embedding(100, 4).features;
    let scores = |evm: &Evm| evm.map_queries(&queries, |_, scores| scores.to_vec()).unwrap();
    assert_eq!(scores(&evm), scores(&calibrated));
    assert_eq!(evm.extreme_vectors().collect::<Vec<_>>(), calibrated.extreme_vectors().collect::<Vec<_>>());
}

#[test]
fn models_with_witnesses_survive_a_file_and_the_number_of_threads() {
    let train = embedding(480, 5);
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let auto = Params { standardize: true, background: 0.5, ..Params::robust() };
    let forest = Params { forest_weight: Weight::Fixed(1.0), ..alone(&auto) };
    let all = Params { logit_weight: Weight::Fixed(1.0), probe_weight: Weight::Fixed(1.0), ..forest.clone() };
    let queries = embedding(300, 6).features;
    for params in [&auto, &forest, &all] {
        let (one, three) = (pool(1).install(|| train.fit(params)), pool(3).install(|| train.fit(params)));
        assert_eq!(one, three);
        let back = Evm::from_bytes(&one.to_bytes().unwrap()).unwrap();
        assert_eq!(back, one);
        assert_eq!(back.decide(&queries).unwrap(), one.decide(&queries).unwrap());
        assert_eq!(back.threshold(), one.threshold());
    }
    let one = train.fit(&auto);
    let vector = one.extreme_vectors().next().unwrap();
    let place = one.in_feature_space(vector.vector);
    assert!(place.iter().zip(train.features.row(0)).all(|(a, b)| (a - b).abs() < 3.0), "{place:?}");
}

#[test]
fn a_class_that_comes_later_is_named_and_one_that_goes_is_gone() {
    let (all, test) = (embedding(960, 7), embedding(960, 8));
    let part = |set: &Set, from: usize, to: usize| {
        let rows: Vec<usize> = (0..set.len()).filter(|row| (from..to).contains(&(row % 12))).collect();
        set.rows(&rows)
    };
    let forest = Params { forest_weight: Weight::Fixed(1.0), ..alone(&Params::robust()) };
    let mut accuracies = Vec::new();
    for params in [Params::robust(), forest, alone(&Params::robust())] {
        let mut evm = part(&all, 0, 8).fit(&params);
        let later = part(&all, 8, 12);
        let report = evm.update(&later.features, &later.labels).unwrap();
        assert_eq!(report.classes, 12);
        accuracies.push(accuracy(&evm, &part(&test, 8, 12)));
        let rejected =
            evm.decide(&test.features).unwrap().iter().filter(|decision| decision.class().is_none()).count();
        let share = rejected as f64 / test.len() as f64;
        assert!((0.01..0.10).contains(&share), "the promise of 5 % holds after an update: {share}");
        evm.forget_class("class 3").unwrap();
        assert_eq!(evm.classes().len(), 11);
        assert!(accuracy(&evm, &part(&test, 8, 12)) > accuracies[accuracies.len() - 1] - 0.05);
        evm.reduce(&Params { max_extreme_vectors: Some(Budget::PerClass(10)), ..params }.cover()).unwrap();
        assert_eq!(evm.extreme_vector_count(), 110);
        assert!(accuracy(&evm, &part(&test, 0, 3)) > 0.6);
    }
    assert!(accuracies[..2].iter().all(|heard| *heard >= accuracies[2] - 0.01), "{accuracies:?}");
}

#[test]
fn twice_the_classes_ask_to_be_tuned_again() {
    let all = embedding(480, 9);
    let first: Vec<usize> = (0..480).filter(|row| row % 12 < 5).collect();
    let later: Vec<usize> = (0..480).filter(|row| row % 12 >= 5).collect();
    let mut evm = all.rows(&first).fit(&Params::plain());
    let report = evm.update(&all.rows(&later).features, &all.rows(&later).labels).unwrap();
    let advice = report.tune_again.unwrap().to_string();
    assert_eq!(advice, "the model was fitted with 5 classes and has 12 now");
}

/// Settings that could let a far query in: leads, logits and the median class without bound, curves that hardly fall.
fn any_setting() -> impl Strategy<Value = Params> {
    let weight =
        || prop_oneof![Just(Weight::Fixed(0.0)), Just(Weight::Auto), (0.1f64..20.0).prop_map(Weight::Fixed)];
    let metric = prop::sample::select(vec![Metric::Euclidean, Metric::Manhattan]);
    let delta = prop_oneof![
        (1e-9f64..0.5).prop_map(Rejection::Probability),
        (0.0f64..0.3).prop_map(Rejection::FalseUnknown),
        (0.01f64..0.99).prop_map(Rejection::FalseKnown),
    ];
    let shape = prop::option::of(0.01f64..50.0);
    (metric, weight(), (weight(), weight()), 0f64..50.0, 0f64..10.0, delta, shape, any::<bool>(), 1usize..4)
        .prop_map(
            |(
                metric,
                logit_weight,
                (probe_weight, forest_weight),
                contrast,
                background,
                rejection_threshold,
                fixed_shape,
                standardize,
                k,
            )| {
                Params {
                    metric,
                    logit_weight,
                    probe_weight,
                    forest_weight,
                    contrast,
                    background,
                    rejection_threshold,
                    fixed_shape,
                    standardize,
                    n_fused: k,
                    ..Params::plain()
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn far_out_everything_is_unknown(params in any_setting(), seed in any::<u64>()) {
        let evm = embedding(300, seed % 1000).fit(&params);
        let mut random = Random(seed);
        let mut values: Vec<f32> = (0..40 * 8).map(|_| (random.next() - 0.5) * 2e9).collect();
        // Along the axes, both ways.
        for axis in 0..8 {
            for side in [1e9, -1e9] {
                values.extend((0..8).map(|column| if column == axis { side } else { 0.0 }));
            }
        }
        for decision in evm.decide(&Features::new(values, 8).unwrap()).unwrap() {
            prop_assert_eq!(decision.class(), None, "{:?}", decision);
        }
    }
}

#[test]
fn far_out_is_unknown_for_every_tail_model_on_letters() {
    let (features, labels) = data::read().unwrap();
    let rows: Vec<usize> = (0..1_500).collect();
    let (features, labels) = (features.select(&rows), labels.select(&rows));
    let far = Features::new(vec![1e9; 16], 16).unwrap();
    for tail_model in TailModel::ALL {
        let contrast = if tail_model == TailModel::Weibull { 5.0 } else { 0.0 };
        let params = Params { tail_model, contrast, whitening: 0.3, ..Params::plain() };
        let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        assert_eq!(evm.decide(&far).unwrap()[0].class(), None, "{tail_model:?}");
        assert!(evm.reach().unwrap().unwrap() > 10.0);
    }
}

/// Breaks within a clump, some day.
#[derive(Debug)]
struct Fragile(Arc<AtomicBool>);

impl Distance for Fragile {
    fn name(&self) -> &'static str {
        "fragile"
    }
    fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
        let distance = (a[0] - b[0]).abs();
        if distance < 1.0 && self.0.load(Ordering::Relaxed) { f32::NAN } else { distance }
    }
}

#[test]
fn a_metric_that_cannot_tell_how_far_the_model_reaches_is_an_error_and_not_ignored() {
    let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1).unwrap();
    let labels = Labels::new(["low", "low", "low", "high", "high", "high"]).unwrap();
    let broken = Arc::new(AtomicBool::new(false));
    let metric = Metric::custom(Fragile(broken.clone()));
    let params = Params { metric, cover_threshold: 1.0, ..Params::paper() };
    let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    broken.store(true, Ordering::Relaxed);
    let error = evm.reach().unwrap_err();
    assert!(error.name == "fragile" && error.value.is_nan(), "{error}");
    let found = evm.decide(&Features::new(vec![1e6], 1).unwrap());
    assert!(matches!(found, Err(RunError::Metric(_))), "{found:?}");
}

/// Four classes of a table: which one a row is of depends on two columns in steps, the other six are noise.
fn table(rows: usize, classes: usize, seed: u64) -> Set {
    let mut random = Random(seed);
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let row: Vec<f32> = (0..8).map(|_| random.next()).collect();
        let class = (row[0] * 8.0) as usize % 2 + 2 * ((row[1] * 8.0) as usize % 2);
        if class < classes {
            names.push(format!("class {class}"));
            values.extend(row);
        }
    }
    Set { features: Features::new(values, 8).unwrap(), labels: Labels::new(names).unwrap() }
}

#[test]
fn a_forest_is_heard_on_a_table_that_distances_do_not_know() {
    let (train, test) = (table(2400, 3, 1), table(1200, 3, 2));
    let heard = train.fit(&Params::robust());
    assert!(heard.shares().unwrap().forest > 0.3, "{:?}", heard.shares());
    let gain = accuracy(&heard, &test) - accuracy(&train.fit(&alone(&Params::robust())), &test);
    assert!(gain > 0.1, "{gain}");
}

#[test]
fn a_forest_that_does_not_fit_its_model_is_refused() {
    let params = Params { forest_weight: Weight::Fixed(1.0), ..alone(&Params::robust()) };
    let bytes = table(400, 3, 3).fit(&params).to_bytes().unwrap();
    let evm = Evm::from_bytes(&bytes).unwrap();
    let forest = evm.witnesses().unwrap().forest.unwrap();
    assert_eq!((forest.columns, forest.classes), (8, 3));
    // A column that the rows do not have, under a checksum that is right.
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let text = std::str::from_utf8(&bytes[8..8 + header]).unwrap();
    let text = text.replacen("\"forest_roots\"", "\"forest_rootz\"", 1);
    let mut forged = bytes.clone();
    forged[8..8 + header].copy_from_slice(text.as_bytes());
    assert!(Evm::from_bytes(&forged).is_err());
}
