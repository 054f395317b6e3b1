//! Feature vectors in double precision, as the columns of a matrix, for products of matrices.

use std::ops::Range;

use evmachine::{Features, Metric};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat};

use super::error::RivalError;

/// Rows that are worked on at once; in 1,000 dimensions they take 16 MB.
pub(crate) const BLOCK: usize = 2_048;

/// Rows of features, scaled to unit length for cosine. Takes 8 bytes a row beside the features.
pub(crate) struct Rows<'a> {
    features: &'a Features<'a>,
    /// What each row is multiplied by: `1 / ||x||`, 0 for a row of zeros. Empty where rows stay as they are.
    scales: Vec<f64>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(metric: &Metric, features: &'a Features<'a>) -> Self {
        let scales = match metric {
            Metric::Cosine => (0..features.rows()).map(|row| inverse_norm(features.row(row))).collect(),
            _ => Vec::new(),
        };
        Self { features, scales }
    }

    /// As [`new`](Self::new), refusing rows that the metric cannot measure. `of` names them in the error.
    pub(crate) fn checked(
        metric: &Metric,
        features: &'a Features<'a>,
        of: &'static str,
    ) -> Result<Self, RivalError> {
        let rows = Self::new(metric, features);
        match rows.scales.iter().position(|&scale| scale == 0.0) {
            Some(row) => Err(RivalError::ZeroVector { of, row }),
            None => Ok(rows),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.features.rows()
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.features.columns()
    }

    /// The vector as it was given.
    pub(crate) fn raw(&self, row: usize) -> &[f32] {
        self.features.row(row)
    }

    /// The rows as they are worked with, in single precision; copied only if they are scaled.
    pub(crate) fn features(&self) -> Features<'_> {
        if self.scales.is_empty() {
            return self.features.borrowed();
        }
        let rows = self.features.iter().zip(&self.scales);
        let values =
            rows.flat_map(|(row, scale)| row.iter().map(move |&value| (f64::from(value) * scale) as f32));
        Features::checked(values.collect(), self.features.columns())
    }

    /// The given rows as the columns of a matrix.
    pub(crate) fn columns(&self, rows: impl ExactSizeIterator<Item = usize>) -> Mat<f64> {
        let mut matrix = Mat::zeros(self.dimensions(), rows.len());
        for (column, row) in matrix.col_iter_mut().zip(rows) {
            let scale = self.scales.get(row).copied().unwrap_or(1.0);
            for (to, &from) in column.iter_mut().zip(self.features.row(row)) {
                *to = f64::from(from) * scale;
            }
        }
        matrix
    }

    /// All rows in blocks of at most [`BLOCK`].
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        blocks(self.len())
    }

    /// The mean of each of `groups` groups of rows, as the columns of a matrix; `group_of` says which is a row's own. No
    /// group is empty.
    pub(crate) fn means(&self, groups: usize, group_of: impl Fn(usize) -> usize) -> Mat<f64> {
        let mut means = Mat::zeros(self.dimensions(), groups);
        let mut counts = vec![0.0; groups];
        for block in self.blocks() {
            let columns = self.columns(block.clone());
            for (column, group) in columns.col_iter().zip(block.map(&group_of)) {
                let mean = means.as_mut().col_mut(group);
                mean.iter_mut().zip(column.iter()).for_each(|(mean, value)| *mean += value);
                counts[group] += 1.0;
            }
        }
        for (mean, count) in means.col_iter_mut().zip(counts) {
            mean.iter_mut().for_each(|value| *value /= count);
        }
        means
    }

    /// The mean of `z z^T`, its lower triangle, and the mean of `||z||^4`, z being a row less the column of `centers`
    /// that `center_of` says. Costs `rows * d^2 / 2` multiplications.
    pub(crate) fn moments(&self, centers: &Mat<f64>, center_of: impl Fn(usize) -> usize) -> (Mat<f64>, f64) {
        let mut second = Mat::zeros(self.dimensions(), self.dimensions());
        let mut fourth = 0.0;
        for block in self.blocks() {
            let mut columns = self.columns(block.clone());
            for (column, row) in columns.col_iter_mut().zip(block) {
                let center = centers.col(center_of(row));
                let mut squares = 0.0;
                for (value, center) in column.iter_mut().zip(center.iter()) {
                    *value -= center;
                    squares += *value * *value;
                }
                fourth += squares * squares;
            }
            triangular::matmul(
                &mut second,
                BlockStructure::TriangularLower,
                Accum::Add,
                &columns,
                BlockStructure::Rectangular,
                columns.transpose(),
                BlockStructure::Rectangular,
                1.0,
                faer::get_global_parallelism(),
            );
        }
        let count = self.len() as f64;
        second.col_iter_mut().for_each(|column| column.iter_mut().for_each(|value| *value /= count));
        (second, fourth / count)
    }
}

/// `0..rows` in blocks of at most [`BLOCK`].
pub(crate) fn blocks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(BLOCK).map(move |first| first..(first + BLOCK).min(rows))
}

/// The squared length of each column.
pub(crate) fn squared_lengths(columns: &Mat<f64>) -> Vec<f64> {
    columns.col_iter().map(|column| column.iter().map(|value| value * value).sum()).collect()
}

/// `1 / ||x||`; 0 for a vector of zeros.
fn inverse_norm(values: &[f32]) -> f64 {
    let squared: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    if squared > 0.0 { 1.0 / squared.sqrt() } else { 0.0 }
}
