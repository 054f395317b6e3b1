//! Virtual logit matching (Wang et al. 2022): the energy of a linear classifier less how far a row lies outside the
//! subspace that training rows fill.
//!
//! With the origin `o = -W^+ b`, where all logits are 0, the subspace is spanned by the leading half of the eigenvectors
//! of the mean of `(x - o)(x - o)^T`. `r(x)` is the length of `x - o` in the others, and alpha the sum of the largest
//! logits of the training rows over the sum of their lengths; the score is `ln sum exp z - alpha r(x)`.
//!
//! Costs `rows * d^2` multiplications, about `9 d^3` for the eigenvectors, and `d^2 / 2` a query.

use faer::{Mat, Side};

use super::error::RivalError;
use super::linear::{Linear, Logits};
use super::rows::Rows;

/// Singular values of W below this share of the largest count as 0: weights of classes sum to 0 up to rounding, and the
/// direction that is left over says nothing.
const LEAST_SINGULAR: f64 = 1e-6;
/// With more classes than this for each dimension the mean of the rows is the origin.
const MOST_CLASSES: usize = 4;

/// The subspace that training rows leave empty, or nearly so.
pub(crate) struct Residual {
    origin: Mat<f64>,
    /// One column for each direction.
    directions: Mat<f64>,
    /// How much a logit is worth in units of length.
    alpha: f64,
}

impl Residual {
    /// From training rows and what their logits come to.
    pub(crate) fn fit(rows: &Rows<'_>, linear: &Linear<'_>, logits: &[Logits]) -> Result<Self, RivalError> {
        let d = rows.dimensions();
        let crowded = linear.intercepts.len() > MOST_CLASSES * d;
        let origin = if crowded { rows.means(1, |_| 0) } else { origin(linear, d)? };
        let (second, _) = rows.moments(&origin, |_| 0);
        let eigen = second.self_adjoint_eigen(Side::Lower).map_err(|_| RivalError::Matrix {
            what: "the second moment of the training rows",
            factor: "eigenvectors",
        })?;
        // Eigenvalues ascend.
        let kept = (d / 2).min(d - 1).max(1);
        let directions = eigen.U().subcols(0, d - kept).to_owned();
        let mut residual = Self { origin, directions, alpha: 0.0 };
        let length: f64 = residual.lengths(rows).iter().sum();
        if length > 0.0 {
            residual.alpha = logits.iter().map(|logits| logits.largest).sum::<f64>() / length;
        }
        Ok(residual)
    }

    /// `alpha r(x)` of each row.
    pub(crate) fn virtual_logits(&self, rows: &Rows<'_>) -> Vec<f64> {
        self.lengths(rows).into_iter().map(|length| self.alpha * length).collect()
    }

    fn lengths(&self, rows: &Rows<'_>) -> Vec<f64> {
        let mut lengths = Vec::with_capacity(rows.len());
        for block in rows.blocks() {
            let mut columns = rows.columns(block);
            for column in columns.col_iter_mut() {
                column.iter_mut().zip(self.origin.col(0).iter()).for_each(|(value, origin)| *value -= origin);
            }
            let left = self.directions.transpose() * &columns;
            lengths.extend(
                left.col_iter().map(|left| left.iter().map(|value| value * value).sum::<f64>().sqrt()),
            );
        }
        lengths
    }
}

/// `-W^+ b`, the shortest of the vectors whose logits are nearest to 0.
fn origin(linear: &Linear<'_>, dimensions: usize) -> Result<Mat<f64>, RivalError> {
    let svd = linear
        .matrix(dimensions)
        .thin_svd()
        .map_err(|_| RivalError::Matrix { what: "the matrix of weights", factor: "singular values" })?;
    let singular: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    let least = LEAST_SINGULAR * singular.first().copied().unwrap_or(0.0);
    let mut origin = Mat::zeros(dimensions, 1);
    for (number, &value) in singular.iter().enumerate().filter(|&(_, &value)| value > least) {
        let product: f64 = svd.U().col(number).iter().zip(linear.intercepts).map(|(u, b)| u * b).sum();
        let column = origin.as_mut().col_mut(0);
        for (sum, v) in column.iter_mut().zip(svd.V().col(number).iter()) {
            *sum -= v * product / value;
        }
    }
    Ok(origin)
}

#[cfg(test)]
mod tests {
    use evmachine::{Features, Metric};

    use super::*;

    #[test]
    fn the_origin_has_no_logits() {
        // Logits x - 1, 1 - x and 0: all vanish at x = 1, and the shortest such vector has y = 0.
        let linear = Linear { weights: &[1.0, 0.0, -1.0, 0.0, 0.0, 0.0], intercepts: &[-1.0, 1.0, 0.0] };
        let origin = origin(&linear, 2).unwrap();
        assert!((origin[(0, 0)] - 1.0).abs() < 1e-14 && origin[(1, 0)].abs() < 1e-14);
    }

    #[test]
    fn what_lies_outside_the_subspace_costs() {
        let linear = Linear { weights: &[1.0, 0.0, -1.0, 0.0], intercepts: &[0.0, 0.0] };
        let train = Features::new(vec![3.0, 0.5, -3.0, 0.5, 5.0, -0.5, -5.0, -0.5], 2).unwrap();
        let rows = Rows::new(&Metric::Euclidean, &train);
        let residual = Residual::fit(&rows, &linear, &linear.logits(&rows)).unwrap();
        // The largest logits sum to 16, and each row lies 0.5 above or below the line of x.
        assert!((residual.alpha - 8.0).abs() < 1e-12, "{}", residual.alpha);
        let query = Features::new(vec![4.0, 2.0], 2).unwrap();
        let found = residual.virtual_logits(&Rows::new(&Metric::Euclidean, &query));
        assert!((found[0] - 16.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn one_dimension_leaves_nothing_over() {
        let linear = Linear { weights: &[1.0, -1.0], intercepts: &[0.0, 0.0] };
        let train = Features::new(vec![3.0, -3.0], 1).unwrap();
        let rows = Rows::new(&Metric::Euclidean, &train);
        let residual = Residual::fit(&rows, &linear, &linear.logits(&rows)).unwrap();
        assert_eq!(residual.virtual_logits(&rows), [0.0, 0.0]);
    }
}
