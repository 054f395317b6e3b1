//! What holds for every training set, metric and tail model.

use crate::common::{Random, Set, any_params, any_set};
use evmachine::{Evm, Features, Labels, Params, Run, TailMemory, TailSize};
use proptest::prelude::*;

fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// (class name, psi's bits, source's vector) of every extreme vector, sorted.
fn as_set(evm: &Evm) -> Vec<(String, [u64; 3], Vec<u32>)> {
    let mut all: Vec<_> = evm
        .extreme_vectors()
        .map(|vector| {
            (
                evm.class_name(vector.class).to_owned(),
                [vector.psi.shape.to_bits(), vector.psi.scale.to_bits(), vector.psi.shift.to_bits()],
                vector.vector.iter().map(|value| value.to_bits()).collect(),
            )
        })
        .collect();
    all.sort();
    all
}

fn learn_in_batches(run: &Run<'_>, set: &Set, params: &Params, cuts: &[usize]) -> Evm {
    let mut bounds: Vec<usize> = cuts.iter().map(|cut| cut % set.len()).chain([0, set.len()]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut model: Option<Evm> = None;
    let mut start = 0;
    for &end in &bounds[1..] {
        let rows: Vec<usize> = (start..end).collect();
        let batch = set.rows(&rows);
        match &mut model {
            Some(model) => {
                model.update_with(run, &batch.features, &batch.labels).unwrap();
            }
            // The first batch must have two classes; it grows until it does.
            None if batch.labels.names().len() < 2 => continue,
            None => model = Some(batch.fit(params)),
        }
        start = end;
    }
    model.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_training_point_is_rejected_at_or_below_the_cover_threshold(
        set in any_set(), params in any_params(), below in 0f64..=1.0,
    ) {
        // Without smoothing, with k = 1. psi at distance 0 is at least 1 - 1/e in every tail model, and the
        // thresholds drawn lie below that.
        let params = Params { rejection_threshold: (params.cover_threshold * below).into(), ..params };
        let evm = set.fit(&params);
        for decision in evm.decide(&set.features).unwrap() {
            prop_assert!(decision.class().is_some(), "{decision:?}");
        }
    }

    #[test]
    fn for_weibull_that_holds_at_every_threshold(set in any_set(), params in any_params(), threshold in 0.001f64..=1.0) {
        let params = Params {
            tail_model: evmachine::TailModel::Weibull,
            cover_threshold: threshold,
            rejection_threshold: threshold.into(),
            ..params
        };
        let evm = set.fit(&params);
        prop_assert!(evm.decide(&set.features).unwrap().iter().all(|decision| decision.class().is_some()));
    }

    #[test]
    fn every_point_is_covered_by_its_own_class(set in any_set(), params in any_params()) {
        let evm = set.fit(&params);
        let classes = evm.classes().len();
        let probabilities = evm.probabilities(&set.features).unwrap();
        for (row, probabilities) in probabilities.chunks_exact(classes).enumerate() {
            let own = evm.class_index(set.labels.name(row)).unwrap();
            prop_assert!(probabilities[own] >= params.cover_threshold - 1e-9, "row {row}: {probabilities:?}");
            prop_assert!(probabilities.iter().all(|p| (0.0..=1.0).contains(p)));
        }
    }

    #[test]
    fn contrast_raises_the_best_class_by_its_lead_and_never_another(
        set in any_set(), params in any_params(), contrast in 0f64..2.0, shift in -1f32..1.0,
    ) {
        let params = Params { tail_model: evmachine::TailModel::Weibull, ..params };
        let (plain, contrasted) = (set.fit(&params), set.fit(&Params { contrast, ..params }));
        let queries: Vec<f32> = set.features.values().iter().map(|value| value + shift).collect();
        let queries = Features::new(queries, set.features.columns()).unwrap();
        let decisions = plain.map_queries(&queries, |_, scores| {
            let mut supports: Vec<f64> = scores.iter().map(|score| score.support).collect();
            supports.sort_by(|a, b| b.total_cmp(a));
            (plain.decision(scores), contrasted.decision(scores), supports)
        });
        for (plain, contrasted, supports) in decisions.unwrap() {
            prop_assert_eq!(plain.best(), contrasted.best());
            prop_assert!(plain.class().is_none() || contrasted.class().is_some());
            let lead = supports[0] - supports[1];
            let expected = if lead.is_finite() { supports[0] + contrast * lead } else { supports[0] };
            prop_assert_eq!(contrasted.score().support, expected);
        }
    }

    #[test]
    fn smoothed_points_cover_the_rows_they_came_from(
        set in any_set(), params in any_params(), smoothing in 0.1f64..=1.0,
    ) {
        let params = Params { smoothing, smoothing_neighbors: 4, ..params };
        let evm = set.fit(&params);
        let classes = evm.classes().len();
        let kept: Vec<u64> = evm.extreme_vectors().map(|vector| vector.source).collect();
        let probabilities = evm.probabilities(&set.features).unwrap();
        for (row, probabilities) in probabilities.chunks_exact(classes).enumerate() {
            let own = evm.class_index(set.labels.name(row)).unwrap();
            // A row that is kept itself is covered by that alone.
            let covered = probabilities[own] >= params.cover_threshold - 1e-9;
            prop_assert!(covered || kept.contains(&(row as u64)), "row {row}: {probabilities:?}");
        }
    }

    #[test]
    fn no_extreme_vector_is_chosen_twice(set in any_set(), params in any_params()) {
        let evm = set.fit(&params);
        let mut sources: Vec<u64> = evm.extreme_vectors().map(|vector| vector.source).collect();
        let count = sources.len();
        sources.sort_unstable();
        sources.dedup();
        prop_assert_eq!(sources.len(), count);
        prop_assert!(count <= set.len());
    }

    #[test]
    fn threads_tiles_and_memory_change_nothing(
        set in any_set(), params in any_params(), smoothing in prop::sample::select(vec![0.0, 0.5]),
        tile in (1usize..50, 1usize..80), memory in prop::sample::select(vec![0usize, 500, 1 << 30]),
    ) {
        let params = Params { smoothing, smoothing_neighbors: 3, ..params };
        let one = with_threads(1, || set.fit(&params)).to_bytes().unwrap();
        let run = Run::new().tile(tile.0, tile.1).memory(memory);
        let fit = || Evm::fit_with(&run, &params, &set.features, &set.labels).unwrap().0;
        let other = with_threads(3, fit);
        let (queries, single) = (&set.features, set.features.select(&[0]));
        for queries in [queries, &single] {
            let tiled = with_threads(3, || other.decide_with(&run, queries).unwrap());
            prop_assert_eq!(tiled, with_threads(1, || other.decide(queries).unwrap()));
        }
        prop_assert!(one == other.to_bytes().unwrap(), "the bytes of the model files differ");
    }

    #[test]
    fn batches_give_the_model_of_one_fit(
        set in any_set(), params in any_params(), cuts in prop::collection::vec(any::<usize>(), 0..5),
        size in 1usize..40, threads in 1usize..4, memory in prop::sample::select(vec![0usize, 1 << 30]),
        columns in 1usize..80,
    ) {
        // The matrix of whitening is that of the first batch.
        let params = Params { cover_threshold: 1.0, tail_size: TailSize::Count(size), whitening: 0.0, ..params };
        let whole = set.fit(&params).to_bytes().unwrap();
        let run = Run::new().memory(memory).tile(12, columns);
        let parts = with_threads(threads, || learn_in_batches(&run, &set, &params, &cuts));
        let parts = parts.to_bytes().unwrap();
        prop_assert!(whole == parts, "the bytes of the model files differ");
    }

    #[test]
    fn with_smoothing_batches_of_whole_classes_give_the_model_of_one_fit(
        set in any_set(), params in any_params(), size in 1usize..40, neighbors in 1usize..6,
    ) {
        let params = Params {
            cover_threshold: 1.0, tail_size: TailSize::Count(size), smoothing: 0.7, smoothing_neighbors: neighbors,
            whitening: 0.0, ..params
        };
        // Rows in order of class; the first two classes make the first batch, each other class one of its own.
        let mut rows: Vec<usize> = (0..set.len()).collect();
        rows.sort_by_key(|&row| set.labels.ids()[row]);
        let set = set.rows(&rows);
        let starts = (2..set.labels.names().len() as u32).map(|class| {
            set.labels.ids().iter().position(|&id| id == class).unwrap()
        });
        let parts = learn_in_batches(&Run::new(), &set, &params, &starts.collect::<Vec<_>>()).to_bytes().unwrap();
        prop_assert!(set.fit(&params).to_bytes().unwrap() == parts, "the bytes of the model files differ");
    }

    #[test]
    fn a_permutation_changes_the_order_alone(set in any_set(), params in any_params(), seed in any::<u64>()) {
        // With every point kept: among equally good covers the choice goes by index. Sums of a covariance are rounded
        // in the order of the rows.
        let params = Params { cover_threshold: 1.0, pooling: 0.0, whitening: 0.0, ..params };
        let mut random = crate::common::Random(seed);
        let mut rows: Vec<(u32, usize)> = (0..set.len()).map(|row| ((random.next() * 1e6) as u32, row)).collect();
        rows.sort_unstable();
        let rows: Vec<usize> = rows.into_iter().map(|(_, row)| row).collect();
        let (one, other) = (set.fit(&params), set.rows(&rows).fit(&params));
        prop_assert_eq!(as_set(&one), as_set(&other));
    }

    #[test]
    fn the_unit_does_not_matter(set in any_set(), params in any_params(), exponent in -12i32..12) {
        let params = Params { pooling: 0.0, ..params };
        prop_assume!(params.tail_model != evmachine::TailModel::Libmr);
        let unit = 2f32.powi(exponent);
        let values: Vec<f32> = set.features.values().iter().map(|value| value * unit).collect();
        let scaled = Set { features: Features::new(values, set.features.columns()).unwrap(), labels: set.labels.clone() };
        let (one, other) = (set.fit(&params), scaled.fit(&params));
        prop_assert_eq!(one.decide(&set.features).unwrap(), other.decide(&scaled.features).unwrap());
    }

    #[test]
    fn one_query_at_a_time_is_the_same_as_all_at_once(set in any_set(), params in any_params(), k in 1usize..5) {
        let evm = set.fit(&Params { n_fused: k, ..params });
        let all = evm.decide(&set.features).unwrap();
        for (row, decision) in all.iter().enumerate() {
            prop_assert_eq!(&evm.decide(&set.features.select(&[row])).unwrap()[0], decision);
        }
    }

    #[test]
    fn less_tail_memory_changes_what_an_update_knows_not_what_a_fit_gives(set in any_set(), params in any_params()) {
        let full = set.fit(&params);
        for memory in [TailMemory::Max, TailMemory::None] {
            let less = set.fit(&Params { tail_memory: memory, ..params.clone() });
            prop_assert_eq!(as_set(&full), as_set(&less));
        }
        let limited = set.fit(&Params { tail_memory_limit: 0, ..params.clone() });
        prop_assert_eq!(limited.tail_memory(), TailMemory::Max);
        prop_assert_eq!(as_set(&full), as_set(&limited));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With memory for all tails, each distance between wide points is computed once; without, twice.
    #[test]
    fn distances_computed_once_or_twice_give_the_same_model(
        params in any_params(), rows in 200usize..900, classes in 2usize..9, lopsided in any::<bool>(),
        threads in 1usize..4, seed in any::<u64>(),
    ) {
        let mut random = Random(seed);
        let mut values = Vec::new();
        let mut names = Vec::new();
        for row in 0..rows {
            let drawn = random.next();
            let class = if row < classes { row } else {
                ((if lopsided { drawn.powi(4) } else { drawn }) * classes as f32) as usize
            };
            names.push(class.to_string());
            values.extend((0..40).map(|_| 1.0 + class as f32 * 0.3 + (random.next() * 6.0).round()));
        }
        let set = Set { features: Features::new(values, 40).unwrap(), labels: Labels::new(names).unwrap() };
        let fit = |memory: usize| {
            let run = Run::new().memory(memory);
            Evm::fit_with(&run, &params, &set.features, &set.labels).unwrap().0.to_bytes().unwrap()
        };
        let (twice, once) = (fit(0), with_threads(threads, || fit(1 << 30)));
        prop_assert!(twice == once, "the bytes of the model files differ");
    }
}
