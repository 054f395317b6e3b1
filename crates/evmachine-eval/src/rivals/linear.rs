//! Scores of a linear classifier: its logits `z = W x + b`, and what is made of them.

use faer::linalg::matmul::matmul;
use faer::{Accum, ColRef, Mat, MatRef};

use super::error::{RivalError, same_size};
use super::rows::Rows;

/// A linear classifier over rows as the metric prepares them: of unit length for cosine, as they are for Euclidean.
#[derive(Debug, Clone, Copy)]
pub struct Linear<'a> {
    /// W, one row of as many weights as dimensions for each class, in the order of the labels' names.
    pub weights: &'a [f64],
    /// b, one for each class.
    pub intercepts: &'a [f64],
}

/// What the logits of a row come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Logits {
    /// The class of the largest logit.
    pub(crate) best: usize,
    /// That logit.
    pub(crate) largest: f64,
    /// `ln sum exp (z - largest)`: minus the logarithm of the largest probability, to full precision where that is
    /// nearly 1.
    pub(crate) surplus: f64,
}

impl Logits {
    pub(crate) fn of(logits: ColRef<'_, f64>) -> Self {
        let start = (0, f64::NEG_INFINITY);
        let (best, largest) = logits
            .iter()
            .copied()
            .enumerate()
            .fold(start, |best, next| if next.1 > best.1 { next } else { best });
        let others = logits.iter().enumerate().filter(|&(class, _)| class != best);
        let surplus = others.map(|(_, logit)| (logit - largest).exp()).sum::<f64>().ln_1p();
        Self { best, largest, surplus }
    }

    /// `ln sum exp z`, the energy with its sign turned.
    pub(crate) fn energy(&self) -> f64 {
        self.largest + self.surplus
    }
}

impl<'a> Linear<'a> {
    pub(crate) fn check(&self, dimensions: usize, classes: usize) -> Result<(), RivalError> {
        same_size("intercepts of the linear classifier", classes, self.intercepts.len())?;
        same_size("weights of the linear classifier", classes * dimensions, self.weights.len())
    }

    /// W.
    pub(crate) fn matrix(&self, dimensions: usize) -> MatRef<'a, f64> {
        MatRef::from_row_major_slice(self.weights, self.intercepts.len(), dimensions)
    }

    /// The logits of rows, which are the columns of a matrix, as those of another.
    pub(crate) fn of_columns(&self, columns: &Mat<f64>) -> Mat<f64> {
        let weights = self.matrix(columns.nrows());
        let mut logits = Mat::from_fn(weights.nrows(), columns.ncols(), |class, _| self.intercepts[class]);
        matmul(&mut logits, Accum::Add, weights, columns, 1.0, faer::get_global_parallelism());
        logits
    }

    /// What the logits of each row come to.
    pub(crate) fn logits(&self, rows: &Rows<'_>) -> Vec<Logits> {
        let mut found = Vec::with_capacity(rows.len());
        for block in rows.blocks() {
            found.extend(self.of_columns(&rows.columns(block)).col_iter().map(Logits::of));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use evmachine::{Features, Metric};

    use super::*;

    #[test]
    fn a_hand_computed_example() {
        let rows = Features::new(vec![1.0, 2.0, -1.0, 1000.0], 2).unwrap();
        let linear = Linear { weights: &[1.0, 0.0, 0.0, 1.0, -1.0, 0.0], intercepts: &[0.0, 1.0, -2.0] };
        assert_eq!(linear.check(2, 3), Ok(()));
        let logits = linear.logits(&Rows::new(&Metric::Euclidean, &rows));
        // z = (1, 3, -3) and (-1, 1001, -1).
        assert_eq!((logits[0].best, logits[0].largest), (1, 3.0));
        assert!((logits[0].energy() - (1f64.exp() + 3f64.exp() + (-3f64).exp()).ln()).abs() < 1e-14);
        assert_eq!(logits[1], Logits { best: 1, largest: 1001.0, surplus: 0.0 });
        let near = Features::new(vec![0.0, 39.0], 2).unwrap();
        let logits = linear.logits(&Rows::new(&Metric::Euclidean, &near));
        // Probabilities that round to 1 still differ.
        assert!((logits[0].surplus / ((-40f64).exp() + (-42f64).exp()) - 1.0).abs() < 1e-14);
        let error = linear.check(2, 4).unwrap_err();
        assert_eq!(error.to_string(), "intercepts of the linear classifier: 3 where 4 belong");
    }
}
