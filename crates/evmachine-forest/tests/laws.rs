//! What holds for every forest, and rows that are hard to grow one from.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::ops::ControlFlow;

use evmachine_engine::{Features, Run, RunError, Stage};
use evmachine_forest::{
    Boosted, BoostedOptions, ColumnsTried, Forest, ForestArrays, ForestError, ForestOptions, LeafIndex,
};
use proptest::prelude::*;

/// Rows of small whole numbers, so that values are often equal, and their classes.
fn drawn() -> impl Strategy<Value = (Vec<f32>, usize, Vec<u32>)> {
    (1usize..60, 1usize..6).prop_flat_map(|(rows, columns)| {
        let values = prop::collection::vec((-4i8..5).prop_map(f32::from), rows * columns);
        (values, Just(columns), prop::collection::vec(0u32..4, rows))
    })
}

fn kinds() -> [ForestOptions; 3] {
    let extra = ForestOptions { trees: 12, seed: 9, ..ForestOptions::extra_trees() };
    let bagged = ForestOptions { bootstrap: true, min_samples_leaf: 2, ..extra.clone() };
    [extra, bagged, ForestOptions { trees: 12, ..ForestOptions::random_forest() }]
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn threads_change_nothing_and_arrays_keep_everything((values, columns, labels) in drawn()) {
        let features = Features::new(values, columns).unwrap();
        for options in kinds() {
            let fit = || Forest::fit(&Run::new(), &features, &labels, 4, &options).unwrap();
            let forest = with_threads(1, fit);
            let other = with_threads(3, fit);
            prop_assert_eq!(ForestArrays::from(&forest), ForestArrays::from(&other));
            let one = with_threads(1, || forest.probabilities(&features).unwrap());
            prop_assert_eq!(&one, &with_threads(3, || other.probabilities(&features).unwrap()));
            let mut alone = Vec::new();
            for (row, together) in features.iter().zip(one.chunks_exact(forest.classes())) {
                forest.probabilities_of_one(row, &mut alone).unwrap();
                prop_assert_eq!(&alone[..], together, "one row alone");
            }
            for row in one.chunks_exact(4) {
                prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-6);
            }
            let read = Forest::try_from(ForestArrays::from(&forest)).unwrap();
            prop_assert_eq!(read, forest);
        }
        let options = BoostedOptions { rounds: 5, min_samples_leaf: 3, ..BoostedOptions::default() };
        let fit = || Boosted::fit(&Run::new(), &features, &labels, 4, &options).unwrap();
        let boosted = with_threads(1, fit);
        prop_assert_eq!(&boosted, &with_threads(3, fit));
        for row in boosted.probabilities(&features).unwrap().chunks_exact(4) {
            prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn grown_out_trees_know_rows_that_differ((values, columns, labels) in drawn()) {
        let features = Features::new(values, columns).unwrap();
        let options = &kinds()[0];
        let forest = Forest::fit(&Run::new(), &features, &labels, 4, options).unwrap();
        let found = forest.probabilities(&features).unwrap();
        for row in 0..features.rows() {
            // The share of its class among rows that equal it: nothing else tells them apart.
            let equal = (0..features.rows()).filter(|&other| features.row(other) == features.row(row));
            let (own, all) = equal.fold((0.0, 0.0), |(own, all), other| {
                (own + f64::from(u8::from(labels[other] == labels[row])), all + 1.0)
            });
            prop_assert!((found[row * 4 + labels[row] as usize] - own / all).abs() < 1e-6);
        }
    }

    #[test]
    fn the_index_counts_shared_leaves((values, columns, labels) in drawn()) {
        let features = Features::new(values, columns).unwrap();
        let forest = Forest::fit(&Run::new(), &features, &labels, 4, &kinds()[1]).unwrap();
        let leaves = forest.leaves(&features).unwrap();
        let index = LeafIndex::new(&forest, &leaves).unwrap();
        for own in leaves.chunks_exact(forest.trees()) {
            let pairs = leaves.chunks_exact(forest.trees()).map(|other| {
                let unlike = own.iter().zip(other).filter(|(a, b)| a != b).count();
                unlike as f32 / forest.trees() as f32
            });
            prop_assert_eq!(index.distances(own), pairs.collect::<Vec<f32>>());
        }
    }
}

#[test]
fn one_row_one_class_and_constant_columns_are_no_obstacle() {
    let run = Run::new();
    let one = Features::new(vec![3.0, 4.0], 2).unwrap();
    let same = Features::new(vec![7.0; 12], 3).unwrap();
    for options in kinds() {
        let forest = Forest::fit(&run, &one, &[1], 3, &options).unwrap();
        assert_eq!(forest.probabilities(&one).unwrap(), [0.0, 1.0, 0.0]);
        let forest = Forest::fit(&run, &same, &[0, 0, 0, 0], 1, &options).unwrap();
        assert_eq!(forest.probabilities(&same).unwrap(), [1.0; 4]);
        let forest = Forest::fit(&run, &same, &[0, 1, 0, 0], 2, &options).unwrap();
        assert_eq!(forest.leaf_count(), options.trees);
    }
    let options = BoostedOptions::default();
    assert_eq!(
        Boosted::fit(&run, &one, &[1], 3, &options).unwrap().probabilities(&one).unwrap(),
        [0.0, 1.0, 0.0]
    );
    let boosted = Boosted::fit(&run, &same, &[0, 2, 0, 0], 3, &options).unwrap();
    let found = boosted.probabilities(&same).unwrap();
    assert!((found[0] - 0.75).abs() < 1e-6 && found[1] == 0.0, "{found:?}");
}

#[test]
fn values_on_the_threshold_go_left_and_large_ones_are_no_obstacle() {
    let run = Run::new();
    let features = Features::new(vec![-1e15, 1e15, 0.0, 1e15, -1e15, 0.0], 1).unwrap();
    let labels = [0, 2, 1, 2, 0, 1];
    for options in kinds().into_iter().filter(|options| !options.bootstrap) {
        let forest = Forest::fit(&run, &features, &labels, 3, &options).unwrap();
        let found = forest.probabilities(&features).unwrap();
        assert!(labels.iter().zip(found.chunks_exact(3)).all(|(&class, row)| row[class as usize] == 1.0));
        let arrays = ForestArrays::from(&forest);
        let threshold = arrays.threshold[0];
        let at = Features::new(vec![threshold, threshold.next_up()], 1).unwrap();
        let leaves = forest.leaves(&at).unwrap();
        assert_ne!(leaves[0], leaves[options.trees], "the tree divides between the two");
    }
}

#[test]
fn depth_leaves_and_columns_keep_to_the_options() {
    let features = Features::new((0..200u16).map(|value| f32::from(value * 37 % 101)).collect::<Vec<_>>(), 2);
    let features = features.unwrap();
    let labels: Vec<u32> = (0..100).map(|row| row % 3).collect();
    let grow = |options: ForestOptions| Forest::fit(&Run::new(), &features, &labels, 3, &options).unwrap();
    let stumps = ForestOptions { max_depth: Some(1), ..kinds()[0].clone() };
    assert_eq!(grow(stumps).leaf_count(), 24);
    let large = ForestOptions { min_samples_leaf: 20, columns: ColumnsTried::All, ..kinds()[0].clone() };
    let forest = grow(large);
    let mut counts = vec![0; forest.leaf_count()];
    forest.leaves(&features).unwrap().iter().for_each(|&leaf| counts[leaf as usize] += 1);
    assert!(counts.iter().all(|&count| count >= 20), "{counts:?}");
    assert_ne!(grow(kinds()[0].clone()), grow(ForestOptions { seed: 10, ..kinds()[0].clone() }));
}

#[test]
fn rows_out_of_the_bag_are_judged_by_trees_that_do_not_know_them() {
    // Labels that nothing explains: a tree that knows a row is right about it, one that does not is wrong half of the time.
    let features = Features::new((0..200u16).map(|value| f32::from(value * 73 % 199)).collect::<Vec<_>>(), 1);
    let features = features.unwrap();
    let mixed = |row: u32| {
        let mixed = row.wrapping_mul(0x9e37_79b1);
        (mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca77)
    };
    let labels: Vec<u32> = (0..200).map(|row| (mixed(row) ^ (mixed(row) >> 13)) & 1).collect();
    let options = ForestOptions { trees: 100, ..ForestOptions::random_forest() };
    let forest = Forest::fit(&Run::new(), &features, &labels, 2, &options).unwrap();
    let right = |found: Vec<f64>| {
        let own = found.chunks_exact(2).zip(&labels).map(|(row, &class)| row[class as usize]);
        own.sum::<f64>() / 200.0
    };
    assert!(right(forest.probabilities(&features).unwrap()) > 0.75);
    let out = right(forest.out_of_bag(&features, &labels, &options).unwrap());
    assert!((0.3..0.65).contains(&out), "{out}");
    let extra = ForestOptions { trees: 100, ..ForestOptions::extra_trees() };
    assert!(forest.out_of_bag(&features, &labels, &extra).is_err());
}

#[test]
fn a_long_run_of_rounds_ends_when_held_out_rows_gain_no_more() {
    let features = Features::new((0..400u16).map(|value| f32::from(value * 73 % 397)).collect::<Vec<_>>(), 1);
    let features = features.unwrap();
    let labels: Vec<u32> = features
        .iter()
        .zip(0u32..)
        .map(|(row, at)| u32::from(row[0] > 200.0) ^ u32::from(at % 9 == 0))
        .collect();
    let options = BoostedOptions { rounds: 300, stop_early_above: 399, ..BoostedOptions::default() };
    let boosted = Boosted::fit(&Run::new(), &features, &labels, 2, &options).unwrap();
    assert!((11..200).contains(&boosted.trees()), "{}", boosted.trees());
}

#[test]
fn what_is_wrong_is_named() {
    let features = Features::new(vec![0.0, 1.0, 2.0], 1).unwrap();
    let extra = ForestOptions::extra_trees();
    let grow = |labels: &[u32], options: &ForestOptions| {
        Forest::fit(&Run::new(), &features, labels, 2, options).unwrap_err().to_string()
    };
    assert_eq!(grow(&[0, 1], &extra), "labels of the training rows: 2 where 3 belong");
    assert_eq!(grow(&[0, 1, 2], &extra), "row 2: class 2, but classes are numbered from 0 to 1");
    assert_eq!(
        grow(&[0, 1, 1], &ForestOptions { trees: 0, ..extra.clone() }),
        "trees is 0; it must be at least 1"
    );
    let none = Features::new(vec![], 1).unwrap();
    assert_eq!(Forest::fit(&Run::new(), &none, &[], 2, &extra).unwrap_err(), ForestError::NoRows);
    let slow = BoostedOptions { learning_rate: f64::NAN, ..BoostedOptions::default() };
    assert!(Boosted::fit(&Run::new(), &features, &[0, 1, 1], 2, &slow).is_err());
    let stop = |stage: Stage, _: u64, _: u64| {
        assert_eq!(stage, Stage::Forest);
        ControlFlow::Break(())
    };
    let stopped = Forest::fit(&Run::new().observer(&stop), &features, &[0, 1, 1], 2, &extra);
    assert_eq!(stopped.unwrap_err(), ForestError::Run(RunError::Stopped));
    let forest = Forest::fit(&Run::new(), &features, &[0, 1, 1], 2, &extra).unwrap();
    let wide = Features::new(vec![0.0, 1.0], 2).unwrap();
    assert_eq!(forest.probabilities(&wide).unwrap_err().to_string(), "columns of the rows: 2 where 1 belong");
}

#[test]
fn arrays_in_which_a_row_could_lose_its_way_are_refused() {
    let features = Features::new(vec![0.0, 1.0, 2.0, 3.0], 1).unwrap();
    let options = ForestOptions { trees: 2, ..ForestOptions::extra_trees() };
    let forest = Forest::fit(&Run::new(), &features, &[0, 1, 0, 1], 2, &options).unwrap();
    let good = ForestArrays::from(&forest);
    let spoiled: [fn(&mut ForestArrays); 10] = [
        |arrays| arrays.right[0] = 0,
        |arrays| arrays.right[0] = u32::MAX,
        |arrays| arrays.right[0] = arrays.roots[1],
        |arrays| arrays.column[0] = 1,
        |arrays| arrays.threshold[0] = f32::NAN,
        |arrays| arrays.roots[1] = u32::MAX,
        |arrays| arrays.roots.clear(),
        |arrays| arrays.leaf_classes[0] = 2,
        |arrays| arrays.leaf_shares[0] = 1.5,
        |arrays| arrays.leaf_ends[0] = u32::MAX,
    ];
    for spoil in spoiled {
        let mut arrays = good.clone();
        spoil(&mut arrays);
        assert!(matches!(Forest::try_from(arrays), Err(ForestError::Arrays(_))));
    }
    let mut short = good.clone();
    short.threshold.pop();
    assert!(Forest::try_from(short).is_err());
    assert_eq!(Forest::try_from(good).unwrap(), forest);
}
