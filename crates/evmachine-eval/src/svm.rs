//! Support vector machines, trained by `libsvm-rs`; those of two classes and of one are evaluated here, on dense rows.

use libsvm_rs::predict::predict;
use libsvm_rs::train::svm_train;
use libsvm_rs::{KernelType, SvmModel, SvmNode, SvmParameter, SvmProblem, SvmType, check_parameter};
use thiserror::Error;

/// Parameters or rows that no machine can be trained with.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("support vector machine: {detail}")]
pub struct SvmError {
    /// What the library said.
    pub detail: String,
}

/// The parameters of an RBF machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rbf {
    /// The cost C.
    pub cost: f64,
    /// gamma of `exp(-gamma |x - y|^2)`.
    pub gamma: f64,
}

/// A decision function: a sum of kernels, or for a linear machine the one vector that it comes to.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Row by row.
    vectors: Vec<f32>,
    coefficients: Vec<f64>,
    columns: usize,
    rho: f64,
    /// `None` for a linear machine.
    gamma: Option<f64>,
    /// Support vectors of the positive and of the negative class.
    pub support: (usize, usize),
}

/// MB of kernel values that a solver may keep.
const CACHE: f64 = 256.0;

impl Machine {
    /// Tells `positive` rows from the others.
    pub fn binary(
        rows: &[&[f32]],
        positive: &[bool],
        cost: f64,
        gamma: Option<f64>,
    ) -> Result<Self, SvmError> {
        let kernel_type = if gamma.is_some() { KernelType::Rbf } else { KernelType::Linear };
        let parameter = SvmParameter {
            svm_type: SvmType::CSvc,
            kernel_type,
            gamma: gamma.unwrap_or(1.0),
            c: cost,
            cache_size: CACHE,
            ..SvmParameter::default()
        };
        let labels = positive.iter().map(|&positive| if positive { 1.0 } else { -1.0 }).collect();
        let model = train(rows, labels, &parameter)?;
        // The library counts a decision for the label that it met first.
        let sign = if model.label.first() == Some(&1) { 1.0 } else { -1.0 };
        let count = |label: i32| {
            let index = model.label.iter().position(|&found| found == label);
            index.and_then(|index| model.n_sv.get(index)).copied().unwrap_or(0)
        };
        let support = (count(1), count(-1));
        Ok(Self::new(&model, rows, sign, gamma, support))
    }

    /// Encloses rows of one class.
    pub fn one_class(rows: &[&[f32]], nu: f64, gamma: f64) -> Result<Self, SvmError> {
        let parameter = SvmParameter {
            svm_type: SvmType::OneClass,
            kernel_type: KernelType::Rbf,
            gamma,
            nu,
            cache_size: CACHE,
            ..SvmParameter::default()
        };
        let model = train(rows, vec![1.0; rows.len()], &parameter)?;
        let support = (model.sv.len(), 0);
        Ok(Self::new(&model, rows, 1.0, Some(gamma), support))
    }

    fn new(
        model: &SvmModel,
        rows: &[&[f32]],
        sign: f64,
        gamma: Option<f64>,
        support: (usize, usize),
    ) -> Self {
        let columns = rows.first().map_or(0, |row| row.len());
        let mut vectors = vec![0.0; model.sv.len() * columns];
        for (vector, nodes) in vectors.chunks_exact_mut(columns.max(1)).zip(&model.sv) {
            for node in nodes {
                vector[node.index as usize - 1] = node.value as f32;
            }
        }
        let coefficients: Vec<f64> =
            model.sv_coef.first().into_iter().flatten().map(|coefficient| sign * coefficient).collect();
        let rho = sign * model.rho.first().expect("a trained machine has an offset");
        let machine = Self { vectors, coefficients, columns, rho, gamma, support };
        if gamma.is_some() { machine } else { machine.collapsed() }
    }

    /// A linear machine as its one vector.
    fn collapsed(self) -> Self {
        let mut sum = vec![0.0f64; self.columns];
        for (vector, coefficient) in self.vectors.chunks_exact(self.columns.max(1)).zip(&self.coefficients) {
            sum.iter_mut().zip(vector).for_each(|(sum, &value)| *sum += coefficient * f64::from(value));
        }
        Self { vectors: sum.iter().map(|&value| value as f32).collect(), coefficients: vec![1.0], ..self }
    }

    /// The decision value; positive inside.
    pub fn decision(&self, row: &[f32]) -> f64 {
        let pairs = self.vectors.chunks_exact(self.columns.max(1)).zip(&self.coefficients);
        let sum: f64 = match self.gamma {
            Some(gamma) => pairs
                .map(|(vector, coefficient)| {
                    let squared: f32 = vector.iter().zip(row).map(|(a, b)| (a - b) * (a - b)).sum();
                    coefficient * (-gamma * f64::from(squared)).exp()
                })
                .sum(),
            None => pairs
                .map(|(vector, coefficient)| {
                    let product: f32 = vector.iter().zip(row).map(|(a, b)| a * b).sum();
                    coefficient * f64::from(product)
                })
                .sum(),
        };
        sum - self.rho
    }

    /// Support vectors, both classes.
    pub fn vectors(&self) -> usize {
        self.support.0 + self.support.1
    }
}

/// Machines of all pairs of classes, which vote.
pub(crate) struct Voting {
    model: SvmModel,
}

impl Voting {
    /// Tells the classes of rows apart.
    pub(crate) fn fit(rows: &[&[f32]], classes: &[usize], rbf: Rbf) -> Result<Self, SvmError> {
        let parameter = SvmParameter {
            kernel_type: KernelType::Rbf,
            gamma: rbf.gamma,
            c: rbf.cost,
            cache_size: CACHE,
            ..SvmParameter::default()
        };
        let labels = classes.iter().map(|&class| class as f64).collect();
        Ok(Self { model: train(rows, labels, &parameter)? })
    }

    /// The class that most machines vote for.
    pub(crate) fn class_of(&self, row: &[f32]) -> usize {
        predict(&self.model, &nodes(row)) as usize
    }
}

/// A row as the library reads it.
fn nodes(row: &[f32]) -> Vec<SvmNode> {
    let filled = (1..).zip(row).filter(|(_, value)| **value != 0.0);
    filled.map(|(index, &value)| SvmNode { index, value: f64::from(value) }).collect()
}

fn train(rows: &[&[f32]], labels: Vec<f64>, parameter: &SvmParameter) -> Result<SvmModel, SvmError> {
    libsvm_rs::set_quiet(true);
    let problem = SvmProblem { labels, instances: rows.iter().map(|row| nodes(row)).collect() };
    check_parameter(&problem, parameter).map_err(|error| SvmError { detail: error.to_string() })?;
    Ok(svm_train(&problem, parameter))
}

/// Rows, one after the other, as slices.
pub fn rows(values: &[f32], columns: usize) -> Vec<&[f32]> {
    values.chunks_exact(columns.max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_does_not_depend_on_which_class_comes_first() {
        let values = [0.0f32, 0.1, 0.9, 1.0];
        let rows = rows(&values, 1);
        for positive in [[false, false, true, true], [true, true, false, false]] {
            for gamma in [None, Some(1.0)] {
                let machine = Machine::binary(&rows, &positive, 10.0, gamma).unwrap();
                for (row, positive) in rows.iter().zip(positive) {
                    assert_eq!(machine.decision(row) > 0.0, positive);
                }
            }
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let values = [0.0f32, 1.0];
        let error = Machine::binary(&rows(&values, 1), &[true, false], -1.0, None).unwrap_err();
        assert!(error.to_string().contains("support vector machine"), "{error}");
    }

    /// Features are letters' whole numbers, of which machines see fifteenths.
    #[derive(serde::Deserialize)]
    struct Golden {
        columns: usize,
        train: Vec<f32>,
        positive: Vec<bool>,
        queries: Vec<f32>,
        cost: f64,
        gamma: f64,
        nu: f64,
        binary: Vec<f64>,
        binary_support: (usize, usize),
        linear: Vec<f64>,
        one_class: Vec<f64>,
        sigmoid: (f64, f64),
    }

    /// Solvers stop where no pair of rows violates the optimum by more than 1e-3; decision values agree to a few
    /// times that.
    fn close(machine: &Machine, queries: &[&[f32]], expected: &[f64]) {
        for (row, expected) in queries.iter().zip(expected) {
            let found = machine.decision(row);
            assert!((found - expected).abs() < 5e-3 * expected.abs().max(1.0), "{found} {expected}");
        }
    }

    /// `tests/golden/svm.py` wrote the numbers, from scikit-learn.
    #[test]
    fn machines_are_those_of_scikit_learn() {
        let golden: Golden = serde_json::from_str(include_str!("../tests/golden/svm.json")).unwrap();
        let scaled = |values: &[f32]| values.iter().map(|value| value / 15.0).collect::<Vec<f32>>();
        let (train, queries) = (scaled(&golden.train), scaled(&golden.queries));
        let (train, queries) = (rows(&train, golden.columns), rows(&queries, golden.columns));
        let binary = Machine::binary(&train, &golden.positive, golden.cost, Some(golden.gamma)).unwrap();
        close(&binary, &queries, &golden.binary);
        let (own, others) = golden.binary_support;
        assert!(binary.support.0.abs_diff(own) <= 1 && binary.support.1.abs_diff(others) <= 1);
        let linear = Machine::binary(&train, &golden.positive, golden.cost, None).unwrap();
        close(&linear, &queries, &golden.linear);
        let own: Vec<&[f32]> =
            train.iter().zip(&golden.positive).filter(|(_, own)| **own).map(|(row, _)| *row).collect();
        close(&Machine::one_class(&own, golden.nu, golden.gamma).unwrap(), &queries, &golden.one_class);
        let signs: Vec<f64> = golden.positive.iter().map(|&own| if own { 1.0 } else { -1.0 }).collect();
        let decisions: Vec<f64> = train.iter().map(|row| binary.decision(row)).collect();
        let (a, b) = libsvm_rs::probability::sigmoid_train(&decisions, &signs);
        assert!((a - golden.sigmoid.0).abs() < 0.02 * a.abs(), "{a} {}", golden.sigmoid.0);
        assert!((b - golden.sigmoid.1).abs() < 0.02 * b.abs().max(1.0), "{b} {}", golden.sigmoid.1);
    }
}
