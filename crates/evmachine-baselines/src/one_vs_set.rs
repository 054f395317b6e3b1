//! The 1-vs-Set machine (Scheirer, Rocha, Sapkota, Boult, 2013).

use evmachine::{Features, Labels};

use crate::classes::Classes;
use crate::error::SystemError;
use crate::scores::Scores;
use crate::svm::OneVsRest;
use crate::system::System;

/// Places that each of the two planes is tried at.
const PLACES: usize = 48;

/// For each class a linear machine whose half-space is cut to a slab between two parallel planes A and Omega.
///
/// The planes are where open-space risk and empirical risk together are least:
/// `R = w / w_+ + w_+ / w + (1 - F1)`, w the width of the slab and w_+ that of the positive scores: a wide slab takes in
/// open space, a narrow one leaves no room to generalise. The pressures on single planes, 0 in the authors' program,
/// are left out. That program moves one plane after the other; here all pairs of some fifty places each are compared.
///
/// A query belongs to the class of the highest decision value among those in whose slab it lies, and is unknown outside
/// of all. A score is e to the decision value inside the slab, and minus the distance from it, in units of w_+, outside.
#[derive(Debug, Clone)]
pub struct OneVsSet {
    cost: f64,
    classes: Classes,
    fitted: Option<OneVsRest>,
    slabs: Vec<Slab>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Slab {
    near: f64,
    far: f64,
    unit: f64,
}

impl OneVsSet {
    /// With the cost of the linear machines; columns are scaled to the range from 0 to 1 first.
    #[must_use]
    pub fn new(cost: f64) -> Self {
        Self { cost, classes: Classes::default(), fitted: None, slabs: Vec::new() }
    }
}

impl Slab {
    /// `inside` and `outside`: scores of the class and of the others, in rising order.
    fn fit(inside: &[f64], outside: &[f64]) -> Self {
        let (Some(&low), Some(&high)) = (inside.first(), inside.last()) else {
            return Self { near: f64::INFINITY, far: f64::INFINITY, unit: 1.0 };
        };
        let unit = (high - low).max(1e-9);
        let places: Vec<f64> =
            (0..PLACES).map(|place| inside[place * (inside.len() - 1) / (PLACES - 1)]).collect();
        let between = |scores: &[f64], near: f64, far: f64| {
            let below = |limit: f64, strict: bool| {
                scores.partition_point(|&score| if strict { score < limit } else { score <= limit })
            };
            below(far, false).saturating_sub(below(near, true)) as f64
        };
        let mut best = (f64::INFINITY, Self { near: low, far: high, unit });
        for (position, &near) in places.iter().enumerate() {
            for &far in &places[position..] {
                let width = (far - near).max(1e-9);
                let (right, wrong) = (between(inside, near, far), between(outside, near, far));
                let f1 = 2.0 * right / (right + wrong + inside.len() as f64);
                let risk = width / unit + unit / width + (1.0 - f1);
                if risk < best.0 {
                    best = (risk, Self { near, far, unit });
                }
            }
        }
        best.1
    }

    /// Positive inside, negative outside.
    fn score(&self, decision: f64) -> f64 {
        let depth = (decision - self.near).min(self.far - decision) / self.unit;
        if depth >= 0.0 { decision.exp() } else { depth }
    }
}

impl System for OneVsSet {
    fn name(&self) -> String {
        "1-vs-Set machine".to_owned()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let mut classes = Classes::default();
        let numbers = classes.learn(features, labels)?;
        let fitted = OneVsRest::fit(features, &numbers, classes.names.len(), self.cost, None)?;
        let decisions = fitted.decisions(features);
        self.slabs = (0..classes.names.len())
            .map(|class| {
                let of = |own: bool| {
                    let rows =
                        numbers.iter().zip(&decisions).filter(|(number, _)| (**number == class) == own);
                    let mut scores: Vec<f64> = rows.map(|(_, row)| row[class]).collect();
                    scores.sort_unstable_by(f64::total_cmp);
                    scores
                };
                Slab::fit(&of(true), &of(false))
            })
            .collect();
        (self.classes, self.fitted) = (classes, Some(fitted));
        Ok(())
    }

    fn classes(&self) -> &[String] {
        &self.classes.names
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let fitted = self.fitted.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        let mut rows = fitted.decisions(queries);
        for row in &mut rows {
            row.iter_mut().zip(&self.slabs).for_each(|(score, slab)| *score = slab.score(*score));
        }
        Ok(Scores::new(self.slabs.len(), &rows))
    }

    /// Inside a slab.
    fn threshold(&self) -> f64 {
        0.0
    }

    /// One normal for each class.
    fn vectors(&self) -> usize {
        self.slabs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slab_lies_where_the_risk_is_least() {
        // One positive score far out among the others drags the slab for no gain.
        let inside = [-4.0, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0];
        let outside: Vec<f64> = (0..200).map(|step| -4.0 + f64::from(step) * 0.02).collect();
        let slab = Slab::fit(&inside, &outside);
        let risk = |near: f64, far: f64| {
            let count = |scores: &[f64]| scores.iter().filter(|s| (near..=far).contains(*s)).count() as f64;
            let f1 = 2.0 * count(&inside) / (count(&inside) + count(&outside) + 13.0);
            (far - near) / 6.0 + 6.0 / (far - near) + 1.0 - f1
        };
        let pairs = inside.iter().flat_map(|&near| inside.iter().map(move |&far| (near, far)));
        let least =
            pairs.filter(|(near, far)| near < far).map(|(near, far)| risk(near, far)).fold(9.0, f64::min);
        assert!((risk(slab.near, slab.far) - least).abs() < 1e-9, "{slab:?}");
        assert_eq!(slab.unit, 6.0);
    }

    #[test]
    fn both_sides_of_a_slab_are_unknown() {
        let values: Vec<f32> =
            (0..60u16).map(|row| f32::from(row % 2) * 2.0 + f32::from(row) / 100.0).collect();
        let labels = Labels::new((0..60).map(|row| if row % 2 == 0 { "low" } else { "high" })).unwrap();
        let mut system = OneVsSet::new(1.0);
        system.fit(&Features::new(values, 1).unwrap(), &labels).unwrap();
        let queries = Features::new(vec![0.3, 2.3, 40.0, -40.0], 1).unwrap();
        let scores = system.scores(&queries).unwrap();
        let decisions: Vec<_> = (0..4).map(|row| scores.decide(row, system.threshold())).collect();
        assert_eq!(decisions, [Some(0), Some(1), None, None]);
        assert_eq!(system.vectors(), 2);
    }
}
