//! Incremental kernel density estimation, as in the classifier of Haines and Xiang (2014).

use evmachine::{Features, Labels};
use rayon::prelude::*;

use crate::classes::Classes;
use crate::cross_class;
use crate::error::SystemError;
use crate::projection::{Standard, squared};
use crate::scores::Scores;
use crate::system::System;

/// Bandwidths tried, in root mean squares of the centred features.
const BANDWIDTHS: [f64; 9] = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0];
/// Points of a class that a bandwidth is judged on.
const JUDGED: usize = 100;

/// A mixture of Gaussians for each class. Every point adds a kernel; beyond a limit, the two whose merging costs least
/// are merged (Sillito and Fisher, 2007), so that learning goes on in constant memory.
///
/// The bandwidth is the one of highest leave-one-out likelihood. With classes drawn from a Dirichlet process, a query
/// is of class c in proportion to `n_c p(x | c)` and of a new class in proportion to `alpha p_0(x)`: a threshold on
/// `ln(n_c p(x | c) / p_0(x))`, which is set by cross-class validation. The base density `p_0` is that of all data, as one
/// Gaussian.
#[derive(Debug, Clone)]
pub struct KernelDensity {
    limit: usize,
    seed: u64,
    fixed: Option<f64>,
    threshold: f64,
    classes: Classes,
    fitted: Option<Fitted>,
}

#[derive(Debug, Clone)]
struct Fitted {
    standard: Standard,
    variance: f64,
    mixtures: Vec<Mixture>,
}

impl KernelDensity {
    /// With at most `limit` kernels for a class, at least 1.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            seed: 1,
            fixed: None,
            threshold: f64::NEG_INFINITY,
            classes: Classes::default(),
            fitted: None,
        }
    }

    /// Rejects below this log ratio of densities instead of one set by cross-class validation.
    #[must_use]
    pub fn with_threshold(mut self, threshold: f64) -> Self {
        self.fixed = Some(threshold);
        self
    }

    /// The seed of cross-class validation.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// A Gaussian of equal variance in all directions. `weight` counts points.
#[derive(Debug, Clone, PartialEq)]
struct Kernel {
    weight: f64,
    mean: Vec<f64>,
    variance: f64,
}

impl Kernel {
    /// The Gaussian with the mean and the mean variance of both.
    fn merged(&self, other: &Self) -> Self {
        let weight = self.weight + other.weight;
        let share = other.weight / weight;
        let mean = self.mean.iter().zip(&other.mean).map(|(a, b)| a + share * (b - a)).collect();
        Self { weight, mean, variance: self.merged_variance(other) }
    }

    fn merged_variance(&self, other: &Self) -> f64 {
        let weight = self.weight + other.weight;
        let within = (self.weight * self.variance + other.weight * other.variance) / weight;
        let product = self.weight * other.weight / (weight * weight);
        within + product * squared(&self.mean, &other.mean) / self.mean.len() as f64
    }

    /// The Kullback-Leibler divergence of both from what they merge into, by weight. Because the merged Gaussian keeps
    /// the moments, only logarithms remain: `d/2 (w ln v - w_1 ln v_1 - w_2 ln v_2)`.
    fn cost(&self, other: &Self) -> f64 {
        let merged = self.merged_variance(other).ln();
        let logs =
            self.weight * (merged - self.variance.ln()) + other.weight * (merged - other.variance.ln());
        0.5 * self.mean.len() as f64 * logs
    }
}

/// The kernels of a class, each with the partner that it costs least to merge with.
#[derive(Debug, Clone, Default)]
struct Mixture {
    kernels: Vec<Kernel>,
    partners: Vec<(f64, usize)>,
    points: f64,
}

impl Mixture {
    fn add(&mut self, point: &[f64], variance: f64, limit: usize) {
        self.points += 1.0;
        self.push(Kernel { weight: 1.0, mean: point.to_vec(), variance });
        if self.kernels.len() > limit {
            self.merge_cheapest();
        }
    }

    fn push(&mut self, kernel: Kernel) {
        let index = self.kernels.len();
        let mut own = (f64::INFINITY, index);
        for (other, partner) in self.partners.iter_mut().enumerate() {
            let cost = kernel.cost(&self.kernels[other]);
            if cost < partner.0 {
                *partner = (cost, index);
            }
            if cost < own.0 {
                own = (cost, other);
            }
        }
        self.kernels.push(kernel);
        self.partners.push(own);
    }

    fn merge_cheapest(&mut self) {
        let cheapest = self.partners.iter().enumerate().min_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let Some((first, &(_, second))) = cheapest else { return };
        let merged = self.kernels[first].merged(&self.kernels[second]);
        // The higher one first: removing it moves the last kernel, which is never the lower one.
        for gone in [first.max(second), first.min(second)] {
            self.kernels.swap_remove(gone);
            self.partners.swap_remove(gone);
            let moved = self.kernels.len();
            for index in 0..self.partners.len() {
                if self.partners[index].1 == gone {
                    self.partners[index] = (f64::INFINITY, usize::MAX);
                } else if self.partners[index].1 == moved {
                    self.partners[index].1 = gone;
                }
            }
        }
        for index in 0..self.kernels.len() {
            if self.partners[index].1 == usize::MAX {
                self.partners[index] = self.partner_of(index);
            }
        }
        self.push(merged);
    }

    fn partner_of(&self, index: usize) -> (f64, usize) {
        let costs = (0..self.kernels.len())
            .filter(|&other| other != index)
            .map(|other| (self.kernels[index].cost(&self.kernels[other]), other));
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, index))
    }

    /// ln(n p(x)), without the constant of the Gaussian that all kernels share.
    fn log_mass(&self, point: &[f64]) -> f64 {
        let half = 0.5 * point.len() as f64;
        log_sum(self.kernels.iter().map(|kernel| {
            let exponent = squared(&kernel.mean, point) / (2.0 * kernel.variance);
            kernel.weight.ln() - half * kernel.variance.ln() - exponent
        }))
    }
}

fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let highest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if highest == f64::NEG_INFINITY {
        return highest;
    }
    highest + logs.map(|log| (log - highest).exp()).sum::<f64>().ln()
}

/// The variance of highest likelihood of each point under the others of its class.
fn best_variance(by_class: &[Vec<&Vec<f64>>]) -> f64 {
    let distances: Vec<Vec<f64>> = by_class
        .par_iter()
        .flat_map(|points| {
            let judged = &points[..points.len().min(JUDGED)];
            let others = |own: usize| (0..judged.len()).filter(move |&other| other != own);
            let rows = (0..judged.len()).filter(|_| judged.len() > 1);
            rows.map(|own| others(own).map(|other| squared(judged[own], judged[other])).collect::<Vec<f64>>())
                .collect::<Vec<_>>()
        })
        .collect();
    let half = 0.5 * by_class.iter().flatten().next().map_or(0, |point| point.len()) as f64;
    let likelihood = |variance: f64| -> f64 {
        let of = |row: &Vec<f64>| log_sum(row.iter().map(|squared| -squared / (2.0 * variance)));
        distances.iter().map(|row| of(row) - half * variance.ln()).sum()
    };
    let variances = BANDWIDTHS.map(|bandwidth| bandwidth * bandwidth);
    let judged = variances.map(|variance| (likelihood(variance), variance));
    let best = judged.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(variances[0], |(_, variance)| variance)
}

impl Fitted {
    fn learn(&mut self, points: &[Vec<f64>], numbers: &[usize], classes: usize, limit: usize) {
        self.mixtures.resize_with(classes, Mixture::default);
        let variance = self.variance;
        let by_class = grouped(points, numbers, classes);
        self.mixtures.par_iter_mut().zip(by_class).for_each(|(mixture, points)| {
            for point in points {
                mixture.add(point, variance, limit);
            }
        });
    }
}

fn grouped<'a>(points: &'a [Vec<f64>], numbers: &[usize], classes: usize) -> Vec<Vec<&'a Vec<f64>>> {
    let mut by_class = vec![Vec::new(); classes];
    points.iter().zip(numbers).for_each(|(point, &number)| by_class[number].push(point));
    by_class
}

impl System for KernelDensity {
    fn name(&self) -> String {
        "incremental KDE".to_owned()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let mut classes = Classes::default();
        let numbers = classes.learn(features, labels)?;
        let threshold = match self.fixed {
            Some(threshold) => threshold,
            None => cross_class::threshold(features, labels, self.seed, || {
                Self::new(self.limit).with_threshold(f64::NEG_INFINITY)
            })?,
        };
        let standard = Standard::of(features);
        let points = standard.apply(features);
        let variance = best_variance(&grouped(&points, &numbers, classes.names.len()));
        let mut fitted = Fitted { standard, variance, mixtures: Vec::new() };
        fitted.learn(&points, &numbers, classes.names.len(), self.limit);
        (self.threshold, self.classes, self.fitted) = (threshold, classes, Some(fitted));
        Ok(())
    }

    fn update(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let name = self.name();
        let fitted = self.fitted.as_mut().ok_or(SystemError::NotFitted { system: name })?;
        let numbers = self.classes.learn(features, labels)?;
        let points = fitted.standard.apply(features);
        fitted.learn(&points, &numbers, self.classes.names.len(), self.limit);
        Ok(())
    }

    fn classes(&self) -> &[String] {
        &self.classes.names
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let fitted = self.fitted.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        let points = fitted.standard.apply(queries);
        let rows: Vec<Vec<f64>> = points
            .par_iter()
            .map(|point| {
                // Standardised, all data has mean 0 and variance 1; the constant is that of the kernels.
                let base = -0.5 * point.iter().map(|value| value * value).sum::<f64>();
                fitted.mixtures.iter().map(|mixture| mixture.log_mass(point) - base).collect()
            })
            .collect();
        Ok(Scores::new(fitted.mixtures.len(), &rows))
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn vectors(&self) -> usize {
        self.fitted.as_ref().map_or(0, |fitted| fitted.mixtures.iter().map(|m| m.kernels.len()).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_the_moments_and_costs_the_divergence() {
        let a = Kernel { weight: 1.0, mean: vec![0.0, 0.0], variance: 1.0 };
        let b = Kernel { weight: 3.0, mean: vec![4.0, 0.0], variance: 2.0 };
        let merged = a.merged(&b);
        // Mean 3; variance within 7/4, between 1*3/16 * 16 / 2 dimensions = 1.5.
        assert_eq!(merged, Kernel { weight: 4.0, mean: vec![3.0, 0.0], variance: 3.25 });
        // KL(N(m, v) | N(m', v')) in 2 dimensions: ln(v'/v) + v/v' - 1 + |m - m'|^2 / (2 v').
        let divergence = |kernel: &Kernel| {
            let v = merged.variance;
            (v / kernel.variance).ln() + kernel.variance / v - 1.0
                + squared(&kernel.mean, &merged.mean) / (2.0 * v)
        };
        let expected = a.weight * divergence(&a) + b.weight * divergence(&b);
        assert!((a.cost(&b) - expected).abs() < 1e-12);
    }

    #[test]
    fn partners_stay_the_cheapest_however_many_are_merged() {
        let mut mixture = Mixture::default();
        for index in 0..60u32 {
            let point = [f64::from(index * 37 % 61), f64::from(index * 11 % 17)];
            mixture.add(&point, 0.25, 12);
            for own in 0..mixture.kernels.len() {
                assert_eq!(mixture.partners[own].0, mixture.partner_of(own).0);
            }
        }
        assert_eq!(mixture.kernels.len(), 12);
        assert_eq!(mixture.kernels.iter().map(|kernel| kernel.weight).sum::<f64>(), 60.0);
    }

    #[test]
    fn scores_are_log_ratios_of_densities_and_far_queries_unknown() {
        let values: Vec<f32> =
            (0..40u16).map(|row| f32::from(row % 20) / 20.0 + f32::from(row / 20) * 9.0).collect();
        let labels = Labels::new((0..40).map(|row| if row < 20 { "low" } else { "high" })).unwrap();
        let mut system = KernelDensity::new(100).with_threshold(-30.0);
        system.fit(&Features::new(values, 1).unwrap(), &labels).unwrap();
        let fitted = system.fitted.as_ref().unwrap();
        let queries = Features::new(vec![0.4, 9.4, 300.0], 1).unwrap();
        let scores = system.scores(&queries).unwrap();
        let point = &fitted.standard.apply(&queries)[0];
        let sum: f64 = fitted.mixtures[0]
            .kernels
            .iter()
            .map(|kernel| {
                (-(point[0] - kernel.mean[0]).powi(2) / (2.0 * fitted.variance)).exp()
                    / fitted.variance.sqrt()
            })
            .sum();
        let base = (-point[0] * point[0] / 2.0).exp();
        assert!((scores.row(0)[0] - (sum / base).ln()).abs() < 1e-12);
        let decisions: Vec<_> = (0..3).map(|row| scores.decide(row, system.threshold())).collect();
        assert_eq!(decisions, [Some(0), Some(1), None]);
        assert_eq!(system.vectors(), 40);
    }

    #[test]
    fn batches_give_the_mixtures_of_one_pass() {
        let features =
            Features::new((0..60u16).map(|row| f32::from(row * 29 % 59)).collect::<Vec<_>>(), 2).unwrap();
        let labels = Labels::new((0..30).map(|row| if row % 2 == 0 { "a" } else { "b" })).unwrap();
        let mut steps = KernelDensity::new(5).with_threshold(0.0);
        steps.fit(&features, &labels).unwrap();
        let mut fitted = steps.fitted.clone().unwrap();
        fitted.mixtures.clear();
        let points = fitted.standard.apply(&features);
        let numbers: Vec<usize> = (0..30).map(|row| row % 2).collect();
        for (points, numbers) in points.chunks(7).zip(numbers.chunks(7)) {
            fitted.learn(points, numbers, 2, 5);
        }
        let once = &steps.fitted.as_ref().unwrap().mixtures;
        assert!(fitted.mixtures.iter().zip(once).all(|(a, b)| a.kernels == b.kernels));
    }
}
