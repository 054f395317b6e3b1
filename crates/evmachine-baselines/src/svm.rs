//! One-vs-rest RBF support vector machines with Platt's probabilities.

use evmachine::{Features, Labels};
use libsvm_rs::probability::{sigmoid_predict, sigmoid_train};
use rayon::prelude::*;

use crate::classes::Classes;
use crate::error::SystemError;
use crate::machine::{Machine, Rbf, rows};
use crate::scaling::Scaling;
use crate::scores::Scores;
use crate::system::{System, at_probability};

/// Folds of the decision values that sigmoids are fitted to, as in Platt (1999).
const FOLDS: usize = 3;

/// For each class, an RBF machine against all others, and a sigmoid over its decision values, fitted to values of
/// rows that were left out of training (Platt, 1999, in the form of Lin, Lin and Weng, 2007).
#[derive(Debug, Clone)]
pub struct PlattSvm {
    rbf: Rbf,
    classes: Classes,
    fitted: Option<OneVsRest>,
    sigmoids: Vec<(f64, f64)>,
}

impl PlattSvm {
    /// With the given cost and gamma; columns are scaled to the range from 0 to 1 first.
    #[must_use]
    pub fn new(rbf: Rbf) -> Self {
        Self { rbf, classes: Classes::default(), fitted: None, sigmoids: Vec::new() }
    }
}

/// The machines of all classes, with the scaling that they were trained on.
#[derive(Debug, Clone)]
pub(crate) struct OneVsRest {
    pub(crate) scaling: Scaling,
    pub(crate) machines: Vec<Machine>,
}

impl OneVsRest {
    /// `gamma`: `None` for linear machines.
    pub(crate) fn fit(
        features: &Features<'_>,
        numbers: &[usize],
        classes: usize,
        cost: f64,
        gamma: Option<f64>,
    ) -> Result<Self, SystemError> {
        let scaling = Scaling::of(features);
        let values = scaling.apply(features);
        let rows = rows(&values, scaling.columns());
        let machines = (0..classes)
            .into_par_iter()
            .map(|class| Machine::binary(&rows, &is(numbers, class), cost, gamma))
            .collect::<Result<_, _>>()?;
        Ok(Self { scaling, machines })
    }

    /// Decision values by query and class.
    pub(crate) fn decisions(&self, queries: &Features<'_>) -> Vec<Vec<f64>> {
        let values = self.scaling.apply(queries);
        rows(&values, self.scaling.columns())
            .par_iter()
            .map(|row| self.machines.iter().map(|machine| machine.decision(row)).collect())
            .collect()
    }

    pub(crate) fn vectors(&self) -> usize {
        self.machines.iter().map(Machine::vectors).sum()
    }
}

/// Which rows are of the class.
pub(crate) fn is(numbers: &[usize], class: usize) -> Vec<bool> {
    numbers.iter().map(|&number| number == class).collect()
}

/// The part, of `parts`, that each row is left out in: every class in turn, so that all have their share.
pub(crate) fn parts(numbers: &[usize], classes: usize, parts: usize) -> Vec<usize> {
    let mut seen = vec![0; classes];
    numbers
        .iter()
        .map(|&number| {
            seen[number] += 1;
            seen[number] % parts
        })
        .collect()
}

/// The decision value of each row by a machine that was trained without it.
fn left_out(
    rows: &[&[f32]],
    positive: &[bool],
    part_of: &[usize],
    rbf: Rbf,
) -> Result<Vec<f64>, SystemError> {
    let mut decisions = vec![0.0; rows.len()];
    for part in 0..FOLDS {
        let kept: Vec<usize> = (0..rows.len()).filter(|&row| part_of[row] != part).collect();
        let train: Vec<&[f32]> = kept.iter().map(|&row| rows[row]).collect();
        let labels: Vec<bool> = kept.iter().map(|&row| positive[row]).collect();
        // A class of one row has nothing to be learned from when it is left out.
        if labels.iter().all(|&label| label == labels[0]) {
            continue;
        }
        let machine = Machine::binary(&train, &labels, rbf.cost, Some(rbf.gamma))?;
        for row in (0..rows.len()).filter(|&row| part_of[row] == part) {
            decisions[row] = machine.decision(rows[row]);
        }
    }
    Ok(decisions)
}

impl System for PlattSvm {
    fn name(&self) -> String {
        "1-vs-rest RBF SVM, Platt".to_owned()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let mut classes = Classes::default();
        let numbers = classes.learn(features, labels)?;
        let count = classes.names.len();
        let fitted = OneVsRest::fit(features, &numbers, count, self.rbf.cost, Some(self.rbf.gamma))?;
        let values = fitted.scaling.apply(features);
        let rows = rows(&values, fitted.scaling.columns());
        let part_of = parts(&numbers, count, FOLDS);
        self.sigmoids = (0..count)
            .into_par_iter()
            .map(|class| {
                let positive = is(&numbers, class);
                let decisions = left_out(&rows, &positive, &part_of, self.rbf)?;
                let signs: Vec<f64> =
                    positive.iter().map(|&positive| if positive { 1.0 } else { -1.0 }).collect();
                Ok(sigmoid_train(&decisions, &signs))
            })
            .collect::<Result<_, SystemError>>()?;
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
            for (value, &(a, b)) in row.iter_mut().zip(&self.sigmoids) {
                *value = sigmoid_predict(*value, a, b);
            }
        }
        Ok(Scores::new(self.sigmoids.len(), &rows))
    }

    /// Half, as for any probability.
    fn threshold(&self) -> f64 {
        0.5
    }

    fn threshold_at(&self, delta: f64) -> Option<f64> {
        Some(at_probability(delta))
    }

    fn vectors(&self) -> usize {
        self.fitted.as_ref().map_or(0, OneVsRest::vectors)
    }
}

/// The same machines without probabilities: the decision values themselves, for thresholds that are validated.
#[derive(Debug, Clone)]
pub struct DecisionSvm {
    rbf: Rbf,
    classes: Classes,
    fitted: Option<OneVsRest>,
}

impl DecisionSvm {
    /// With the given cost and gamma; columns are scaled to the range from 0 to 1 first.
    #[must_use]
    pub fn new(rbf: Rbf) -> Self {
        Self { rbf, classes: Classes::default(), fitted: None }
    }
}

impl System for DecisionSvm {
    fn name(&self) -> String {
        "1-vs-rest RBF SVM, decision values".to_owned()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let mut classes = Classes::default();
        let numbers = classes.learn(features, labels)?;
        let count = classes.names.len();
        let fitted = OneVsRest::fit(features, &numbers, count, self.rbf.cost, Some(self.rbf.gamma))?;
        (self.classes, self.fitted) = (classes, Some(fitted));
        Ok(())
    }

    fn classes(&self) -> &[String] {
        &self.classes.names
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let fitted = self.fitted.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        Ok(Scores::new(fitted.machines.len(), &fitted.decisions(queries)))
    }

    /// Where every machine says "one of the others".
    fn threshold(&self) -> f64 {
        0.0
    }

    fn vectors(&self) -> usize {
        self.fitted.as_ref().map_or(0, OneVsRest::vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decision_values_and_probabilities_have_one_order_within_a_class() {
        let values: Vec<f32> =
            (0..60u16).map(|row| f32::from(row % 3) * 3.0 + f32::from(row) / 40.0).collect();
        let features = Features::new(values, 1).unwrap();
        let labels = Labels::new((0..60).map(|row| ["a", "b", "c"][row % 3])).unwrap();
        let rbf = Rbf { cost: 8.0, gamma: 4.0 };
        let (mut plain, mut platt) = (DecisionSvm::new(rbf), PlattSvm::new(rbf));
        plain.fit(&features, &labels).unwrap();
        platt.fit(&features, &labels).unwrap();
        assert_eq!((plain.vectors(), plain.threshold_at(0.1)), (platt.vectors(), None));
        let queries = Features::new(vec![0.5, 1.9, 3.6, 7.0], 1).unwrap();
        let (plain, platt) = (plain.scores(&queries).unwrap(), platt.scores(&queries).unwrap());
        for class in 0..3 {
            let column = |scores: &Scores| (0..4).map(|row| scores.row(row)[class]).collect::<Vec<f64>>();
            let (decisions, probabilities) = (column(&plain), column(&platt));
            for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
                let falls = decisions[a] > decisions[b] && probabilities[a] < probabilities[b];
                assert!(!falls, "{decisions:?} {probabilities:?}");
            }
        }
        let decisions = [0, 2, 3].map(|row| plain.decide(row, 0.0));
        assert_eq!(decisions, [Some(0), Some(1), Some(2)]);
    }
}
