//! NNO, nearest non-outlier (Bendale and Boult, 2015).

use evmachine::{Features, Labels};
use rayon::prelude::*;

use crate::classes::Classes;
use crate::cross_class;
use crate::error::SystemError;
use crate::projection::{Projection, Standard, squared};
use crate::scores::Scores;
use crate::system::System;

/// The nearest class mean in a learned low-rank projection W, with a radius tau beyond which a class has no support:
///
/// `f_i(x) = Gamma(m/2 + 1) / (pi^(m/2) tau^m) * (1 - |W x - W mu_i| / tau)`
///
/// The factor in front, the same for all classes, makes `f_i` integrate to at most 1 over its ball in m dimensions;
/// scores leave it out, for it changes neither the order of classes nor the sign that rejects, and overflows for
/// large m. W and tau are learned at the first fit, tau by cross-class validation; an update adds classes and moves
/// means alone.
#[derive(Debug, Clone)]
pub struct NearestNonOutlier {
    rank: usize,
    seed: u64,
    metric: MetricLearning,
    fixed_tau: Option<f64>,
    tau: f64,
    classes: Classes,
    fitted: Option<Fitted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetricLearning {
    Learned,
    Euclidean,
}

#[derive(Debug, Clone)]
struct Fitted {
    standard: Standard,
    projection: Projection,
    /// By class, how many points, and the sum of them, before the projection.
    sums: Vec<(f64, Vec<f64>)>,
    /// By class, the projected mean.
    means: Vec<Vec<f64>>,
}

impl NearestNonOutlier {
    /// With a projection of that rank, or of full rank where the features have fewer columns.
    #[must_use]
    pub fn new(rank: usize) -> Self {
        Self {
            rank: rank.max(1),
            seed: 1,
            metric: MetricLearning::Learned,
            fixed_tau: None,
            tau: f64::INFINITY,
            classes: Classes::default(),
            fitted: None,
        }
    }

    /// Without metric learning: W is the identity.
    #[must_use]
    pub fn euclidean() -> Self {
        Self { metric: MetricLearning::Euclidean, ..Self::new(1) }
    }

    /// Uses this radius instead of one set by cross-class validation: in units of the root mean square distance of points
    /// from the mean of their class, or without metric learning of the root mean square of centred features.
    #[must_use]
    pub fn with_tau(mut self, tau: f64) -> Self {
        self.fixed_tau = Some(tau);
        self
    }

    /// The seed of the stochastic gradients and of cross-class validation.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The radius in use.
    #[must_use]
    pub fn tau(&self) -> f64 {
        self.tau
    }
}

impl Fitted {
    fn learn(&mut self, points: &[Vec<f64>], classes: &[usize], count: usize) {
        self.sums.resize_with(count, || (0.0, vec![0.0; self.standard.columns()]));
        for (point, &class) in points.iter().zip(classes) {
            let (number, sum) = &mut self.sums[class];
            *number += 1.0;
            sum.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
        }
        self.means = self.raw_means().par_iter().map(|mean| self.projection.apply(mean)).collect();
    }

    fn raw_means(&self) -> Vec<Vec<f64>> {
        let mean = |(number, sum): &(f64, Vec<f64>)| sum.iter().map(|value| value / number).collect();
        self.sums.iter().map(mean).collect()
    }
}

impl System for NearestNonOutlier {
    fn name(&self) -> String {
        match self.metric {
            MetricLearning::Learned => "NNO".to_owned(),
            MetricLearning::Euclidean => "NNO, Euclidean".to_owned(),
        }
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let mut classes = Classes::default();
        let numbers = classes.learn(features, labels)?;
        let tau = if let Some(tau) = self.fixed_tau {
            tau
        } else {
            // With tau = 1 the score is 1 - distance.
            let fresh = || Self { fixed_tau: Some(1.0), fitted: None, ..self.clone() };
            1.0 - cross_class::threshold(features, labels, self.seed, fresh)?
        };
        let standard = Standard::of(features);
        let points = standard.apply(features);
        let identity = Projection::identity(standard.columns());
        let mut fitted = Fitted { standard, projection: identity, sums: Vec::new(), means: Vec::new() };
        fitted.learn(&points, &numbers, classes.names.len());
        if self.metric == MetricLearning::Learned {
            let means = fitted.raw_means();
            fitted.projection = Projection::learn(&points, &numbers, &means, self.rank, self.seed);
            fitted.learn(&[], &[], classes.names.len());
        }
        (self.tau, self.classes, self.fitted) = (tau, classes, Some(fitted));
        Ok(())
    }

    fn update(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let name = self.name();
        let fitted = self.fitted.as_mut().ok_or(SystemError::NotFitted { system: name })?;
        let numbers = self.classes.learn(features, labels)?;
        let points = fitted.standard.apply(features);
        fitted.learn(&points, &numbers, self.classes.names.len());
        Ok(())
    }

    fn classes(&self) -> &[String] {
        &self.classes.names
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let fitted = self.fitted.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        let rows: Vec<Vec<f64>> = fitted
            .standard
            .apply(queries)
            .into_par_iter()
            .map(|point| {
                let own = fitted.projection.apply(&point);
                fitted.means.iter().map(|mean| 1.0 - squared(mean, &own).sqrt() / self.tau).collect()
            })
            .collect();
        Ok(Scores::new(fitted.means.len(), &rows))
    }

    /// `f_i(x)` > 0; on the sphere itself too.
    fn threshold(&self) -> f64 {
        0.0
    }

    /// The means.
    fn vectors(&self) -> usize {
        self.classes.names.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four points on a square of side 2 around the origin: the mean is 0 and the root mean square is 1, so that
    /// standardised features are the features themselves.
    fn square() -> (Features<'static>, Labels) {
        let features = Features::new(vec![-1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0], 2).unwrap();
        (features, Labels::new(["left", "left", "right", "right"]).unwrap())
    }

    #[test]
    fn a_hand_computed_example() {
        let (features, labels) = square();
        let mut system = NearestNonOutlier::euclidean().with_tau(2.0);
        system.fit(&features, &labels).unwrap();
        // Means (-1, 0) and (1, 0). Queries: (2, 0) at 3 and 1; (-1, 1) at 1 and sqrt 5; (0, 5) at sqrt 26 twice.
        let queries = Features::new(vec![2.0, 0.0, -1.0, 1.0, 0.0, 5.0], 2).unwrap();
        let scores = system.scores(&queries).unwrap();
        let expected = [[-0.5, 0.5], [0.5, 1.0 - 5f64.sqrt() / 2.0], [1.0 - 26f64.sqrt() / 2.0; 2]];
        for (row, expected) in expected.iter().enumerate() {
            for (found, expected) in scores.row(row).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{row}: {found} {expected}");
            }
        }
        let decisions: Vec<_> = (0..3).map(|row| scores.decide(row, system.threshold())).collect();
        assert_eq!(decisions, [Some(1), Some(0), None]);
    }

    #[test]
    fn an_update_adds_classes_and_moves_means_but_keeps_projection_and_radius() {
        let (features, labels) = square();
        let mut system = NearestNonOutlier::new(2).with_tau(2.0);
        system.fit(&features, &labels).unwrap();
        let before = system.fitted.clone().unwrap();
        let more = Features::new(vec![0.0, 6.0, 3.0, 0.0], 2).unwrap();
        system.update(&more, &Labels::new(["top", "right"]).unwrap()).unwrap();
        let after = system.fitted.as_ref().unwrap();
        assert_eq!((after.projection.clone(), system.tau()), (before.projection, 2.0));
        assert_eq!(system.classes(), ["left", "right", "top"]);
        assert_eq!(after.raw_means()[1], [5.0 / 3.0, 0.0]);
        assert_eq!(after.raw_means()[2], [0.0, 6.0]);
    }

    #[test]
    fn the_radius_comes_from_classes_left_out() {
        // Six tight clumps on a line, 10 apart: a good radius takes in a clump and nothing of the next.
        let values: Vec<f32> =
            (0..240u16).map(|row| f32::from(row / 40) * 10.0 + f32::from(row * 7 % 11) / 11.0).collect();
        let labels = Labels::new((0..240).map(|row| format!("c{}", row / 40))).unwrap();
        let features = Features::new(values, 1).unwrap();
        let mut system = NearestNonOutlier::euclidean();
        system.fit(&features, &labels).unwrap();
        let unit = Standard::of(&features).factor;
        let radius = system.tau() / unit;
        assert!((0.5..9.5).contains(&radius), "{radius}");
    }
}
