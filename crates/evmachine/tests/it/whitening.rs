//! Whitening: the matrix, what it does to distances, and who keeps it.

use evmachine::tuning::{self, DeriveError};
use evmachine::{Evm, Features, Labels, Metric, Params, Refit, Run, Strategy, TailSize, UnknownPool};
use proptest::prelude::*;

use crate::common::{Random, Set};

fn with(whitening: f64) -> Params {
    Params { whitening, tail_size: TailSize::Count(10), cover_threshold: 1.0, ..Params::paper() }
}

/// Classes as clumps that are long in one direction and narrow in another.
fn clumps(dimensions: usize, rows: usize, seed: u64) -> Set {
    let mut random = Random(seed);
    let mut values = Vec::new();
    let mut names = Vec::new();
    for row in 0..rows {
        let class = row % 3;
        names.push(class.to_string());
        let along = random.next() * 4.0;
        values.extend((0..dimensions).map(|column| {
            let place = if column == class % dimensions { 3.0 } else { 0.5 };
            place + along / (1.0 + column as f32) + random.next()
        }));
    }
    Set { features: Features::new(values, dimensions).unwrap(), labels: Labels::new(names).unwrap() }
}

fn matrix(evm: &Evm) -> Vec<f64> {
    evm.whitening_matrix().unwrap().into_iter().map(f64::from).collect()
}

/// `w C + share v I` by its definition, in plain loops.
fn shrunk(set: &Set, fraction: f64, metric: &Metric) -> (Vec<f64>, f64) {
    let d = set.features.columns();
    let row = |index: usize| -> Vec<f64> {
        let row: Vec<f64> = set.features.row(index).iter().map(|&value| f64::from(value)).collect();
        let norm =
            if *metric == Metric::Cosine { row.iter().map(|v| v * v).sum::<f64>().sqrt() } else { 1.0 };
        row.iter().map(|value| value / norm).collect()
    };
    let mut c = vec![0.0; d * d];
    for class in 0..set.labels.names().len() as u32 {
        let members: Vec<Vec<f64>> =
            (0..set.len()).filter(|&index| set.labels.ids()[index] == class).map(row).collect();
        let mean = |column: usize| members.iter().map(|row| row[column]).sum::<f64>() / members.len() as f64;
        let means: Vec<f64> = (0..d).map(mean).collect();
        for member in &members {
            for i in 0..d {
                for j in 0..d {
                    c[i * d + j] += (member[i] - means[i]) * (member[j] - means[j]) / set.len() as f64;
                }
            }
        }
    }
    let variance = (0..d).map(|i| c[i * d + i]).sum::<f64>() / d as f64;
    for (at, value) in c.iter_mut().enumerate() {
        let share = if at / d == at % d { (1.0 - fraction).max(1e-6) * variance } else { 0.0 };
        *value = fraction * *value + share;
    }
    (c, variance)
}

#[test]
fn the_matrix_of_a_case_worked_by_hand() {
    // Each class has the deviations +-(2, 1) and +-(0, 1): C = [[2, 1], [1, 1]], v = 3/2. With w = 1/2,
    // S = [[7/4, 1/2], [1/2, 5/4]], L = [[a, 0], [b, c]] with a = sqrt(7/4), b = 1/(2a), c = sqrt(5/4 - b^2),
    // and W = sqrt(3/2) [[1/a, 0], [-b/(ac), 1/c]].
    let deviations = [[2.0, 1.0], [-2.0, -1.0], [0.0, 1.0], [0.0, -1.0]];
    let values: Vec<f32> = [[10.0, 10.0], [-30.0, 5.0]]
        .iter()
        .flat_map(|mean| deviations.iter().flat_map(|by| [mean[0] + by[0], mean[1] + by[1]]))
        .collect();
    let set = Set {
        features: Features::new(values, 2).unwrap(),
        labels: Labels::new(["a", "a", "a", "a", "b", "b", "b", "b"]).unwrap(),
    };
    let evm = set.fit(&with(0.5));
    let expected = [0.925_820_1, 0.0, -0.332_564_4, 1.163_975_4];
    for (found, expected) in matrix(&evm).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    let first = evm.extreme_vectors().find(|vector| vector.source == 0).unwrap();
    assert!((first.vector[0] - 12.0 * 0.925_820_1).abs() < 1e-4);
    assert!((first.vector[1] - (11.0 * 1.163_975_4 - 12.0 * 0.332_564_4)).abs() < 1e-4);
    assert_eq!(set.fit(&with(0.0)).whitening_matrix(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn distances_are_those_of_mahalanobis(
        dimensions in prop::sample::select(vec![1usize, 2, 5, 16, 17, 40, 130]), rows in 150usize..300,
        fraction in prop::sample::select(vec![0.1, 0.5, 0.9]), cosine in any::<bool>(), seed in any::<u64>(),
    ) {
        let set = clumps(dimensions, rows, seed);
        let metric = if cosine { Metric::Cosine } else { Metric::Euclidean };
        let evm = set.fit(&Params { metric: metric.clone(), ..with(fraction) });
        let (s, variance) = shrunk(&set, fraction, &metric);
        // W^T W S = v I says that v S^-1 = W^T W.
        let w = matrix(&evm);
        let d = dimensions;
        let scale = s.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        for i in 0..d {
            prop_assert!((i + 1..d).all(|k| w[i * d + k] == 0.0));
            for j in 0..d {
                let wtw = |i: usize, k: usize| (0..d).map(|r| w[r * d + i] * w[r * d + k]).sum::<f64>();
                let found: f64 = (0..d).map(|k| wtw(i, k) * s[k * d + j]).sum();
                let expected = if i == j { variance } else { 0.0 };
                // Entries of W are rounded to f32.
                prop_assert!((found - expected).abs() <= 2e-5 * scale, "{i} {j}: {found} {expected}");
            }
        }
    }

    #[test]
    fn with_all_of_the_covariance_a_linear_map_changes_little(seed in any::<u64>(), slant in -2f32..2.0, unit in 0.2f32..5.0) {
        // The least share of I and rounding are all that depend on the map.
        let set = clumps(2, 120, seed);
        let map = |row: &[f32]| [unit * row[0], slant * row[0] + row[1]];
        let mapped = |features: &Features<'_>| {
            let values: Vec<f32> = (0..features.rows()).flat_map(|row| map(features.row(row))).collect();
            Features::new(values, 2).unwrap()
        };
        let other = Set { features: mapped(&set.features), labels: set.labels.clone() };
        let queries = clumps(2, 60, !seed).features;
        let (one, two) = (set.fit(&with(1.0)), other.fit(&with(1.0)));
        let (before, after) = (one.probabilities(&queries).unwrap(), two.probabilities(&mapped(&queries)).unwrap());
        for (a, b) in before.iter().zip(&after) {
            prop_assert!((a - b).abs() < 2e-2, "{a} {b}");
        }
        let mean = before.iter().zip(&after).map(|(a, b)| (a - b).abs()).sum::<f64>() / before.len() as f64;
        prop_assert!(mean < 1e-3, "{mean}");
    }

    #[test]
    fn threads_change_nothing(rows in 10usize..400, d in 1usize..200, cosine in any::<bool>(), seed in any::<u64>()) {
        let set = clumps(d, rows, seed);
        let metric = if cosine { Metric::Cosine } else { Metric::Euclidean };
        let params = Params { metric, ..with(0.7) };
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| set.fit(&params)).to_bytes().unwrap()
        };
        prop_assert!(fit(1) == fit(3), "the bytes of the model files differ");
    }
}

#[test]
fn vectors_find_back_to_where_they_were() {
    for (metric, whitening) in [(Metric::Euclidean, 0.9), (Metric::Cosine, 0.9), (Metric::Euclidean, 0.0)] {
        let set = clumps(20, 60, 3);
        let evm = set.fit(&Params { metric: metric.clone(), ..with(whitening) });
        for vector in evm.extreme_vectors() {
            let row = set.features.row(vector.source as usize);
            let norm =
                if metric == Metric::Cosine { row.iter().map(|v| v * v).sum::<f32>().sqrt() } else { 1.0 };
            for (found, value) in evm.in_feature_space(vector.vector).iter().zip(row) {
                assert!((found - value / norm).abs() < 1e-5, "{found} {}", value / norm);
            }
        }
    }
}

#[test]
fn awkward_features_can_be_whitened() {
    let names = |rows: usize| Labels::new((0..rows).map(|row| (row % 2).to_string())).unwrap();
    let fit = |values: Vec<f32>, d: usize, params: &Params| {
        let rows = values.len() / d;
        let features = Features::new(values, d).unwrap();
        let (evm, _) = Evm::fit(params, &features, &names(rows)).unwrap();
        assert_eq!(evm.decide(&features).unwrap().len(), rows);
        assert!(Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap() == evm);
        matrix(&evm)
    };
    let identity = [1.0, 0.0, 0.0, 1.0];
    for metric in [Metric::Euclidean, Metric::Cosine] {
        for whitening in [0.1, 1.0] {
            let params = Params { metric: metric.clone(), ..with(whitening) };
            assert_eq!(fit(vec![1.0, 2.0, 5.0, 1.0], 2, &params), identity, "one row a class");
            let repeated = [0.1, 0.2, 0.7, 0.3].repeat(7);
            assert_eq!(fit(repeated, 2, &params), identity, "repeated rows");
            let mut random = Random(1);
            let constant = (0..60).map(|i| if i % 3 == 0 { 4.0 } else { 1.0 + random.next() }).collect();
            fit(constant, 3, &params);
            let dependent = (0..40).flat_map(|i| [i as f32 + 1.0, 2.0 * (i as f32 + 1.0)]).collect();
            fit(dependent, 2, &params);
            let wide = (0..6 * 50).map(|_| random.next()).collect();
            fit(wide, 50, &params);
            for unit in [1e-14, 1e11] {
                let scaled = (0..60).map(|_| (0.1 + random.next()) * unit).collect();
                fit(scaled, 3, &params);
            }
        }
    }
}

#[test]
fn what_cannot_be_whitened_is_named() {
    let set = clumps(2, 30, 1);
    let manhattan = Params { metric: Metric::Manhattan, ..with(0.5) };
    let error = Evm::fit(&manhattan, &set.features, &set.labels).unwrap_err();
    assert_eq!(error.to_string(), "whitening = 0.5: applies to the metrics euclidean and cosine alone");
    // A narrow column makes W large, and a query far out leaves the range.
    let values = (0..40).flat_map(|i| [(i % 7) as f32, 1e-3 * (i % 3) as f32]).collect::<Vec<f32>>();
    let labels = Labels::new((0..40).map(|i| (i % 2).to_string())).unwrap();
    let (evm, _) = Evm::fit(&with(1.0), &Features::new(values, 2).unwrap(), &labels).unwrap();
    let far = Features::new(vec![1.0, 0.0, 0.0, 9e14], 2).unwrap();
    assert_eq!(
        evm.decide(&far).unwrap_err().to_string(),
        "row 1 has a value above 1e15 after whitening; scale the features down"
    );
}

#[test]
fn the_matrix_is_that_of_the_first_batch_whatever_comes_after() {
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let params = Params { metric, refit: Refit::All, smoothing: 0.5, cover_threshold: 0.9, ..with(0.6) };
        let set = clumps(3, 90, 4);
        let mut evm = set.fit(&params);
        let first = evm.whitening_matrix();
        // A class that is spread otherwise.
        let mut random = Random(9);
        let values: Vec<f32> = (0..60).flat_map(|_| [9.0 + 5.0 * random.next(), 1.0, 9.0]).collect();
        let new = Features::new(values, 3).unwrap();
        evm.update(&new, &Labels::new(vec!["new"; 60]).unwrap()).unwrap();
        assert_eq!(evm.whitening_matrix(), first);
        let class = evm.class_index("new").unwrap();
        let right = evm.decide(&new).unwrap().iter().filter(|decision| decision.best() == class).count();
        assert!(right >= 58, "{right}");

        let mut pool = UnknownPool::new(3);
        let all: Vec<u64> = pool.add(&new).unwrap();
        let groups = pool.suggest(&evm, Strategy::Coverage, 60).unwrap();
        assert_eq!(groups.iter().map(|suggestion| suggestion.group.len()).sum::<usize>(), all.len());

        evm.forget_class("0").unwrap();
        evm.reduce(&Params { cover_threshold: 0.3, ..params.clone() }.cover()).unwrap();
        assert_eq!(evm.whitening_matrix(), first);
        let loaded = Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap();
        assert_eq!(loaded.decide(&set.features).unwrap(), evm.decide(&set.features).unwrap());

        let base = set.fit(&Params { cover_threshold: 1.0, ..params.clone() });
        let other = Params { cover_threshold: 1.0, whitening: 0.2, ..params };
        assert_eq!(
            tuning::derive(&Run::new(), &base, &other, &set.features).unwrap_err(),
            DeriveError::NotDerivable
        );
    }
}
