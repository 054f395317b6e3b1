//! OSNN, the nearest-neighbour distance ratio (Mendes Junior et al., 2017).

use evmachine::{Features, Labels, Metric};

use crate::cross_class;
use crate::error::SystemError;
use crate::neighbors::Neighbors;
use crate::scores::Scores;
use crate::system::System;

/// With t the nearest point and u the nearest point of another class, a query x belongs to t's class where
/// `d(x, t) / d(x, u) <= T`, and is unknown otherwise: far from everything the ratio tends to 1. T is set on
/// training data with some classes left out, as in that paper.
///
/// The score of a class is its distance divided by that of the nearest other class, sign turned.
#[derive(Debug, Clone)]
pub struct OpenSetNearestNeighbor {
    metric: Metric,
    fixed: Option<f64>,
    seed: u64,
    threshold: f64,
    points: Option<Neighbors>,
}

impl OpenSetNearestNeighbor {
    /// With the given metric.
    #[must_use]
    pub fn new(metric: Metric) -> Self {
        Self { metric, fixed: None, seed: 1, threshold: -1.0, points: None }
    }

    /// Uses this ratio T instead of one set by cross-class validation.
    pub fn with_ratio(mut self, ratio: f64) -> Self {
        self.fixed = Some(-ratio);
        self
    }

    /// The seed of cross-class validation.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// By class, minus the ratio of its distance to the least of the others; 0 / 0 counts as 1, a tie.
fn ratios(distances: &[f64]) -> Vec<f64> {
    (0..distances.len())
        .map(|class| {
            let others = distances.iter().enumerate().filter(|(other, _)| *other != class);
            let nearest = others.map(|(_, &distance)| distance).fold(f64::INFINITY, f64::min);
            let own = distances[class];
            if own == nearest { -1.0 } else { -own / nearest }
        })
        .collect()
}

impl System for OpenSetNearestNeighbor {
    fn name(&self) -> String {
        "OSNN".to_owned()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        self.threshold = match self.fixed {
            Some(threshold) => threshold,
            None => cross_class::threshold(features, labels, self.seed, || {
                Self::new(self.metric.clone()).with_ratio(1.0)
            })?,
        };
        self.points = Some(Neighbors::fit(&self.metric, 0.0, features, labels)?);
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
        let ratios: Vec<Vec<f64>> = points.distances(queries, 1)?.iter().map(|row| ratios(row)).collect();
        Ok(Scores::new(points.classes.len(), &ratios))
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
    fn the_ratio_decides_not_the_distance() {
        let features = Features::new(vec![0.0, 1.0, 10.0, 11.0], 1).unwrap();
        let labels = Labels::new(["a", "a", "b", "b"]).unwrap();
        let mut system = OpenSetNearestNeighbor::new(Metric::Euclidean).with_ratio(0.5);
        system.fit(&features, &labels).unwrap();
        // Between the classes, closer to a, right at b, and far beyond b.
        let queries = Features::new(vec![5.0, 3.0, 10.0, 1000.0], 1).unwrap();
        let scores = system.scores(&queries).unwrap();
        assert_eq!(scores.row(1)[0], -2.0 / 7.0);
        let decisions: Vec<_> = (0..4).map(|row| scores.decide(row, system.threshold())).collect();
        assert_eq!(decisions, [None, Some(0), Some(1), None]);
    }

    #[test]
    fn the_same_vector_in_two_classes_is_a_tie() {
        assert_eq!(ratios(&[0.0, 0.0, 3.0]), [-1.0, -1.0, f64::NEG_INFINITY]);
    }
}
