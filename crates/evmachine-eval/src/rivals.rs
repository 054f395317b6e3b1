//! What a practitioner would reach for instead: distances to neighbours or class means, thresholded.

use evmachine::{DistanceTable, Evm, Features, Metric};
use rayon::prelude::*;
use serde::Serialize;

use crate::answers::Answers;

/// A classifier without a probability model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rival {
    /// The class whose `k` nearest points have the smallest mean distance; k = 1 is the nearest neighbour.
    NearestNeighbors(usize),
    /// The class whose mean is nearest.
    NearestClassMean,
}

impl Rival {
    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Rival::NearestNeighbors(1) => "1-NN".to_owned(),
            Rival::NearestNeighbors(k) => format!("{k}-NN per class"),
            Rival::NearestClassMean => "nearest class mean".to_owned(),
        }
    }
}

/// Answers of k nearest neighbours per class, from distances to all training points of `model`.
pub fn nearest_neighbors(model: &Evm, table: &DistanceTable, k: usize, truth: &[Option<usize>]) -> Answers {
    let answers: Vec<(usize, f64)> = class_distances(model, table, k)
        .into_par_iter()
        .map(|distances| best_of(distances.into_iter()))
        .collect();
    collect(&answers, truth)
}

/// For each query, the mean distance to the `k` nearest points of each class, from distances to all training points
/// of `model`.
pub fn class_distances(model: &Evm, table: &DistanceTable, k: usize) -> Vec<Vec<f64>> {
    let sizes: Vec<usize> = model.classes().map(|class| class.extreme_vectors).collect();
    (0..table.rows())
        .into_par_iter()
        .map(|row| {
            let mut rest = table.row(row);
            let means = sizes.iter().map(|&size| {
                let (own, others) = rest.split_at(size);
                rest = others;
                mean_of_smallest(own, k)
            });
            means.collect()
        })
        .collect()
}

/// Answers of the nearest class mean. Means are taken of unit vectors for cosine. `model` keeps every point where it was,
/// without whitening and smoothing.
pub fn nearest_class_mean(model: &Evm, queries: &Features<'_>, truth: &[Option<usize>]) -> Answers {
    let d = model.dimensions();
    let classes = model.classes().len();
    let mut sums = vec![0.0f64; classes * d];
    for vector in model.extreme_vectors() {
        for (sum, &value) in sums[vector.class * d..].iter_mut().zip(vector.vector) {
            *sum += f64::from(value);
        }
    }
    let counts: Vec<f64> = model.classes().map(|class| class.extreme_vectors as f64).collect();
    for (mean, count) in sums.chunks_exact_mut(d).zip(&counts) {
        for value in mean {
            *value /= count;
        }
    }
    let metric = &model.params().metric;
    let answers: Vec<(usize, f64)> = (0..queries.rows())
        .into_par_iter()
        .map(|row| best_of(sums.chunks_exact(d).map(|mean| distance(metric, queries.row(row), mean))))
        .collect();
    collect(&answers, truth)
}

fn distance(metric: &Metric, query: &[f32], mean: &[f64]) -> f64 {
    let pairs = || query.iter().map(|&value| f64::from(value)).zip(mean.iter().copied());
    match metric {
        Metric::Cosine => {
            let norm = |squares: f64| squares.sqrt().max(f64::MIN_POSITIVE);
            let product: f64 = pairs().map(|(a, b)| a * b).sum();
            let (a, b) = pairs().fold((0.0, 0.0), |(x, y), (a, b)| (x + a * a, y + b * b));
            1.0 - product / (norm(a) * norm(b))
        }
        Metric::Manhattan => pairs().map(|(a, b)| (a - b).abs()).sum(),
        Metric::Custom(own) => {
            let mean: Vec<f32> = mean.iter().map(|&value| value as f32).collect();
            f64::from(own.distance(query, &mean))
        }
        _ => pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt(),
    }
}

fn mean_of_smallest(distances: &[f32], k: usize) -> f64 {
    let k = k.min(distances.len());
    let mut nearest = distances.to_vec();
    if k < nearest.len() {
        nearest.select_nth_unstable_by(k - 1, f32::total_cmp);
    }
    nearest[..k].iter().map(|&distance| f64::from(distance)).sum::<f64>() / k as f64
}

fn best_of(distances: impl Iterator<Item = f64>) -> (usize, f64) {
    let start = (0, f64::INFINITY);
    distances.enumerate().fold(start, |best, next| if next.1 < best.1 { next } else { best })
}

/// A distance is a score with its sign turned.
fn collect(answers: &[(usize, f64)], truth: &[Option<usize>]) -> Answers {
    let mut collected = Answers::default();
    for (&(best, distance), &truth) in answers.iter().zip(truth) {
        collected.push(truth, best, -distance, true);
    }
    collected
}
