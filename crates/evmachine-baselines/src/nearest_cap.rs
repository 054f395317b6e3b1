//! Nearest neighbour with compact abating probabilities (Scheirer, Jain, Boult, 2014).

use evmachine::{Features, Labels, Metric, PsiModel, TailModel};
use rayon::prelude::*;

use crate::error::SystemError;
use crate::neighbors::Neighbors;
use crate::scores::Scores;
use crate::system::{System, at_probability};

/// A probability that abates with the distance to the nearest point of the class and is 0 beyond a radius, so that
/// what it labels is bounded.
///
/// For each class, the distances of its points to their nearest neighbours within the class are fitted by a Weibull
/// distribution F, and the radius is the largest of them: `P(C | x) = 1 - F(d)` for d up to the radius, 0 beyond. The
/// score is P up to the radius and `1 - d / radius`, which is negative, beyond: rejected at every probability, but still in
/// order where everything is accepted.
/// The paper names the system without its formula; this is the model of its Sec. 3 with the density it uses
/// throughout.
#[derive(Debug, Clone)]
pub struct NearestCap {
    metric: Metric,
    points: Option<Neighbors>,
    caps: Vec<Cap>,
}

#[derive(Debug, Clone, Copy)]
struct Cap {
    weibull: PsiModel,
    radius: f64,
}

impl Cap {
    /// `distances`: of each point to its nearest of the same class.
    fn fit(distances: &[f64]) -> Result<Self, SystemError> {
        let weibull = PsiModel::fit(TailModel::Weibull, distances)?;
        Ok(Self { weibull, radius: distances.iter().copied().fold(0.0, f64::max) })
    }

    fn score(&self, distance: f64) -> f64 {
        if distance <= self.radius {
            self.weibull.probability(TailModel::Weibull, distance)
        } else {
            1.0 - distance / self.radius.max(f64::MIN_POSITIVE)
        }
    }
}

impl NearestCap {
    /// With the given metric.
    #[must_use]
    pub fn new(metric: Metric) -> Self {
        Self { metric, points: None, caps: Vec::new() }
    }
}

impl System for NearestCap {
    fn name(&self) -> String {
        "NN with CAP".to_owned()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let points = Neighbors::fit(&self.metric, 0.0, features, labels)?;
        // The mean over the point itself, at distance 0, and its nearest neighbour.
        let halves = points.distances(features, 2)?;
        let mut by_class: Vec<Vec<f64>> = vec![Vec::new(); points.classes.len()];
        for (row, &id) in labels.ids().iter().enumerate() {
            by_class[id as usize].push(2.0 * halves[row][id as usize]);
        }
        self.caps = by_class.par_iter().map(|distances| Cap::fit(distances)).collect::<Result<_, _>>()?;
        self.points = Some(points);
        Ok(())
    }

    fn classes(&self) -> &[String] {
        self.points.as_ref().map_or(&[], |points| &points.classes)
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let points = self.points.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        let mut rows = points.distances(queries, 1)?;
        for row in &mut rows {
            row.iter_mut().zip(&self.caps).for_each(|(value, cap)| *value = cap.score(*value));
        }
        Ok(Scores::new(self.caps.len(), &rows))
    }

    /// Half, as for any probability.
    fn threshold(&self) -> f64 {
        0.5
    }

    fn threshold_at(&self, delta: f64) -> Option<f64> {
        Some(at_probability(delta))
    }

    fn vectors(&self) -> usize {
        self.points.as_ref().map_or(0, Neighbors::points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probability_abates_and_ends_at_the_radius() {
        let features = Features::new(vec![0.0, 1.0, 2.5, 100.0, 101.0, 103.0], 1).unwrap();
        let labels = Labels::new(["a", "a", "a", "b", "b", "b"]).unwrap();
        let mut system = NearestCap::new(Metric::Euclidean);
        system.fit(&features, &labels).unwrap();
        // Nearest neighbours within a: 1, 1, 1.5.
        assert_eq!((system.caps[0].radius, system.caps[1].radius), (1.5, 2.0));
        let cap = PsiModel::fit(TailModel::Weibull, &[1.0, 1.0, 1.5]).unwrap();
        let queries = Features::new(vec![3.5, 4.5, 1.0], 1).unwrap();
        let scores = system.scores(&queries).unwrap();
        assert_eq!(scores.row(0), [cap.probability(TailModel::Weibull, 1.0), 1.0 - 96.5 / 2.0]);
        assert_eq!(scores.row(1), [1.0 - 2.0 / 1.5, 1.0 - 95.5 / 2.0], "beyond all radii, in order");
        assert_eq!(scores.decide(1, 1e-9), None);
        assert_eq!(scores.row(2)[0], 1.0);
        assert_eq!(system.vectors(), 6);
    }
}
