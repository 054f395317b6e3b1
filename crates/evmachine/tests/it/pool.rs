//! The open-world loop: detect, choose, label, update.

use std::collections::{BTreeMap, BTreeSet};

use evmachine::{
    Evm, FeatureError, Features, Grouping, Labels, Membership, Params, PoolError, Run, RunError, Strategy,
    UnknownPool,
};

use crate::common::Random;

/// Two known clumps, and a stream with three more: 30, 20 and 10 points.
fn world() -> (Evm, Features<'static>) {
    let mut random = Random(11);
    let mut clump = |x: f32, y: f32, rows: usize| -> Vec<f32> {
        (0..rows).flat_map(|_| [x + random.next(), y + random.next()]).collect()
    };
    let train = [clump(0.0, 0.0, 40), clump(5.0, 0.0, 40)].concat();
    let labels = Labels::new((0..80).map(|row| if row < 40 { "a" } else { "b" })).unwrap();
    let (evm, _) = Evm::fit(&Params::paper(), &Features::new(train, 2).unwrap(), &labels).unwrap();
    let stream =
        [clump(0.0, 30.0, 30), clump(30.0, 30.0, 20), clump(30.0, 0.0, 10), clump(0.0, 0.0, 10)].concat();
    (evm, Features::new(stream, 2).unwrap())
}

#[test]
fn coverage_asks_for_the_largest_group_first_and_one_label_serves_it() {
    let (mut evm, stream) = world();
    let mut pool = UnknownPool::new(2);
    let added = pool.add_unknown(&evm, &stream).unwrap();
    assert!(added.len() >= 60 && added.len() <= 62, "the last ten are known: {}", added.len());

    let suggestions = pool.suggest(&evm, Strategy::Coverage, 3).unwrap();
    let sizes: Vec<usize> = suggestions.iter().map(|suggestion| suggestion.group.len()).collect();
    assert_eq!(sizes, [30, 20, 10], "one suggestion explains each clump");
    for (suggestion, name) in suggestions.iter().zip(["c", "d", "e"]) {
        assert_eq!(suggestion.group[0], suggestion.sample);
        pool.label(&suggestion.group, name).unwrap();
    }
    assert!(pool.suggest(&evm, Strategy::Coverage, 3).unwrap().len() <= 2, "only strays are left to label");

    let (batch, labels) = pool.take_labelled();
    assert_eq!((batch.rows(), labels.names().len()), (60, 3));
    assert!(pool.len() <= 2);
    evm.update(&batch, &labels).unwrap();
    let unknown = evm.decide(&stream).unwrap().iter().filter(|decision| decision.class().is_none()).count();
    assert!(unknown <= 2, "{unknown} are still unknown");
    let second = evm.decide(&stream.select(&[31])).unwrap()[0];
    assert_eq!(second.class(), evm.class_index("d"));
}

#[test]
fn every_strategy_ranks_as_it_says() {
    let (evm, stream) = world();
    let mut pool = UnknownPool::new(2);
    let all = pool.add(&stream).unwrap();
    assert_eq!(all.len(), 70);
    let ask = |strategy| pool.suggest(&evm, strategy, 70).unwrap();
    let support: Vec<f64> =
        ask(Strategy::LowestPsi).iter().map(|suggestion| suggestion.score.support).collect();
    assert!(support.len() > 3 && support.is_sorted());
    let delta = evm.params().tail_model.probability_at(evm.threshold());
    let closeness: Vec<f64> = ask(Strategy::ClosestToThreshold)
        .iter()
        .map(|suggestion| (suggestion.score.psi() - delta).abs())
        .collect();
    assert!(closeness.is_sorted());
    let random =
        |seed| ask(Strategy::Random(seed)).iter().map(|suggestion| suggestion.sample).collect::<Vec<_>>();
    assert_eq!(random(1), random(1));
    assert_ne!(random(1), random(2));
    // Groups share nothing, every suggestion heads its own, and nobody is left out.
    for strategy in [
        Strategy::Groups,
        Strategy::Coverage,
        Strategy::LowestPsi,
        Strategy::ClosestToThreshold,
        Strategy::Random(4),
    ] {
        let mut seen = std::collections::HashSet::new();
        for suggestion in ask(strategy) {
            assert_eq!(suggestion.group[0], suggestion.sample);
            assert!(suggestion.group.iter().all(|sample| seen.insert(*sample)), "{strategy:?}");
        }
        assert_eq!(seen.len(), 70, "{strategy:?}");
    }
}

#[test]
fn labels_can_be_changed_and_taken_back() {
    let (evm, stream) = world();
    let mut pool = UnknownPool::new(2);
    let ids = pool.add(&stream.select(&[0, 1, 2])).unwrap();
    pool.label(&ids[..2], "x").unwrap();
    pool.label(&ids[1..2], "y").unwrap();
    pool.unlabel(&ids[..1]).unwrap();
    assert_eq!(pool.iter().map(|(_, _, label)| label).collect::<Vec<_>>(), [None, Some("y"), None]);
    assert_eq!(pool.take_labelled().1.name(0), "y");
    assert_eq!(pool.len(), 2);
    assert_eq!(pool.label(&ids, "z"), Err(PoolError::NoSample { sample: ids[1] }));
    assert_eq!(pool.iter().filter(|(_, _, label)| label.is_some()).count(), 0, "all or nothing");
    assert_eq!(pool.label(&ids[..1], ""), Err(PoolError::EmptyName));
    assert_eq!(pool.remove(&ids), 2);
    assert!(pool.is_empty());
    assert!(pool.suggest(&evm, Strategy::Coverage, 5).unwrap().is_empty());
    let wide = Features::new(vec![0.0; 3], 3).unwrap();
    assert_eq!(
        pool.add(&wide).unwrap_err().to_string(),
        "the features have 3 columns, the model was trained on 2"
    );
    let (none, labels) = pool.take_labelled();
    assert_eq!((none.rows(), labels.len()), (0, 0));
}

#[test]
fn awkward_samples_are_no_trouble() {
    let mut pool = UnknownPool::new(1);
    let ids = pool.add(&Features::new(vec![1e-20, 1.0, 0.0], 1).unwrap()).unwrap();
    pool.label(&ids[..1], "tiny").unwrap();
    assert_eq!(pool.take_labelled().0.values(), [1e-20]);
    let features = Features::new(vec![1.0, 2.0, -1.0, -2.0], 1).unwrap();
    let labels = Labels::new(["up", "up", "down", "down"]).unwrap();
    let cosine = Params { metric: evmachine::Metric::Cosine, ..Params::paper() };
    let (evm, _) = Evm::fit(&cosine, &features, &labels).unwrap();
    assert_eq!(pool.suggest(&evm, Strategy::Coverage, 2), Err(PoolError::ZeroSample { sample: ids[2] }));
    assert_eq!(UnknownPool::new(0).take_labelled().0.rows(), 0);
}

#[test]
fn every_sample_is_suggested_once_whatever_the_strategy() {
    let (evm, _) = world();
    let mut random = Random(5);
    // A cloud, in which what one sample covers overlaps with what others do.
    let cloud: Vec<f32> = (0..400).map(|_| 60.0 * random.next()).collect();
    let mut pool = UnknownPool::new(2);
    let all = pool.add(&Features::new(cloud, 2).unwrap()).unwrap();
    for strategy in [
        Strategy::Groups,
        Strategy::Coverage,
        Strategy::LowestPsi,
        Strategy::ClosestToThreshold,
        Strategy::Random(3),
    ] {
        let suggestions = pool.suggest(&evm, strategy, all.len()).unwrap();
        let mut groups: Vec<u64> =
            suggestions.iter().flat_map(|suggestion| &suggestion.group).copied().collect();
        groups.sort_unstable();
        assert_eq!(groups, all, "{strategy:?}");
    }
}

#[test]
fn a_sample_beyond_the_range_of_the_whitened_space_is_named() {
    // The second column has no spread, and is whitened by a factor of a thousand.
    let features = Features::from_rows((0..20u8).map(|i| [f32::from(i), 1.0])).unwrap();
    let labels = Labels::new((0..20).map(|i| if i < 10 { "low" } else { "high" })).unwrap();
    let (evm, _) = Evm::fit(&Params { whitening: 1.0, ..Params::paper() }, &features, &labels).unwrap();
    let mut pool = UnknownPool::new(2);
    let ids = pool.add(&Features::from_rows([[40.0, 1.0], [0.0, 9e14]]).unwrap()).unwrap();
    pool.label(&ids[..1], "far").unwrap();
    let refused = pool.suggest(&evm, Strategy::LowestPsi, 1);
    assert_eq!(refused, Err(PoolError::LargeSample { sample: ids[1], limit: 1e15 }));
    assert_eq!(pool.remove(&ids[1..]), 1);
    assert_eq!(pool.suggest(&evm, Strategy::LowestPsi, 1), Ok(Vec::new()));
}

/// By group, the rows in it; asserts that each group has one exemplar and holds nothing beyond its radius.
fn by_group(memberships: &[Membership]) -> BTreeMap<u64, Vec<usize>> {
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let radii: BTreeMap<u64, f32> =
        memberships.iter().filter_map(|one| one.founded.map(|radius| (one.group, radius))).collect();
    for (row, one) in memberships.iter().enumerate() {
        assert!(one.distance <= radii[&one.group], "{one:?}");
        assert!(one.founded.is_none() || one.distance == 0.0);
        groups.entry(one.group).or_default().push(row);
    }
    assert_eq!(groups.len(), radii.len());
    groups
}

#[test]
fn groups_are_clumps_and_later_samples_join_them() {
    let (evm, stream) = world();
    let run = Run::new();
    let mut grouping = Grouping::new_with(&run, &evm, 10).unwrap();
    let clumps = stream.part(0..60);
    let memberships = grouping.add_with(&run, &evm, &clumps).unwrap();
    let groups = by_group(&memberships);
    assert_eq!(groups.keys().copied().min(), Some(10));
    assert_eq!((grouping.len(), grouping.next_group()), (groups.len(), 10 + groups.len() as u64));
    let clump = |row: usize| [30, 50, 60].iter().position(|&end| row < end).unwrap();
    for members in groups.values() {
        let clumps: BTreeSet<usize> = members.iter().map(|&row| clump(row)).collect();
        assert_eq!(clumps.len(), 1, "{members:?}");
    }
    assert!(groups.values().map(Vec::len).max() >= Some(15), "{groups:?}");

    // What comes again joins the group that it is in; a group that is closed takes in nothing.
    let again = grouping.add_with(&run, &evm, &stream.part(0..1)).unwrap()[0];
    assert!(again.founded.is_none() && groups.contains_key(&again.group));
    assert!(grouping.close(again.group) && !grouping.close(again.group));
    let other = grouping.add_with(&run, &evm, &stream.part(0..1)).unwrap()[0];
    assert_ne!(other.group, again.group);

    // Taken up from their exemplars, groups go on as they were.
    let founders: Vec<usize> = (0..60).filter(|&row| memberships[row].founded.is_some()).collect();
    let numbers: Vec<u64> = founders.iter().map(|&row| memberships[row].group).collect();
    let radii: Vec<f32> = founders.iter().filter_map(|&row| memberships[row].founded).collect();
    let mut resumed = Grouping::new_with(&run, &evm, 0).unwrap();
    resumed.resume(&evm, &clumps.select(&founders), &numbers, &radii).unwrap();
    assert_eq!(resumed.next_group(), 10 + groups.len() as u64);
    let same = resumed.add_with(&run, &evm, &clumps).unwrap();
    for (row, (old, new)) in memberships.iter().zip(&same).enumerate() {
        assert_eq!((old.group, old.distance, None), (new.group, new.distance, new.founded), "row {row}");
    }
}

#[test]
fn groups_are_the_same_for_any_number_of_threads() {
    let (evm, _) = world();
    let mut random = Random(8);
    let cloud: Vec<f32> = (0..6_000).map(|_| 60.0 * random.next()).collect();
    let cloud = Features::new(cloud, 2).unwrap();
    let groups = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut grouping = Grouping::new_with(&Run::new(), &evm, 0).unwrap();
            grouping.add_with(&Run::new(), &evm, &cloud).unwrap()
        })
    };
    let one = groups(1);
    by_group(&one);
    assert_eq!(one, groups(3));
}

#[test]
fn numbers_that_end_and_models_of_another_shape_are_errors() {
    let samples = Features::new(vec![20.0, 40.0], 1).unwrap();
    assert_eq!(UnknownPool::resume(&samples, &[1, u64::MAX], 0), Err(PoolError::NumbersEnd));
    let mut pool = UnknownPool::resume(&samples, &[1, 2], u64::MAX - 1).unwrap();
    assert_eq!(pool.add(&samples), Err(PoolError::NumbersEnd));
    assert_eq!((pool.len(), pool.next_sample()), (2, u64::MAX - 1));
    let fit = |columns: usize| {
        let values: Vec<f32> = (0..6 * columns).map(|i| (i / 3 * 5 + i % 3) as f32).collect();
        let labels = Labels::new(["low", "low", "low", "high", "high", "high"]).unwrap();
        Evm::fit(&Params::paper(), &Features::new(values, columns).unwrap(), &labels).unwrap().0
    };
    let (one, four) = (fit(1), fit(4));
    let run = Run::new();
    let mut groups = Grouping::new_with(&run, &four, u64::MAX).unwrap();
    let wanted = PoolError::Run(RunError::Features(FeatureError::Dimensions { expected: 4, found: 1 }));
    assert_eq!(groups.add_with(&run, &one, &samples), Err(wanted));
    let far = Features::new(vec![900.0; 4], 4).unwrap();
    assert_eq!(groups.add_with(&run, &four, &far), Err(PoolError::NumbersEnd));
    assert!(groups.is_empty());
    let wanted = PoolError::Run(RunError::Features(FeatureError::Dimensions { expected: 4, found: 1 }));
    assert_eq!(groups.resume(&one, &samples, &[1, 2], &[1.0, 1.0]), Err(wanted));
    assert_eq!(groups.resume(&four, &far, &[u64::MAX], &[1.0]), Err(PoolError::NumbersEnd));
    assert!(groups.is_empty(), "nothing was taken up");
    assert_eq!(four.origin(u64::MAX).number, u64::MAX);
}
