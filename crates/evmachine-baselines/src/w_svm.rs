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
/// Lower than the logarithm of any probability that is a threshold.
const FAR_BELOW: f64 = 1e6;
/// Fewer scores say nothing about shape and scale.
const LEAST_TAIL: usize = 3;

/// For each class a one-class RBF machine o and a binary RBF machine f, whose scores are calibrated by extreme value
/// theory, each tail fitted as libmr does ([`TailModel::Libmr`]):
///
/// - `P_O(x) = 1 - W(o(x))`, W the probability of a low score, fitted to the lowest scores that o gives to the class;
/// - `P_eta(x) = 1 - W(f(x))`, the same for f: how surely x is of the class;
/// - `P_psi(x) = R(f(x))`, R the probability of a high score, fitted to the highest scores that f gives to the others:
///   how surely x is none of them. Its tail is divided by the number of other classes, as in the authors' program.
///
/// The score of a class is `ln(P_eta P_psi)` where `P_O > 0.001`, and far below that elsewhere: where everything is to be
/// accepted, the classes still have their order, which the product itself loses to rounding.
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

/// How surely a score belongs to the low end of the scores that it was fitted to.
#[derive(Debug, Clone, Copy)]
struct Tail {
    lowest: f64,
    libmr: PsiModel,
}

impl Tail {
    /// Fitted to the `size` lowest of the scores. libmr fits `1 + s_max - s`, which does not change where all scores are moved.
    fn fit(mut scores: Vec<f64>, size: f64) -> Result<Self, SystemError> {
        scores.sort_unstable_by(f64::total_cmp);
        scores.truncate((size.ceil() as usize).max(LEAST_TAIL));
        let lowest = scores.first().copied().unwrap_or(0.0);
        let margins: Vec<f64> = scores.iter().map(|score| 1.0 + score - lowest).collect();
        Ok(Self { lowest, libmr: PsiModel::fit(TailModel::Libmr, &margins)? })
    }

    /// libmr's `w_score`: near 1 for low scores, 0 from one unit above the highest of the tail.
    fn low(&self, score: f64) -> f64 {
        self.libmr.probability(TailModel::Libmr, 1.0 + score - self.lowest)
    }

    /// ln(1 - `low`), `-(y / a)^b` with `y = 1 + s_max - s`, which does not round to ln 0.
    fn ln_not_low(&self, score: f64) -> f64 {
        let reach = 1.0 + self.libmr.shift - (1.0 + score - self.lowest);
        -(reach.max(0.0) / self.libmr.scale).powf(self.libmr.shape)
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
        others: usize,
        (gamma, nu): (f64, f64),
    ) -> Result<Self, SystemError> {
        let own: Vec<&[f32]> =
            rows.iter().zip(positive).filter(|(_, own)| **own).map(|(row, _)| *row).collect();
        let one_class = Machine::one_class(&own, nu, gamma)?;
        let enclosed = own.iter().map(|row| one_class.decision(row)).collect();
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for (row, &positive) in rows.iter().zip(positive) {
            let decision = machine.decision(row);
            // Reversed, so that the highest scores of the others are the lowest of their list.
            if positive { inside.push(decision) } else { outside.push(-decision) }
        }
        // As in the authors' program: where that is more than there are, as many as support vectors.
        let size = |support: usize, all: usize| {
            let size = TAIL * support as f64;
            if size >= all as f64 { support as f64 } else { size }
        };
        Ok(Self {
            enclosed: Tail::fit(enclosed, size(one_class.vectors(), own.len()))?,
            others: {
                let size = size(machine.support.1, outside.len()) / others.max(1) as f64;
                Tail::fit(outside, size)?
            },
            own: {
                let size = size(machine.support.0, inside.len());
                Tail::fit(inside, size)?
            },
            one_class,
        })
    }

    fn score(&self, row: &[f32], decision: f64) -> f64 {
        let product = self.own.ln_not_low(decision) + self.others.low(-decision).ln();
        // Beyond the reach of the others' tail the product is 0, and decision values tell classes apart.
        let product = if product.is_finite() { product } else { decision - 2.0 * FAR_BELOW };
        let is_enclosed = 1.0 - self.enclosed.low(self.one_class.decision(row)) > ONE_CLASS_THRESHOLD;
        if is_enclosed { product } else { product - FAR_BELOW }
    }
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
                let one_class = (self.one_class_gamma, self.nu);
                Calibration::fit(machine, &rows, &is(&numbers, class), count - 1, one_class)
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
        0.5f64.ln()
    }

    fn threshold_at(&self, delta: f64) -> Option<f64> {
        Some(delta.ln())
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
    fn a_tail_is_what_libmr_fits_to_the_lowest_scores() {
        let tail = Tail::fit(vec![5.0, -2.0, 9.0, -1.0, -1.5], 3.0).unwrap();
        // The three lowest, -2, -1.5 and -1: libmr takes 1 + s_max - s, that is 2, 1.5 and 1.
        let weibull = PsiModel::fit(TailModel::Weibull, &[1.0, 1.5, 2.0]).unwrap();
        assert!(
            (tail.libmr.shape - weibull.shape).abs() < 1e-9
                && (tail.libmr.scale - weibull.scale).abs() < 1e-9
        );
        for (score, reached) in [(-1.2, 1.2), (-7.0, 7.0), (-0.5, 0.5)] {
            let expected = 1.0 - (-(reached / weibull.scale).powf(weibull.shape)).exp();
            assert!((tail.low(score) - expected).abs() < 1e-9, "{score}");
            let direct = -(reached / weibull.scale).powf(weibull.shape);
            assert!((tail.ln_not_low(score) / direct - 1.0).abs() < 1e-6, "{score}");
        }
        assert_eq!(tail.low(0.5), 0.0, "more than one unit above the highest of the tail");
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
        let decisions: Vec<_> = (0..5).map(|row| scores.decide(row, 0.1f64.ln())).collect();
        assert_eq!(decisions, [Some(0), Some(1), Some(2), None, None]);
        assert!(scores.row(3).iter().all(|score| *score < -1e5), "no one-class model reaches so far");
        assert_eq!(system.threshold_at(0.0), Some(f64::NEG_INFINITY));
        assert!(system.vectors() > 0);
    }
}
