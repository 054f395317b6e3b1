//! What holds for approximate search, at sizes where all of it can be checked.

use crate::machine::sweep::NearVectors;
use crate::{Evm, Features, FitError, Labels, Metric, Params, Search, TailRecall, TailSize};
use evmachine_engine::distance;
use evmachine_engine::points::Points;
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::{Against, Near, Problem, Rows};

fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0
    }
}

/// Clumps in 3 directions of 10, each row `times` times, in classes by their centre; one column is constant.
fn clumps(seed: u64, rows: usize, times: usize) -> (Features<'static>, Labels) {
    let (mut random, d, centres) = (random(seed), 10, 60);
    let directions: Vec<f32> = (0..3 * d).map(|_| random() - 0.5).collect();
    let middles: Vec<f32> = (0..centres * 3).map(|_| 12.0 * random()).collect();
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for row in 0..rows / times {
        let centre = row * 7 % centres;
        let place: Vec<f32> = (0..3).map(|i| middles[centre * 3 + i] + 2.0 * random()).collect();
        let vector: Vec<f32> = (0..d)
            .map(|i| match i {
                4 => 1.0,
                _ => (0..3).map(|j| place[j] * directions[j * d + i]).sum::<f32>() + 0.05 * random(),
            })
            .collect();
        for _ in 0..times {
            values.extend_from_slice(&vector);
            names.push(format!("class {}", centre % 12));
        }
    }
    (Features::new(values, d).expect("finite"), Labels::new(names).expect("names"))
}

/// Every class and every row alike.
fn cloud(rows: usize, d: usize) -> (Features<'static>, Labels) {
    let mut random = random(3);
    let values: Vec<f32> = (0..rows * d).map(|_| random() + random() - 1.0).collect();
    let labels = Labels::new((0..rows).map(|row| format!("class {}", row % 5)));
    (Features::new(values, d).expect("finite"), labels.expect("names"))
}

/// The tails of all rows, exact and found, and what was promised of them.
fn tails(
    metric: &Metric,
    features: &Features<'_>,
    labels: &Labels,
    asked: f64,
) -> (Vec<[Vec<f32>; 2]>, TailRecall) {
    let points = Points::prepare(features, metric).expect("no zeros");
    let mut order: Vec<usize> = (0..features.rows()).collect();
    order.sort_by_key(|&row| labels.ids()[row]);
    let classes: Vec<u32> = order.iter().map(|&row| labels.ids()[row]).collect();
    let start = |class: u32| classes.partition_point(|&other| other < class);
    let own: Vec<_> = (0..labels.names().len() as u32).map(|class| start(class)..start(class + 1)).collect();
    let columns = distance::columns(metric, &points, &order);
    let against = [Against { columns: columns.as_ref(), own: &own }];
    let (run, sizes) = (Run::new(), vec![25; own.len()]);
    let rows = Rows::new(&points, &order, &classes).among_themselves();
    let problem = Problem::new((&run, Stage::Tails), metric, rows, &against, &sizes);
    let exact = problem.tails(|_, tail, (): &mut ()| tail.to_vec()).expect("not stopped");
    let near = Near::measured(&problem, asked).expect("within a quarter of the pairs");
    let found = near.tails(|_, tail, (): &mut ()| tail.to_vec()).expect("not stopped");
    let psi = crate::PsiModel { shape: 1.0, scale: 1.0, shift: 0.0, status: crate::FitStatus::Converged };
    let recall = near.recall(crate::TailModel::Weibull, |_, _| psi, |_| &psi).expect("measured");
    (exact.into_iter().zip(found).map(|(exact, found)| [exact, found]).collect(), recall)
}

#[test]
fn what_is_promised_of_tails_holds_for_all_rows() {
    for (metric, asked, seed, times) in [
        (Metric::Euclidean, 0.95, 1, 1),
        (Metric::Euclidean, 0.99, 2, 1),
        (Metric::Cosine, 0.95, 3, 1),
        (Metric::Manhattan, 0.9, 4, 1),
        (Metric::Euclidean, 0.9, 5, 3),
    ] {
        let what = format!("{metric:?} {asked} {seed}");
        let (features, labels) = clumps(seed, 9_000, times);
        let (tails, recall) = tails(&metric, &features, &labels, asked);
        let mut sum = 0.0;
        for [exact, found] in &tails {
            assert_eq!(exact.len(), found.len(), "{what}");
            assert!(
                exact.iter().zip(found).all(|(exact, found)| exact <= found),
                "{what}: measured is exact"
            );
            let last = exact[exact.len() - 1];
            sum += found.iter().filter(|&&value| value <= last).count() as f64 / exact.len() as f64;
        }
        let all = sum / tails.len() as f64;
        assert!(all >= asked, "{what}: {all} of all, {recall}");
        assert!(recall.at_least >= asked && recall.measured > recall.at_least, "{what}: {recall}");
        assert!(recall.share < 0.2, "{what}: {recall}");
        // Of equal distances the sample counts some, all rows any.
        assert!(all > recall.measured - 0.01, "{what}: {all} {recall}");
        assert!(times > 1 || all < recall.measured + 0.01, "{what}: {all} {recall}");
    }
}

#[test]
fn threads_and_tiles_change_no_byte_of_a_model_that_was_searched_approximately() {
    let (features, labels) = clumps(7, 6_000, 1);
    let params =
        Params { tail_size: TailSize::Count(20), search: Search::Approximate(0.95), ..Params::paper() };
    let fit = |threads: usize, rows: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let run = Run::new().approximate_from(500).tile(rows, 4 * rows);
        let (evm, report) =
            pool.install(|| Evm::fit_with(&run, &params, &features, &labels)).expect("good data");
        (evm.to_bytes().expect("a metric of our own"), report.recall.expect("measured"))
    };
    let (expected, recall) = fit(1, 120);
    assert!(recall.psi_error > 0.0 && recall.psi_error < 0.5, "{recall}");
    assert!(recall.scale_error > 0.0 && recall.scale_error < 0.02, "{recall}");
    assert!(recall.shape_error > 0.0 && recall.shape_error < 0.1, "{recall}");
    for (threads, rows) in [(3, 120), (2, 17)] {
        let (found, same) = fit(threads, rows);
        assert!(found == expected, "{threads} threads, {rows} rows");
        assert_eq!(same, recall);
    }
    let kept = Evm::from_bytes(&expected).expect("a model");
    assert_eq!(kept.params().search, Search::Approximate(0.95));
}

#[test]
fn tails_beyond_the_limit_are_not_measured_again() {
    let (features, labels) = clumps(8, 4_000, 1);
    let params = Params {
        tail_size: TailSize::Count(20),
        tail_memory_limit: 4_000,
        search: Search::Approximate(0.9),
        ..Params::paper()
    };
    let (evm, report) =
        Evm::fit_with(&Run::new().approximate_from(500), &params, &features, &labels).expect("good data");
    assert_eq!(report.tail_memory, crate::TailMemory::Max);
    assert!(Evm::from_bytes(&evm.to_bytes().expect("bytes")).expect("whole") == evm);
}

#[test]
fn a_recall_that_takes_too_many_pairs_is_refused() {
    let refused = |features: &Features<'_>, labels: &Labels, tail: usize, asked: f64| {
        let params = Params {
            tail_size: TailSize::Count(tail),
            search: Search::Approximate(asked),
            ..Params::paper()
        };
        Evm::fit_with(&Run::new().approximate_from(500), &params, features, labels).expect_err("too much")
    };
    let (features, labels) = cloud(3_000, 40);
    let FitError::RecallNotReached { asked, reached } = refused(&features, &labels, 30, 0.99) else {
        panic!("another error")
    };
    assert!(asked == 0.99 && reached > 0.1 && reached < 0.99, "{reached}");
    // What was said to be reached is.
    let params = Params {
        tail_size: TailSize::Count(30),
        search: Search::Approximate(reached - 0.01),
        ..Params::paper()
    };
    assert!(Evm::fit_with(&Run::new().approximate_from(500), &params, &features, &labels).is_ok());
    let long = refused(&features, &labels, 1_000, 0.5);
    assert_eq!(long, FitError::TailsTooLong { tail: 1_000, negatives: 2_400 });
    // All rows lie in one cell.
    let equal = Features::new(vec![1.0; 2_000], 2).expect("finite");
    let labels = Labels::new((0..1_000).map(|row| if row < 500 { "a" } else { "b" })).expect("names");
    assert_eq!(refused(&equal, &labels, 5, 0.9), FitError::RecallNotReached { asked: 0.9, reached: 0.0 });
}

#[test]
fn few_rows_and_a_class_that_is_alone_are_searched_exactly() {
    let (features, labels) = clumps(9, 900, 1);
    let exact = Params { tail_size: TailSize::Count(20), ..Params::plain() };
    let params = Params { search: Search::Approximate(0.9), ..exact.clone() };
    let (mut evm, report) = Evm::fit(&params, &features, &labels).expect("good data");
    assert_eq!(report.recall, None);
    evm.set_search(Search::Exact).expect("no rule against it");
    assert!(evm == Evm::fit(&exact, &features, &labels).expect("good data").0);
    let alone = Labels::new((0..900).map(|_| "one")).expect("names");
    let run = Run::new().approximate_from(500);
    let (evm, report) = Evm::fit_with(&run, &params, &features, &alone).expect("good data");
    assert_eq!((report.recall, report.alone.as_deref()), (None, Some("one")));
    assert_eq!(evm.decision_recall().expect("features"), None);
}

/// A model that keeps all rows, and queries like them and beyond them.
fn model(n_fused: usize, contrast: f64) -> (Evm, Features<'static>) {
    let (features, labels) = clumps(11, 6_000, 1);
    let params = Params {
        tail_size: TailSize::Count(20),
        cover_threshold: 1.0,
        n_fused,
        contrast,
        search: Search::Approximate(0.97),
        ..Params::plain()
    };
    let (evm, _) = Evm::fit(&params, &features, &labels).expect("good data");
    let mut queries = clumps(11, 9_000, 1).0.select(&(6_000..9_000).collect::<Vec<_>>()).into_values();
    queries.extend(features.values().iter().step_by(9).take(4_000).map(|value| 1.3 * value));
    (evm, Features::new(queries, 10).expect("finite"))
}

#[test]
fn decisions_over_all_cells_are_those_over_all_extreme_vectors() {
    for (n_fused, contrast) in [(1, 0.0), (3, 0.2)] {
        let (mut evm, queries) = model(n_fused, contrast);
        let whole = NearVectors::whole(evm.machine()).expect("a metric of our own");
        evm.machine.cached_near_vectors(|| Ok::<_, FitError>(Some(whole))).expect("made");
        let (found, scores) = (evm.decide(&queries).expect("features"), evm.probabilities(&queries));
        evm.set_search(Search::Exact).expect("no rule against it");
        assert_eq!(found, evm.decide(&queries).expect("features"), "{n_fused}");
        assert_eq!(scores, evm.probabilities(&queries), "{n_fused}");
    }
}

#[test]
fn what_is_promised_of_decisions_holds_for_new_queries() {
    for (n_fused, contrast) in [(1, 0.0), (3, 0.2)] {
        let (mut evm, queries) = model(n_fused, contrast);
        let few = Run::new().approximate_from(1);
        assert!(evm.near_vectors(&few).expect("features").is_some(), "few are enough");
        let recall = evm.decision_recall().expect("features").expect("measured");
        assert!(recall.at_least >= 0.97 && recall.share < 0.2, "{recall}");
        let found = evm.decide(&queries).expect("features");
        evm.set_search(Search::Exact).expect("no rule against it");
        assert_eq!(evm.decision_recall().expect("features"), None);
        let exact = evm.decide(&queries).expect("features");
        let same = found.iter().zip(&exact).filter(|(a, b)| a.class() == b.class()).count();
        let share = same as f64 / exact.len() as f64;
        assert!(share >= 0.97, "{n_fused}: {share}, {recall}");
        let known = exact.iter().filter(|decision| decision.class().is_some()).count();
        assert!(known > 1_000 && known < exact.len() - 100, "{known} of {}", exact.len());
    }
}
