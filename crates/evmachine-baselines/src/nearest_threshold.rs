//! Thresholded nearest-neighbour distance.

use evmachine::{Features, Labels, Metric};

use crate::cross_class;
use crate::error::SystemError;
use crate::neighbors::Neighbors;
use crate::scores::Scores;
use crate::system::System;

/// The class whose `k` nearest points have the smallest mean distance; unknown beyond a distance, which
/// cross-class validation sets unless it is given.
#[derive(Debug, Clone)]
pub struct NearestThreshold {
    metric: Metric,
    k: usize,
    whitening: f64,
    fixed: Option<f64>,
    seed: u64,
    threshold: f64,
    points: Option<Neighbors>,
}

impl NearestThreshold {
    /// With `k` neighbours of each class, at least 1.
    #[must_use]
    pub fn new(metric: Metric, k: usize) -> Self {
        let threshold = f64::NEG_INFINITY;
        Self { metric, k: k.max(1), whitening: 0.0, fixed: None, seed: 1, threshold, points: None }
    }

    /// Whitens the features first, by this share of the within-class covariance ([`Params::whitening`](evmachine::Params)).
    #[must_use]
    pub fn with_whitening(mut self, whitening: f64) -> Self {
        self.whitening = whitening;
        self
    }

    /// Rejects below this score, which is a distance with its sign turned.
    pub fn with_threshold(mut self, threshold: f64) -> Self {
        self.fixed = Some(threshold);
        self
    }

    /// The seed of cross-class validation.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl System for NearestThreshold {
    fn name(&self) -> String {
        let whitened = if self.whitening > 0.0 { ", whitened" } else { "" };
        format!("{}-NN{whitened}, thresholded", self.k)
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        self.threshold = match self.fixed {
            Some(threshold) => threshold,
            None => cross_class::threshold(features, labels, self.seed, || Self {
                fixed: Some(f64::NEG_INFINITY),
                points: None,
                ..self.clone()
            })?,
        };
        self.points = Some(Neighbors::fit(&self.metric, self.whitening, features, labels)?);
        Ok(())
    }

    fn update(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let points = self.points.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        self.points = Some(points.update(features, labels)?);
        Ok(())
    }

    fn classes(&self) -> &[String] {
        self.points.as_ref().map_or(&[], |points| &points.classes)
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let points = self.points.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        let mut rows = points.distances(queries, self.k)?;
        rows.iter_mut().flatten().for_each(|distance| *distance = -*distance);
        Ok(Scores::new(points.classes.len(), &rows))
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn vectors(&self) -> usize {
        self.points.as_ref().map_or(0, Neighbors::points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_distances_and_new_classes_are_learned() {
        let features = Features::new(vec![0.0, 1.0, 10.0, 12.0], 1).unwrap();
        let labels = Labels::new(["a", "a", "b", "b"]).unwrap();
        let mut system = NearestThreshold::new(Metric::Euclidean, 2).with_threshold(-3.0);
        system.fit(&features, &labels).unwrap();
        let queries = Features::new(vec![2.0, 40.0], 1).unwrap();
        let scores = system.scores(&queries).unwrap();
        assert_eq!(scores.row(0), [-1.5, -9.0]);
        assert_eq!(
            (scores.decide(0, system.threshold()), scores.decide(1, system.threshold())),
            (Some(0), None)
        );
        system.update(&Features::new(vec![40.0], 1).unwrap(), &Labels::new(["c"]).unwrap()).unwrap();
        let scores = system.scores(&queries).unwrap();
        assert_eq!(scores.decide(1, system.threshold()), Some(2));
        assert_eq!((system.vectors(), system.classes().len()), (5, 3));
    }

    #[test]
    fn whitening_sees_past_a_loud_column() {
        // The second column is loud within classes; the first tells them apart.
        let row =
            |row: u16| [f32::from(row % 2) + f32::from(row % 5) / 50.0, f32::from(row * 37 % 101) * 30.0];
        let features = Features::new((0..40).flat_map(row).collect::<Vec<f32>>(), 2).unwrap();
        let labels = Labels::new((0..40).map(|row| ["a", "b"][row % 2])).unwrap();
        let query = |at: u16| [f32::from(at % 2), f32::from(at) * 73.0];
        let queries = Features::new((0..40).flat_map(query).collect::<Vec<f32>>(), 2).unwrap();
        let right = |whitening: f64| {
            let plain = NearestThreshold::new(Metric::Euclidean, 1).with_whitening(whitening);
            let mut system = plain.with_threshold(f64::NEG_INFINITY);
            system.fit(&features, &labels).unwrap();
            let scores = system.scores(&queries).unwrap();
            (0..40).filter(|&at| scores.best(at).0 == at % 2).count()
        };
        let (with, without) = (right(1.0), right(0.0));
        assert!(with >= without + 10, "{with} {without}");
    }
}
