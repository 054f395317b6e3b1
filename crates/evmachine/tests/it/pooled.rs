//! All points share one curve: a sample of them is measured, and nothing else changes.

use crate::common::Random;
use evmachine::{
    Edit, Evm, Features, FitStatus, Labels, Metric, Params, Rejection, Run, TailMemory, TailSize, Weight,
};

const ROWS: usize = 6_000;

/// Overlapping clumps of ten classes in six dimensions, in no order of class.
fn drawn(rows: usize, seed: u64) -> (Features<'static>, Labels) {
    let mut random = Random(seed);
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let class = (row * 7) % 10;
        names.push(format!("{class}"));
        for k in 0..6 {
            let centre = ((class * (k + 3)) % 7) as f32;
            values.push(centre + 2.0 * (random.next() + random.next() + random.next()));
        }
    }
    (Features::new(values, 6).unwrap(), Labels::new(names).unwrap())
}

fn pooled() -> Params {
    Params { pooling: 1.0, tail_size: TailSize::Count(50), cover_threshold: 1.0, ..Params::paper() }
}

fn measured(evm: &Evm) -> usize {
    evm.extreme_vectors().filter(|vector| vector.psi.status != FitStatus::Pooled).count()
}

#[test]
fn about_two_thousand_rows_are_measured_and_the_order_of_queries_is_that_of_measuring_all() {
    let (features, labels) = drawn(ROWS, 1);
    let (queries, _) = drawn(500, 2);
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
        let params = Params { metric, ..pooled() };
        let (some, report) = Evm::fit(&params, &features, &labels).unwrap();
        assert!((1_850..2_150).contains(&measured(&some)), "{}", measured(&some));
        assert_eq!(report.fits.get(FitStatus::Pooled), ROWS - measured(&some));
        // As close to 1 as a number can be: every tail is measured.
        let every = Params { pooling: 1f64.next_down(), ..params };
        let (all, report) = Evm::fit(&every, &features, &labels).unwrap();
        assert_eq!((measured(&all), report.fits.get(FitStatus::Pooled)), (ROWS, 0));
        let curve = |evm: &Evm| evm.pooled_psi().next().unwrap();
        let (of_some, of_all) = (curve(&some), curve(&all));
        assert!((of_some.scale / of_all.scale - 1.0).abs() < 0.02, "{of_some:?} {of_all:?}");
        assert!((of_some.shape / of_all.shape - 1.0).abs() < 0.03, "{of_some:?} {of_all:?}");
        let order = |evm: &Evm| {
            let decisions = evm.decide(&queries).unwrap();
            let mut rows: Vec<usize> = (0..decisions.len()).collect();
            rows.sort_by(|&a, &b| decisions[a].score().support.total_cmp(&decisions[b].score().support));
            (decisions.iter().map(evmachine::Decision::best).collect::<Vec<_>>(), rows)
        };
        assert_eq!(order(&some), order(&all));
    }
}

#[test]
fn batches_give_the_model_of_all_rows_at_once() {
    let (features, labels) = drawn(ROWS, 3);
    let (whole, _) = Evm::fit(&pooled(), &features, &labels).unwrap();
    for cuts in [vec![0, 1_500, 1_501, ROWS], vec![0, 2_600, 2_603, 4_000, ROWS]] {
        let part = |from: usize, to: usize| {
            let rows: Vec<usize> = (from..to).collect();
            (features.select(&rows), labels.select(&rows))
        };
        let (first, first_labels) = part(0, cuts[1]);
        let (mut evm, _) = Evm::fit(&pooled(), &first, &first_labels).unwrap();
        for pair in cuts[1..].windows(2) {
            let (more, more_labels) = part(pair[0], pair[1]);
            evm.update(&more, &more_labels).unwrap();
        }
        let fits = |evm: &Evm| {
            let mut fits: Vec<_> = evm.extreme_vectors().map(|vector| (vector.source, vector.psi)).collect();
            fits.sort_by_key(|(source, _)| *source);
            fits
        };
        assert_eq!(fits(&evm), fits(&whole), "{cuts:?}");
    }
}

#[test]
fn every_memory_and_refit_keeps_to_what_was_measured() {
    let (features, labels) = drawn(ROWS, 4);
    let (more, more_labels) = drawn(300, 5);
    for tail_memory in [TailMemory::Full, TailMemory::Max, TailMemory::None] {
        let params = Params { tail_memory, ..pooled() };
        let (mut evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        let before = measured(&evm);
        let report = evm.update(&more, &more_labels).unwrap();
        assert!(report.refitted <= before, "{tail_memory:?}: {} of {before}", report.refitted);
        assert!((1_850..2_150).contains(&measured(&evm)), "{tail_memory:?}: {}", measured(&evm));
        let bytes = evm.to_bytes().unwrap();
        assert_eq!(Evm::from_bytes(&bytes).unwrap(), evm);
        evm.forget_class("3").unwrap();
        assert!(evm.decide(&more).unwrap().iter().any(|decision| decision.class().is_some()));
    }
}

#[test]
fn the_same_model_for_any_number_of_threads_and_tile() {
    let (features, labels) = drawn(ROWS, 6);
    let bytes = |threads: usize, run: Run<'_>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Evm::fit_with(&run, &pooled(), &features, &labels).unwrap().0.to_bytes().unwrap())
    };
    let expected = bytes(1, Run::new());
    assert_eq!(bytes(3, Run::new().tile(24, 96)), expected);
    assert_eq!(bytes(2, Run::new().memory(1 << 16)), expected);
}

#[test]
fn edits_leave_a_model_that_decides() {
    let (features, labels) = drawn(2_400, 7);
    let (mut evm, _) = Evm::fit(&pooled(), &features, &labels).unwrap();
    assert!(measured(&evm) < 2_400);
    // All rows that were measured are taken out, but those of two classes.
    let keep = |vector: &evmachine::ExtremeVector<'_>| vector.psi.status == FitStatus::Pooled;
    let gone: Vec<u64> =
        evm.extreme_vectors().filter(|vector| !keep(vector)).map(|vector| vector.source).collect();
    let left = evm.extreme_vectors().filter(keep).count();
    evm.edit(&Edit::Unlearn { rows: gone }).unwrap();
    assert_eq!((evm.extreme_vector_count(), measured(&evm)), (left, left), "others are measured instead");
    let known = evm.decide(&features).unwrap().iter().filter(|decision| decision.class().is_some()).count();
    assert!(known > 2_000, "{known}");
}

#[test]
fn rows_whose_margins_are_all_zero_are_all_measured() {
    // Every vector stands under two labels, so that no sample has an estimate.
    let values: Vec<f32> = (0..5_000).map(|row| 1.0 + (row / 2 % 5) as f32).collect();
    let labels = Labels::new((0..5_000).map(|row| format!("{}", row % 2))).unwrap();
    let features = Features::new(values, 1).unwrap();
    let (evm, _) =
        Evm::fit(&Params { tail_size: TailSize::Count(20), ..pooled() }, &features, &labels).unwrap();
    assert_eq!(measured(&evm), 5_000);
}

#[test]
fn the_robust_preset_measures_few_rows_in_both_of_its_spaces() {
    let (features, labels) = drawn(ROWS, 8);
    let robust = Params {
        logit_weight: Weight::Fixed(0.5),
        probe_weight: Weight::Fixed(1.0),
        forest_weight: Weight::Fixed(0.0),
        rejection_threshold: Rejection::DEFAULT,
        ..Params::robust().keeping_all()
    };
    let (mut evm, _) = Evm::fit(&robust, &features, &labels).unwrap();
    assert!(measured(&evm) < 2_150);
    let (more, more_labels) = drawn(1_000, 9);
    evm.update(&more, &more_labels).unwrap();
    assert!((1_500..2_150).contains(&measured(&evm)), "{}", measured(&evm));
    let rejected = evm.decide(&drawn(4_000, 10).0).unwrap().iter().filter(|d| d.class().is_none()).count();
    assert!((120..300).contains(&rejected), "5 % of 4,000 are promised, {rejected} were rejected");
}
