//! Increments: what is refitted, added and dropped, under every policy.

use crate::common::Random;
use evmachine::{
    Budget, Evm, Features, FitError, ForgetError, Labels, Params, ReduceWhen, Refit, Run, RunError, Stage,
    TailMemory, TailSize,
};
use std::ops::ControlFlow;

/// Round clumps in the plane, `rows` points each, at the given centres.
fn clumps(centres: &[(f32, f32, &str)], rows: usize, seed: u64) -> (Features<'static>, Labels) {
    let mut random = Random(seed);
    let mut values = Vec::new();
    let mut names = Vec::new();
    for &(x, y, name) in centres {
        for _ in 0..rows {
            values.extend([x + random.next(), y + random.next()]);
            names.push(name);
        }
    }
    (Features::new(values, 2).unwrap(), Labels::new(names).unwrap())
}

fn base() -> Params {
    Params { tail_size: TailSize::Count(10), ..Params::paper() }
}

fn two() -> (Features<'static>, Labels) {
    clumps(&[(0.0, 0.0, "a"), (4.0, 0.0, "b")], 40, 1)
}

#[test]
fn a_new_class_is_known_afterwards_and_pushes_its_neighbours_back() {
    let (features, labels) = two();
    let (mut evm, _) = Evm::fit(&base(), &features, &labels).unwrap();
    let (new, new_labels) = clumps(&[(0.0, 4.0, "c")], 40, 2);
    assert!(evm.decide(&new).unwrap().iter().filter(|decision| decision.class().is_none()).count() > 30);

    let before: Vec<f64> = evm.extreme_vectors().map(|vector| vector.psi.scale).collect();
    let report = evm.update(&new, &new_labels).unwrap();
    assert_eq!(report.new_classes, ["c"]);
    assert_eq!((report.rows, report.classes), (40, 3));
    assert!(report.added >= 1 && report.refitted >= 1);
    assert_eq!(report.dropped, 0, "a and b got no data");
    assert_eq!(report.extreme_vectors, before.len() + report.added);
    let after: Vec<f64> = evm.extreme_vectors().map(|vector| vector.psi.scale).take(before.len()).collect();
    let pushed = before.iter().zip(&after).filter(|(before, after)| after < before).count();
    assert!(pushed >= 1 && before.iter().zip(&after).all(|(before, after)| *after <= before * 1.0001));
    assert!(evm.decide(&new).unwrap().iter().all(|decision| decision.class() == Some(2)));
}

#[test]
fn a_share_comes_to_one_count_for_all_classes_as_they_come() {
    let (features, labels) = two();
    let params = Params { tail_size: TailSize::Fraction(0.25), cover_threshold: 1.0, ..base() };
    let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    for (place, name) in [(4.0, "c"), (8.0, "d")] {
        let (new, new_labels) = clumps(&[(0.0, place, name)], 40, 2);
        evm.update(&new, &new_labels).unwrap();
    }
    let sizes: Vec<usize> = evm.classes().map(|class| class.tail_size).collect();
    assert_eq!(sizes, [10; 4], "a quarter of the 40 rows of the other class, for whoever comes later too");
    // A class that was alone had nothing to take a share of.
    let (alone, alone_labels) = clumps(&[(0.0, 0.0, "a")], 40, 1);
    let (mut evm, _) = Evm::fit(&params, &alone, &alone_labels).unwrap();
    evm.update(&features, &labels).unwrap();
    assert_eq!(evm.classes().map(|class| class.tail_size).collect::<Vec<_>>(), [10, 20]);
}

#[test]
fn refit_policies_touch_what_they_say() {
    let (features, labels) = two();
    // Far away: no tail is affected.
    let (far, far_labels) = clumps(&[(900.0, 0.0, "c")], 20, 3);
    for memory in [TailMemory::Full, TailMemory::Max] {
        let params = Params { tail_memory: memory, ..base() };
        let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        let before: Vec<_> = evm.extreme_vectors().map(|vector| vector.psi).collect();
        assert_eq!(evm.update(&far, &far_labels).unwrap().refitted, 0, "{memory:?}");
        let after: Vec<_> = evm.extreme_vectors().map(|vector| vector.psi).take(before.len()).collect();
        assert_eq!(before, after);
    }
    for (refit, all) in [(Refit::All, true), (Refit::New, false)] {
        for memory in [TailMemory::Full, TailMemory::Max, TailMemory::None] {
            let params = Params { refit, tail_memory: memory, ..base() };
            let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
            let expected = if all { evm.extreme_vector_count() } else { 0 };
            assert_eq!(evm.update(&far, &far_labels).unwrap().refitted, expected, "{refit:?} {memory:?}");
        }
    }
    let params = Params { tail_memory: TailMemory::None, ..base() };
    let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    let count = evm.extreme_vector_count();
    assert_eq!(evm.update(&far, &far_labels).unwrap().refitted, count, "without memory all are affected");
}

#[test]
fn remembering_the_largest_finds_the_same_affected_ones_as_remembering_all() {
    let (features, labels) = two();
    let (near, near_labels) = clumps(&[(0.0, 2.0, "c")], 6, 4);
    let refitted = |memory| {
        let params = Params { tail_memory: memory, cover_threshold: 1.0, ..base() };
        let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        evm.update(&near, &near_labels).unwrap().refitted
    };
    let full = refitted(TailMemory::Full);
    assert!(full > 0 && full < 80, "{full}: only a has c in its tails");
    assert_eq!(refitted(TailMemory::Max), full);
}

#[test]
fn new_points_of_a_known_class_compete_with_its_extreme_vectors() {
    let (features, labels) = two();
    let (mut evm, _) = Evm::fit(&base(), &features, &labels).unwrap();
    let b_before = evm.classes().nth(1).unwrap().extreme_vectors;
    let (more, more_labels) = clumps(&[(0.2, 0.2, "a")], 30, 5);
    let report = evm.update(&more, &more_labels).unwrap();
    assert!(report.new_classes.is_empty());
    let classes: Vec<_> = evm.classes().collect();
    assert_eq!(classes[1].extreme_vectors, b_before, "b got no data");
    assert_eq!(classes[0].points_seen, 70);
    assert_eq!(evm.points_seen(), 110);
    assert!(evm.extreme_vectors().all(|vector| vector.source < 110));
    assert!(evm.decide(&more).unwrap().iter().all(|decision| decision.class() == Some(0)));
}

#[test]
fn budgets_hold_after_every_update() {
    let (features, labels) = two();
    let total = Params { max_extreme_vectors: Some(Budget::Total(12)), ..base() };
    let (mut evm, _) = Evm::fit(&total, &features, &labels).unwrap();
    assert!(evm.extreme_vector_count() <= 12);
    for (seed, name) in [(7, "c"), (8, "d"), (9, "e")] {
        let (new, new_labels) = clumps(&[(seed as f32 * 3.0, 9.0, name)], 30, seed);
        evm.update(&new, &new_labels).unwrap();
        assert!(evm.extreme_vector_count() <= 12, "{}", evm.extreme_vector_count());
        assert!(evm.classes().all(|class| class.extreme_vectors >= 1));
    }
    let each = Params { max_extreme_vectors: Some(Budget::PerClass(3)), ..base() };
    let (mut evm, _) = Evm::fit(&each, &features, &labels).unwrap();
    let (new, new_labels) = clumps(&[(0.0, 0.0, "a"), (9.0, 9.0, "c")], 30, 6);
    evm.update(&new, &new_labels).unwrap();
    assert!(evm.classes().all(|class| class.extreme_vectors <= 3));
}

#[test]
fn reduction_can_wait_until_the_budget_is_exceeded() {
    let (features, labels) = two();
    let params = Params {
        max_extreme_vectors: Some(Budget::Total(100)),
        reduce_when: ReduceWhen::OverBudget,
        ..base()
    };
    let (mut evm, report) = Evm::fit(&params, &features, &labels).unwrap();
    assert_eq!(report.extreme_vectors, 80, "within the budget nothing is dropped");
    let (new, new_labels) = clumps(&[(0.0, 4.0, "c")], 40, 2);
    let report = evm.update(&new, &new_labels).unwrap();
    assert!(report.extreme_vectors <= 100 && report.dropped + 40 - report.added >= 20, "{report:?}");
}

#[test]
fn a_class_can_be_forgotten_but_one_remains() {
    let (features, labels) = clumps(&[(0.0, 0.0, "a"), (4.0, 0.0, "b"), (0.0, 4.0, "c")], 20, 1);
    let (mut evm, _) = Evm::fit(&base(), &features, &labels).unwrap();
    let error = evm.forget_class("z").unwrap_err();
    assert_eq!(error.to_string(), r#"the model has no class "z"; it knows "a", "b", "c""#);
    evm.forget_class("b").unwrap();
    assert_eq!(evm.classes().map(|class| class.name).collect::<Vec<_>>(), ["a", "c"]);
    let b = features.select(&(20..40).collect::<Vec<_>>());
    assert!(evm.decide(&b).unwrap().iter().all(|decision| decision.class().is_none()));
    evm.forget_class("a").unwrap();
    assert!(evm.is_alone());
    assert_eq!(evm.forget_class("c"), Err(ForgetError::LastClass { name: "c".to_owned() }));
}

#[test]
fn forgetting_gives_the_psi_models_of_a_fit_without_the_class() {
    let (features, labels) =
        clumps(&[(0.0, 0.0, "a"), (4.0, 0.0, "b"), (0.0, 4.0, "c"), (3.0, 3.0, "d")], 20, 1);
    for size in [1, 10, 45, 100] {
        let params = Params { tail_size: TailSize::Count(size), cover_threshold: 1.0, ..Params::paper() };
        let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        evm.forget_class("b").unwrap();
        let rest: Vec<usize> = (0..80).filter(|&row| labels.name(row) != "b").collect();
        let (without, _) = Evm::fit(&params, &features.select(&rest), &labels.select(&rest)).unwrap();
        let psi = |evm: &Evm| evm.extreme_vectors().map(|vector| vector.psi).collect::<Vec<_>>();
        assert_eq!(psi(&evm), psi(&without), "tail size {size}");

        // Learned again, the class is back where it was.
        let b: Vec<usize> = (20..40).collect();
        evm.update(&features.select(&b), &labels.select(&b)).unwrap();
        let (whole, _) = Evm::fit(&params, &features, &labels).unwrap();
        let sorted = |evm: &Evm| {
            let mut all: Vec<(String, u64, u64)> = evm
                .extreme_vectors()
                .map(|v| (evm.class_name(v.class).to_owned(), v.psi.shape.to_bits(), v.psi.scale.to_bits()))
                .collect();
            all.sort();
            all
        };
        assert_eq!(sorted(&evm), sorted(&whole), "tail size {size}");
    }
    for memory in [TailMemory::Max, TailMemory::None] {
        let params = Params { tail_memory: memory, cover_threshold: 1.0, ..base() };
        let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        evm.forget_class("b").unwrap();
        assert_eq!(evm.vector_ratio(), 1.0);
        let rest: Vec<usize> = (0..80).filter(|&row| labels.name(row) != "b").collect();
        let (without, _) = Evm::fit(&params, &features.select(&rest), &labels.select(&rest)).unwrap();
        let psi = |evm: &Evm| evm.extreme_vectors().map(|vector| vector.psi).collect::<Vec<_>>();
        assert_eq!(psi(&evm), psi(&without), "{memory:?}");
    }
}

#[test]
fn extreme_parameters_are_no_trouble() {
    let (features, labels) = two();
    for params in [
        Params { n_fused: usize::MAX, ..base() },
        Params { tail_size: TailSize::Count(usize::MAX), ..base() },
        Params { rejection_threshold: 0.0.into(), ..base() },
        Params { rejection_threshold: 1.0.into(), ..base() },
        Params { smoothing: 1.0, smoothing_neighbors: usize::MAX, ..base() },
        Params { max_extreme_vectors: Some(Budget::Total(usize::MAX)), ..base() },
        Params { max_extreme_vectors: Some(Budget::Total(1)), ..base() },
        Params { distance_multiplier: 1e300, ..base() },
        Params { fixed_shape: Some(evmachine::SHAPE_CAP), ..base() },
    ] {
        let run = Run::new().tile(usize::MAX, usize::MAX).memory(usize::MAX);
        let (mut evm, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
        let (new, new_labels) = clumps(&[(0.0, 4.0, "c")], 9, 2);
        evm.update(&new, &new_labels).unwrap();
        assert_eq!(evm.decide_with(&run, &features).unwrap().len(), 80, "{params:?}");
        assert_eq!(evm.decide(&Features::new(vec![], 2).unwrap()).unwrap(), []);
        let why = evm.explain(&new, 9).unwrap();
        assert!(why.iter().all(|why| !why.distance_to_boundary.is_nan()), "{params:?}");
        let mut pool = evmachine::UnknownPool::new(2);
        pool.add(&new).unwrap();
        assert!(!pool.suggest(&evm, evmachine::Strategy::Coverage, 9).unwrap().is_empty());
    }
}

#[test]
fn a_stopped_or_failed_update_leaves_the_model_as_it_was() {
    let (features, labels) = two();
    let (mut evm, _) = Evm::fit(&base(), &features, &labels).unwrap();
    let before = evm.clone();
    let (new, new_labels) = clumps(&[(0.0, 4.0, "c")], 40, 2);
    for (stage, budget) in [
        (Stage::Tails, None),
        (Stage::Refit, None),
        (Stage::Cover, None),
        (Stage::Cover, Some(Budget::Total(20))),
        (Stage::Cover, Some(Budget::PerClass(5))),
    ] {
        let (mut evm, _) =
            Evm::fit(&Params { max_extreme_vectors: budget, ..base() }, &features, &labels).unwrap();
        let before = evm.clone();
        let stop = move |at: Stage, _: u64, _: u64| {
            if at == stage { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let result = evm.update_with(&Run::new().observer(&stop), &new, &new_labels);
        assert_eq!(result, Err(FitError::Run(RunError::Stopped)), "{stage}");
        assert_eq!(evm, before);
    }
    evm.update(&new, &new_labels).unwrap();
    let three = evm.clone();
    let stop = |_: Stage, _: u64, _: u64| ControlFlow::Break(());
    assert_eq!(
        evm.forget_class_with(&Run::new().observer(&stop), "b"),
        Err(ForgetError::Run(RunError::Stopped))
    );
    assert_eq!(evm, three);
    let mut evm = before.clone();
    let narrow = Features::new(vec![1.0], 1).unwrap();
    assert!(evm.update(&narrow, &Labels::new(["c"]).unwrap()).is_err());
    assert!(evm.update(&new, &Labels::new(["c"]).unwrap()).is_err());
    assert!(evm.update(&Features::new(vec![], 2).unwrap(), &Labels::default()).is_err());
    assert_eq!(evm, before);
}

#[test]
fn progress_counts_up_to_the_total() {
    use std::sync::Mutex;
    let seen = Mutex::new(Vec::new());
    let watch = |stage: Stage, done: u64, total: u64| {
        seen.lock().unwrap().push((stage, done, total));
        ControlFlow::Continue(())
    };
    let (features, labels) = two();
    let params = Params { whitening: 0.5, smoothing: 0.5, ..base() };
    let run = Run::new().observer(&watch);
    let (evm, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
    evm.decide_with(&run, &features).unwrap();
    let seen = seen.into_inner().unwrap();
    for (stage, total) in [
        (Stage::Whitening, 80),
        (Stage::Smoothing, 80),
        (Stage::Tails, 80),
        (Stage::Cover, 2),
        (Stage::Predict, 80),
    ] {
        assert!(seen.contains(&(stage, total, total)), "{stage}");
    }
}

#[test]
fn bad_training_data_is_named() {
    let (features, labels) = two();
    let one = Labels::new(vec!["a"; 80]).unwrap();
    let (_, report) = Evm::fit(&base(), &features, &one).unwrap();
    assert_eq!(report.alone.as_deref(), Some("a"), "one class is enough to begin, and said to be alone");
    assert_eq!(labels.names().len(), 2);
    let zero = Features::new(vec![1.0, 0.0, 0.0, 0.0], 2).unwrap();
    let cosine = Params { metric: evmachine::Metric::Cosine, ..base() };
    let error = Evm::fit(&cosine, &zero, &Labels::new(["a", "b"]).unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("row 1 is all zeros"), "{error}");
    let error = Evm::fit(&base(), &features, &Labels::new(["a"]).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "80 rows of features but 1 labels; there must be one label for each row");
    let error = Evm::fit(&Params { n_fused: 0, ..base() }, &features, &labels).unwrap_err();
    assert_eq!(error.to_string(), "n_fused = 0: must be at least 1");
}

#[test]
fn a_metric_that_is_none_ends_the_fit() {
    #[derive(Debug)]
    struct Broken;
    impl evmachine::Distance for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }
        fn distance(&self, _: &[f32], _: &[f32]) -> f32 {
            f32::NAN
        }
    }
    let (features, labels) = two();
    let params = Params { metric: evmachine::Metric::custom(Broken), ..base() };
    let error = Evm::fit(&params, &features, &labels).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the metric "broken" gave NaN; a distance must be finite and not negative"#
    );
}
