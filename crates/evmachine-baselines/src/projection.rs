//! NCM's learned low-rank projection (Mensink, Verbeek, Perronnin, Csurka, 2013).
//!
//! Classes are scored by `p(c | x) ~ exp(-|W x - W mu_c|^2 / 2)`, `mu_c` the class mean, and W, of `rank` rows, climbs
//! the log-likelihood of the training labels by stochastic gradients. For one point, with `z_c` = `mu_c` - x:
//!
//! `d ln p(y | x) / dW = sum_c (p(c | x) - [c = y]) W z_c z_c^T`
//!
//! The length of W grows with the number of steps, and so does every distance. In the end W is scaled such that training
//! points lie at a root mean square distance of 1 from the mean of their class, so that a radius found with some classes left
//! out holds for all.

use evmachine::Features;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

/// Points in a step.
const BATCH: usize = 64;
/// Passes over the data.
const PASSES: usize = 10;
/// The first step, as a fraction of W's own length; steps fall as 1 / sqrt(step).
const STEP: f64 = 0.05;
/// Steps of the subspace iteration that finds the principal directions to start from.
const ITERATIONS: usize = 8;

/// A linear map, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Projection {
    pub(crate) rank: usize,
    pub(crate) columns: usize,
    pub(crate) weights: Vec<f64>,
}

impl Projection {
    pub(crate) fn identity(columns: usize) -> Self {
        let mut weights = vec![0.0; columns * columns];
        (0..columns).for_each(|i| weights[i * columns + i] = 1.0);
        Self { rank: columns, columns, weights }
    }

    pub(crate) fn apply(&self, point: &[f64]) -> Vec<f64> {
        self.weights.chunks_exact(self.columns).map(|row| dot(row, point)).collect()
    }

    /// Learns from points and their classes. `means` are those of the classes, in the same space.
    pub(crate) fn learn(
        points: &[Vec<f64>],
        classes: &[usize],
        means: &[Vec<f64>],
        rank: usize,
        seed: u64,
    ) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut projection = Self::principal(points, rank, &mut random);
        let mut order: Vec<usize> = (0..points.len()).collect();
        let mut step = 0.0f64;
        for _ in 0..PASSES {
            order.shuffle(&mut random);
            for batch in order.chunks(BATCH) {
                step += 1.0;
                let gradient = projection.gradient(points, classes, means, batch);
                let length = norm(&gradient);
                if length > 0.0 {
                    let rate = STEP / step.sqrt() * norm(&projection.weights) / length;
                    projection.weights.iter_mut().zip(&gradient).for_each(|(w, g)| *w += rate * g);
                }
            }
        }
        projection.scale(points, classes, means);
        projection
    }

    fn scale(&mut self, points: &[Vec<f64>], classes: &[usize], means: &[Vec<f64>]) {
        let projected: Vec<Vec<f64>> = means.par_iter().map(|mean| self.apply(mean)).collect();
        let squares: Vec<f64> = points
            .par_iter()
            .zip(classes)
            .map(|(point, &class)| squared(&projected[class], &self.apply(point)))
            .collect();
        let spread = (squares.iter().sum::<f64>() / points.len().max(1) as f64).sqrt();
        if spread > 0.0 {
            self.weights.iter_mut().for_each(|weight| *weight /= spread);
        }
    }

    /// The gradient of the mean log-likelihood of a batch.
    ///
    /// The coefficients of a point sum to 0, so that the sum over classes falls apart into one outer product for each
    /// class and one for each point.
    pub(crate) fn gradient(
        &self,
        points: &[Vec<f64>],
        classes: &[usize],
        means: &[Vec<f64>],
        batch: &[usize],
    ) -> Vec<f64> {
        let projected: Vec<Vec<f64>> = means.par_iter().map(|mean| self.apply(mean)).collect();
        let parts: Vec<(Vec<f64>, Vec<f64>)> = batch
            .par_iter()
            .map(|&row| {
                let own = self.apply(&points[row]);
                let logits: Vec<f64> = projected.iter().map(|mean| -0.5 * squared(mean, &own)).collect();
                let mut coefficients = softmax(&logits);
                coefficients[classes[row]] -= 1.0;
                // coefficient * W z_c, for each class, and their sum.
                let mut by_class = Vec::with_capacity(projected.len() * self.rank);
                let mut sum = vec![0.0; self.rank];
                for (mean, coefficient) in projected.iter().zip(&coefficients) {
                    for ((mean, own), sum) in mean.iter().zip(&own).zip(&mut sum) {
                        let value = coefficient * (mean - own);
                        by_class.push(value);
                        *sum += value;
                    }
                }
                (by_class, sum)
            })
            .collect();
        let mut by_class = vec![0.0; projected.len() * self.rank];
        for (part, _) in &parts {
            by_class.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        let count = batch.len() as f64;
        let mut gradient = vec![0.0; self.rank * self.columns];
        gradient.par_chunks_exact_mut(self.columns).enumerate().for_each(|(r, gradient)| {
            for (class, mean) in means.iter().enumerate() {
                add_scaled(gradient, mean, by_class[class * self.rank + r] / count);
            }
            for (&row, (_, sum)) in batch.iter().zip(&parts) {
                add_scaled(gradient, &points[row], -sum[r] / count);
            }
        });
        gradient
    }

    /// The principal directions of points whose mean is near 0, by subspace iteration, scaled so that a step of one
    /// unit is a step of one standard deviation of the whole.
    fn principal(points: &[Vec<f64>], rank: usize, random: &mut StdRng) -> Self {
        let columns = points.first().map_or(0, Vec::len);
        let rank = rank.min(columns);
        let weights = (0..rank * columns).map(|_| random.random_range(-1.0..1.0)).collect();
        let mut projection = Self { rank, columns, weights };
        projection.orthonormalize();
        for _ in 0..ITERATIONS {
            let projected: Vec<Vec<f64>> = points.par_iter().map(|point| projection.apply(point)).collect();
            let mut next = vec![0.0; rank * columns];
            next.par_chunks_exact_mut(columns).enumerate().for_each(|(r, next)| {
                for (point, projected) in points.iter().zip(&projected) {
                    add_scaled(next, point, projected[r]);
                }
            });
            projection.weights = next;
            projection.orthonormalize();
        }
        projection
    }

    /// Gram and Schmidt, row by row. A direction that vanishes stays 0.
    fn orthonormalize(&mut self) {
        for row in 0..self.rank {
            let (before, rest) = self.weights.split_at_mut(row * self.columns);
            let own = &mut rest[..self.columns];
            for other in before.chunks_exact(self.columns) {
                let along = dot(own, other);
                add_scaled(own, other, -along);
            }
            let length = norm(own);
            for value in own {
                *value = if length > 1e-12 { *value / length } else { 0.0 };
            }
        }
    }
}

/// Centred on the mean of all rows and divided by the root mean square of what remains.
#[derive(Debug, Clone)]
pub(crate) struct Standard {
    mean: Vec<f64>,
    pub(crate) factor: f64,
}

impl Standard {
    pub(crate) fn of(features: &Features<'_>) -> Self {
        let d = features.columns();
        let rows = features.rows().max(1) as f64;
        let mut mean = vec![0.0; d];
        for row in features.values().chunks_exact(d) {
            mean.iter_mut().zip(row).for_each(|(mean, &value)| *mean += f64::from(value) / rows);
        }
        let squares: f64 = features
            .values()
            .chunks_exact(d)
            .map(|row| {
                row.iter().zip(&mean).map(|(&value, mean)| (f64::from(value) - mean).powi(2)).sum::<f64>()
            })
            .sum();
        let spread = (squares / (rows * d as f64)).sqrt();
        Self { mean, factor: if spread > 0.0 { 1.0 / spread } else { 1.0 } }
    }

    pub(crate) fn columns(&self) -> usize {
        self.mean.len()
    }

    pub(crate) fn apply(&self, features: &Features<'_>) -> Vec<Vec<f64>> {
        features
            .values()
            .par_chunks_exact(self.mean.len())
            .map(|row| {
                row.iter().zip(&self.mean).map(|(&v, mean)| (f64::from(v) - mean) * self.factor).collect()
            })
            .collect()
    }
}

pub(crate) fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

fn add_scaled(sum: &mut [f64], values: &[f64], factor: f64) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let highest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut shares: Vec<f64> = logits.iter().map(|logit| (logit - highest).exp()).collect();
    let total: f64 = shares.iter().sum();
    for share in &mut shares {
        *share /= total;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likelihood(
        projection: &Projection,
        points: &[Vec<f64>],
        classes: &[usize],
        means: &[Vec<f64>],
    ) -> f64 {
        let total: f64 = points
            .iter()
            .zip(classes)
            .map(|(point, &class)| {
                let own = projection.apply(point);
                let logits: Vec<f64> =
                    means.iter().map(|mean| -0.5 * squared(&projection.apply(mean), &own)).collect();
                softmax(&logits)[class].ln()
            })
            .sum();
        total / points.len() as f64
    }

    fn example() -> (Vec<Vec<f64>>, Vec<usize>, Vec<Vec<f64>>) {
        let points =
            vec![vec![0.1, 0.5, -0.3], vec![-0.4, 0.2, 0.9], vec![0.7, -0.6, 0.2], vec![0.0, 0.3, 0.1]];
        let means = vec![vec![0.2, 0.1, 0.0], vec![-0.1, 0.3, 0.5], vec![0.6, -0.2, 0.1]];
        (points, vec![0, 1, 2, 0], means)
    }

    #[test]
    fn the_gradient_is_that_of_the_likelihood() {
        let (points, classes, means) = example();
        let weights = vec![0.8, -0.3, 0.5, 0.1, 0.9, -0.7];
        let projection = Projection { rank: 2, columns: 3, weights };
        let gradient = projection.gradient(&points, &classes, &means, &[0, 1, 2, 3]);
        for (index, slope) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut other = projection.clone();
                other.weights[index] += by;
                likelihood(&other, &points, &classes, &means)
            };
            let numerical = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - numerical).abs() < 1e-8, "{index}: {slope} {numerical}");
        }
    }

    #[test]
    fn learning_finds_the_direction_that_tells_classes_apart() {
        // The second coordinate is loud and says nothing; the first tells the classes apart.
        let points: Vec<Vec<f64>> = (0..200)
            .map(|row| {
                let loud = 3.0 * f64::from(row * 37 % 101) / 50.0 - 3.0;
                vec![if row % 2 == 0 { 0.4 } else { -0.4 }, loud]
            })
            .collect();
        let classes: Vec<usize> = (0..200).map(|row| row % 2).collect();
        let means = vec![vec![0.4, 0.0], vec![-0.4, 0.0]];
        let learned = Projection::learn(&points, &classes, &means, 2, 7);
        let column = |index: usize| learned.weights[index].hypot(learned.weights[2 + index]);
        assert!(column(0) > 1.5 * column(1), "{:?}", learned.weights);
        let mut before = Projection::identity(2);
        before.scale(&points, &classes, &means);
        let gain =
            likelihood(&learned, &points, &classes, &means) - likelihood(&before, &points, &classes, &means);
        assert!(gain > 0.1, "{gain}");
        for projection in [learned, before] {
            let distances = points
                .iter()
                .zip(&classes)
                .map(|(point, &class)| squared(&projection.apply(point), &projection.apply(&means[class])));
            let mean = distances.sum::<f64>() / 200.0;
            assert!((mean - 1.0).abs() < 1e-9, "{mean}");
        }
    }
}
