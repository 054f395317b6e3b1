//! W-SVM, the Weibull-calibrated support vector machine (Scheirer, Jain, Boult, 2014).

use evmachine::{Features, Labels, PsiModel, TailModel};
use rayon::prelude::*;

use crate::classes::Classes;
use crate::error::SystemError;
use crate::machine::{Machine, Rbf, rows};
use crate::scores::Scores;
use crate::svm::{OneVsRest, is};
use crate::system::System;

/// Below this probability of the one-class model a class is out of the question: that paper's `delta_tau`.
const ONE_CLASS_THRESHOLD: f64 = 0.001;
/// Tails are as long as 1.5 times the support vectors of their side, that paper's choice for many classes.
const TAIL: f64 = 1.5;

/// For each class a one-class RBF machine o and a binary RBF machine f, whose scores are calibrated by extreme value
/// theory:
///
/// - `P_O(x) = W(o(x))`, a Weibull distribution fitted to the lowest scores that o gives to the class;
/// - `P_eta(x) = W(f(x))`, the same for f: how surely x is of the class;
/// - `P_psi(x) = 1 - R(f(x))`, a reversed Weibull distribution fitted to the highest scores that f gives to the others:
///   how surely x is none of them.
///
/// The score of a class is `P_eta P_psi` where `P_O > 0.001`, and 0 elsewhere.
///
/// Where a distribution begins: scores of f one unit, the width of the margin, before the most extreme of the tail, as
/// libmr does; scores of o where no kernel reaches, their true lower bound.
#[derive(Debug, Clone)]
pub struct WeibullSvm {
    rbf: Rbf,
    one_class_gamma: f64,
    nu: f64,
    classes: Classes,
    fitted: Option<OneVsRest>,
    calibrations: Vec<Calibration>,
}

#[derive(Debug, Clone)]
struct Calibration {
    one_class: Machine,
    enclosed: Tail,
    own: Tail,
    others: Tail,
}

/// A Weibull distribution over `score - start`.
#[derive(Debug, Clone, Copy)]
struct Tail {
    start: f64,
    weibull: PsiModel,
}

impl Tail {
    /// Fitted to the `size` lowest of the scores; `start`: a bound below all of them, or one unit below the lowest.
    fn fit(mut scores: Vec<f64>, size: f64, start: Option<f64>) -> Result<Self, SystemError> {
        scores.sort_unstable_by(f64::total_cmp);
        scores.truncate((size.ceil() as usize).max(2));
        let start = start.or_else(|| scores.first().map(|lowest| lowest - 1.0)).unwrap_or(0.0);
        let margins: Vec<f64> = scores.iter().map(|score| (score - start).max(0.0)).collect();
        Ok(Self { start, weibull: PsiModel::fit(TailModel::Weibull, &margins)? })
    }

    /// The probability of a higher score.
    fn above(&self, score: f64) -> f64 {
        if score <= self.start {
            1.0
        } else {
            self.weibull.probability(TailModel::Weibull, score - self.start)
        }
    }
}

impl WeibullSvm {
    /// With the cost and gamma of the binary machines, and the gamma and nu of the one-class machines; columns are
    /// scaled to the range from 0 to 1 first.
    #[must_use]
    pub fn new(rbf: Rbf, one_class_gamma: f64, nu: f64) -> Self {
        Self { rbf, one_class_gamma, nu, classes: Classes::default(), fitted: None, calibrations: Vec::new() }
    }
}

impl Calibration {
    fn fit(
        machine: &Machine,
        rows: &[&[f32]],
        positive: &[bool],
        gamma: f64,
        nu: f64,
    ) -> Result<Self, SystemError> {
        let own: Vec<&[f32]> =
            rows.iter().zip(positive).filter(|(_, own)| **own).map(|(row, _)| *row).collect();
        let one_class = Machine::one_class(&own, nu, gamma)?;
        let enclosed = own.iter().map(|row| enclosure(&one_class, row)).collect();
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for (row, &positive) in rows.iter().zip(positive) {
            let decision = machine.decision(row);
            // Reversed, so that the highest scores of the others are the lowest of their list.
            if positive { inside.push(decision) } else { outside.push(-decision) }
        }
        let size = |support: usize| TAIL * support as f64;
        Ok(Self {
            enclosed: Tail::fit(enclosed, size(one_class.vectors()), Some(0.0))?,
            own: Tail::fit(inside, size(machine.support.0), None)?,
            others: Tail::fit(outside, size(machine.support.1), None)?,
            one_class,
        })
    }

    fn score(&self, row: &[f32], decision: f64) -> f64 {
        if 1.0 - self.enclosed.above(enclosure(&self.one_class, row)) <= ONE_CLASS_THRESHOLD {
            return 0.0;
        }
        (1.0 - self.own.above(decision)) * self.others.above(-decision)
    }
}

/// The sum of kernels of a one-class machine in units of its offset: 1 on the boundary, 0 where no kernel reaches.
fn enclosure(machine: &Machine, row: &[f32]) -> f64 {
    1.0 + machine.decision(row) / machine.rho().max(f64::MIN_POSITIVE)
}

impl System for WeibullSvm {
    fn name(&self) -> String {
        "W-SVM".to_owned()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let mut classes = Classes::default();
        let numbers = classes.learn(features, labels)?;
        let count = classes.names.len();
        let fitted = OneVsRest::fit(features, &numbers, count, self.rbf.cost, Some(self.rbf.gamma))?;
        let values = fitted.scaling.apply(features);
        let rows = rows(&values, fitted.scaling.columns());
        self.calibrations = fitted
            .machines
            .par_iter()
            .enumerate()
            .map(|(class, machine)| {
                Calibration::fit(machine, &rows, &is(&numbers, class), self.one_class_gamma, self.nu)
            })
            .collect::<Result<_, _>>()?;
        (self.classes, self.fitted) = (classes, Some(fitted));
        Ok(())
    }

    fn classes(&self) -> &[String] {
        &self.classes.names
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let fitted = self.fitted.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        let values = fitted.scaling.apply(queries);
        let scores: Vec<Vec<f64>> = rows(&values, fitted.scaling.columns())
            .par_iter()
            .map(|row| {
                let pairs = self.calibrations.iter().zip(&fitted.machines);
                pairs.map(|(calibration, machine)| calibration.score(row, machine.decision(row))).collect()
            })
            .collect();
        Ok(Scores::new(self.calibrations.len(), &scores))
    }

    /// Half, as for any probability.
    fn threshold(&self) -> f64 {
        0.5
    }

    fn threshold_at(&self, delta: f64) -> Option<f64> {
        Some(delta)
    }

    fn vectors(&self) -> usize {
        let one_class: usize =
            self.calibrations.iter().map(|calibration| calibration.one_class.vectors()).sum();
        one_class + self.fitted.as_ref().map_or(0, OneVsRest::vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_fitted_to_the_lowest_scores() {
        let tail = Tail::fit(vec![5.0, 1.0, 9.0, 2.0, 1.5], 3.0, None).unwrap();
        assert_eq!(tail.start, 0.0);
        let weibull = PsiModel::fit(TailModel::Weibull, &[1.0, 1.5, 2.0]).unwrap();
        assert_eq!(tail.weibull, weibull);
        // The Weibull distribution function in its usual form.
        let expected = (-(1.2 / weibull.scale).powf(weibull.shape)).exp();
        assert!((tail.above(1.2) - expected).abs() < 1e-12);
        assert_eq!(tail.above(-3.0), 1.0);
    }

    #[test]
    fn known_points_are_named_and_open_space_is_unknown() {
        let spot = |row: u16, centre: f32| centre + f32::from(row * 7 % 13) / 40.0;
        let values: Vec<f32> = (0..90u16)
            .flat_map(|row| {
                let class = f32::from(row % 3);
                [spot(row, class), spot(row * 3 + 1, 2.0 - class)]
            })
            .collect();
        let labels = Labels::new((0..90).map(|row| ["a", "b", "c"][row % 3])).unwrap();
        let mut system = WeibullSvm::new(Rbf { cost: 8.0, gamma: 4.0 }, 4.0, 0.1);
        system.fit(&Features::new(values, 2).unwrap(), &labels).unwrap();
        let queries = Features::new(vec![0.1, 2.1, 1.1, 1.1, 2.1, 0.1, 9.0, 9.0, -6.0, 3.0], 2).unwrap();
        let scores = system.scores(&queries).unwrap();
        let decisions: Vec<_> = (0..5).map(|row| scores.decide(row, 0.1)).collect();
        assert_eq!(decisions, [Some(0), Some(1), Some(2), None, None]);
        assert_eq!(scores.row(3), [0.0; 3], "no one-class model reaches so far");
        assert!(system.vectors() > 0);
    }
}
