//! Mahalanobis' distance to class means, under one covariance that all classes share.
//!
//! With S the mean of `(x - m)(x - m)^T`, m being the mean of the row's class, and `v = tr S / d`, the covariance is
//! `C = (1 - s) S + s v I` with the share s of Ledoit and Wolf (2004), which needs no tuning. The distance of a query to
//! a class is `(x - m)^T C^-1 (x - m)`. Relative to it (Ren et al. 2021) is the same less the distance to the mean of
//! all rows under the covariance of all rows.
//!
//! Costs `rows * d^2 / 2` multiplications and `d^3 / 3` for the factor, and `d^2 / 2 + d * classes` a query.

use faer::linalg::solvers::Llt;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, Side};

use super::error::RivalError;
use super::rows::{Rows, squared_lengths};

/// The share of I at least, so that constant and dependent columns leave C invertible.
const LEAST_SHARE: f64 = 1e-9;

/// Centres, and the covariance around them.
pub(crate) struct Gaussian {
    /// `C = L L^T`.
    factor: Llt<f64>,
    /// Subtracted before anything else, so that features far from 0 lose no digits.
    origin: Vec<f64>,
    /// `L^-1 (m - origin)`, one column a centre.
    centers: Mat<f64>,
    /// The squared length of each of these.
    squares: Vec<f64>,
}

impl Gaussian {
    /// The means of `groups` groups of rows, and the covariance around them; `group_of` says which is a row's own.
    pub(crate) fn fit(
        rows: &Rows<'_>,
        groups: usize,
        group_of: impl Fn(usize) -> usize,
    ) -> Result<Self, RivalError> {
        let mut centers = rows.means(groups, &group_of);
        let covariance = shrunk(rows.moments(&centers, group_of), rows.len());
        let factor = covariance.llt(Side::Lower).map_err(|_| RivalError::Matrix {
            what: "the covariance of the training rows",
            factor: "Cholesky factor",
        })?;
        let count = centers.ncols() as f64;
        let origin: Vec<f64> = centers.row_iter().map(|row| row.iter().sum::<f64>() / count).collect();
        whiten(&factor, &origin, &mut centers);
        let squares = squared_lengths(&centers);
        Ok(Self { factor, origin, centers, squares })
    }

    /// The nearest centre of each row, and Mahalanobis' distance to it, squared.
    pub(crate) fn nearest(&self, rows: &Rows<'_>) -> Vec<(usize, f64)> {
        let mut nearest = Vec::with_capacity(rows.len());
        for block in rows.blocks() {
            let mut columns = rows.columns(block);
            whiten(&self.factor, &self.origin, &mut columns);
            let products = self.centers.transpose() * &columns;
            let own = squared_lengths(&columns);
            nearest.extend(products.col_iter().zip(own).map(|(products, own)| {
                let distances = products.iter().zip(&self.squares).map(|(product, square)| {
                    // Rounding alone can make it negative.
                    (own + square - 2.0 * product).max(0.0)
                });
                super::nearest_of(distances)
            }));
        }
        nearest
    }
}

/// Columns less `origin`, by `L^-1`: their squared distances are Mahalanobis'.
fn whiten(factor: &Llt<f64>, origin: &[f64], columns: &mut Mat<f64>) {
    for column in columns.col_iter_mut() {
        column.iter_mut().zip(origin).for_each(|(value, origin)| *value -= origin);
    }
    solve_lower_triangular_in_place(factor.L(), columns.as_mut(), faer::get_global_parallelism());
}

/// The covariance of Ledoit and Wolf, its lower triangle, from second and fourth moments of `rows` rows around their
/// centres. I where the rows do not spread at all.
fn shrunk((mut second, fourth): (Mat<f64>, f64), rows: usize) -> Mat<f64> {
    let d = second.nrows();
    let variance = (0..d).map(|i| second[(i, i)]).sum::<f64>() / d as f64;
    if variance <= 0.0 {
        return Mat::identity(d, d);
    }
    // In the unit of the mean variance nothing overflows, and S is compared with I.
    let squares: f64 = (0..d)
        .map(|column| {
            let below: f64 = (column + 1..d).map(|row| (second[(row, column)] / variance).powi(2)).sum();
            2.0 * below + (second[(column, column)] / variance).powi(2)
        })
        .sum();
    let noise = (fourth / (variance * variance) - squares) / rows as f64;
    let spread = squares - d as f64;
    let share = if spread > 0.0 { (noise / spread).clamp(LEAST_SHARE, 1.0) } else { 1.0 };
    second.col_iter_mut().for_each(|column| column.iter_mut().for_each(|value| *value *= 1.0 - share));
    for i in 0..d {
        second[(i, i)] += share * variance;
    }
    second
}
