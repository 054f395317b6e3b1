//! Whitening: the spread of the classes made alike in all directions, so that a distance counts for more where classes
//! are narrow.
//!
//! C is the within-class covariance of the rows of the first batch, of unit vectors for cosine: the mean of
//! `(x - m)(x - m)^T`, m being the mean of the row's class. With fraction w and the mean variance `v = tr C / d`,
//!
//! ```text
//! S = w C + max(1 - w, 1e-6) v I = L L^T        x' = W x,  W = sqrt(v) L^-1
//! ```
//!
//! so that `||x' - y'||^2 = v (x - y)^T S^-1 (x - y)`, Mahalanobis' distance in the unit of the features. The share of I
//! keeps S invertible for constant or dependent columns, more columns than rows, and w = 1. Without any spread within
//! classes W is I. For cosine, x' is scaled to unit length again.
//!
//! Costs `rows * d^2 / 2` multiplications and `2/3 d^3` for the factor and its inverse, once for a model, and
//! `d^2 / 2` a query.

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::error::RunError;
use evmachine_engine::device::{Part, ScatterWork, TransformWork, Vectors, WorkKind, unless_given_way};
use evmachine_engine::matrix::{self, COLUMNS, Factor, ROWS, add_product, add_row};
use evmachine_engine::points::{Picked, Points};
use evmachine_engine::run::{Meter, Run, Stage};

/// The share of I in S at least.
const LEAST_SHARE: f64 = 1e-6;
/// Rows of features, and of matrices, that are worked on at once.
const BLOCK: usize = 128;

/// W of a model. Takes 8 bytes an entry in memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Whitening {
    dimensions: usize,
    /// `dimensions` in whole tiles.
    size: usize,
    /// The transpose of W, `size x size`, with zeros where there is no dimension; entries are `f32`, as in the file.
    across: Vec<f64>,
}

/// What whitening one row leaves to the next.
#[derive(Default)]
pub(crate) struct WhiteningMemory {
    row: Vec<f64>,
    sums: Vec<f64>,
}

/// The rows that C is taken over, grouped by class: row `order[i]` is of class `classes[i]`.
#[derive(Clone, Copy)]
pub(crate) struct Grouped<'a> {
    pub(crate) points: &'a Points<'a>,
    pub(crate) order: &'a [usize],
    pub(crate) classes: &'a [u32],
}

impl Whitening {
    pub(crate) fn estimate(run: &Run<'_>, fraction: f64, rows: &Grouped<'_>) -> Result<Self, RunError> {
        let dimensions = rows.points.dimensions();
        let size = dimensions.next_multiple_of(COLUMNS);
        let mut matrix = scatter(run, rows, size)?;
        let trace: f64 = (0..dimensions).map(|i| matrix[i * size + i]).sum();
        let variance = trace / dimensions as f64;
        let share = (1.0 - fraction).max(LEAST_SHARE);
        let scale = if variance > 0.0 { fraction / variance } else { 0.0 };
        matrix.par_iter_mut().for_each(|value| *value *= scale);
        for i in 0..size {
            matrix[i * size + i] += if variance > 0.0 { share } else { 1.0 };
        }
        matrix::factor(&mut matrix, size, share);
        let mut across = matrix::inverse_transposed(&matrix, size);
        across.par_iter_mut().for_each(|value| *value = f64::from(*value as f32));
        for i in dimensions..size {
            across[i * size + i] = 0.0;
        }
        Ok(Self { dimensions, size, across })
    }

    /// From W, row after row. `None` where it is not one that [`estimate`](Self::estimate) can give: lower triangular,
    /// with entries of 1000 at most and positive ones on the diagonal.
    pub(crate) fn from_rows(values: &[f32], dimensions: usize) -> Option<Self> {
        // The eigenvalues of S / v lie between the least share and d + 1.
        let largest = 1.01 / LEAST_SHARE.sqrt();
        let smallest = 0.99 / (dimensions as f64 + 1.0).sqrt();
        let size = dimensions.next_multiple_of(COLUMNS);
        let mut across = vec![0.0; size * size];
        for (i, row) in values.chunks_exact(dimensions).enumerate() {
            for (k, &value) in row.iter().enumerate() {
                let value = f64::from(value);
                let possible = match k.cmp(&i) {
                    std::cmp::Ordering::Less => value.abs() <= largest,
                    std::cmp::Ordering::Equal => (smallest..=largest).contains(&value),
                    std::cmp::Ordering::Greater => value == 0.0,
                };
                if !possible {
                    return None;
                }
                across[k * size + i] = value;
            }
        }
        Some(Self { dimensions, size, across })
    }

    /// W, row after row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = f32> + Clone {
        let entries = (0..self.dimensions).flat_map(move |i| (0..self.dimensions).map(move |k| (i, k)));
        entries.map(|(i, k)| self.across[k * self.size + i] as f32)
    }

    /// The x of which `vector` is `W x`, by forward substitution.
    pub(crate) fn undo(&self, vector: &[f32]) -> Vec<f32> {
        let mut rest: Vec<f64> = vector.iter().map(|&value| f64::from(value)).collect();
        for k in 0..self.dimensions {
            let column = &self.across[k * self.size + k..k * self.size + self.dimensions];
            rest[k] /= column[0];
            let value = rest[k];
            for (rest, multiple) in rest[k + 1..].iter_mut().zip(&column[1..]) {
                *rest -= multiple * value;
            }
        }
        rest.into_iter().map(|value| value as f32).collect()
    }

    /// `W x` for every row. The result for a row depends on that row alone.
    pub(crate) fn apply(&self, points: &Points<'_>) -> Vec<f32> {
        let mut values = vec![0.0; points.len() * self.dimensions];
        self.apply_from(points, 0, &mut values);
        values
    }

    /// As [`apply`](Self::apply), for the rows from `first` on that `values` has room for; on the device of the run if there is one.
    pub(crate) fn apply_there(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        first: usize,
        values: &mut [f32],
    ) -> Result<(), RunError> {
        let d = self.dimensions;
        let rows = values.len() / d;
        if let Some(device) = run.device_for(WorkKind::Whitening, multiplications(rows, d)) {
            let part = Part { source: points, range: first..first + rows };
            let work =
                TransformWork { dimensions: d, vectors: &part, matrix: &self.across, stride: self.size };
            if unless_given_way(device, device.transform(&work, values))?.is_some() {
                return Ok(());
            }
        }
        self.apply_from(points, first, values);
        Ok(())
    }

    /// As [`apply`](Self::apply), for the rows from `first` on that `values` has room for.
    pub(crate) fn apply_from(&self, points: &Points<'_>, first: usize, values: &mut [f32]) {
        let d = self.dimensions;
        values.par_chunks_mut(BLOCK * d).enumerate().for_each(|(block, out)| {
            let count = out.len() / d;
            let height = count.next_multiple_of(ROWS);
            let mut row = vec![0.0; d];
            let mut left = vec![0.0; d * height];
            for lane in 0..count {
                points.write_row(first + block * BLOCK + lane, &mut row);
                for (slot, &value) in left[lane..].iter_mut().step_by(height).zip(&row) {
                    *slot = f64::from(value);
                }
            }
            let left = Factor { values: &left, stride: height };
            let mut sums = vec![0.0; height * self.size];
            for first in (0..self.size).step_by(BLOCK) {
                let end = (first + BLOCK).min(self.size);
                // Row i of W ends at its diagonal.
                let right = Factor { values: &self.across[first..], stride: self.size };
                let into = (&mut sums[first..], self.size);
                add_product(end.min(d), (left, height), (right, end - first), into);
            }
            for (out, sums) in out.chunks_exact_mut(d).zip(sums.chunks_exact(self.size)) {
                for (out, &sum) in out.iter_mut().zip(sums) {
                    *out = sum as f32;
                }
            }
        });
    }

    /// Writes `W x` over a row x, on this thread: bit for bit what [`apply`](Self::apply) makes of it.
    pub(crate) fn apply_to_one(&self, row: &mut [f32], memory: &mut WhiteningMemory) {
        let (d, size) = (self.dimensions, self.size);
        let WhiteningMemory { row: wide, sums } = memory;
        wide.clear();
        wide.extend(row.iter().map(|&value| f64::from(value)));
        sums.clear();
        sums.resize(size, 0.0);
        for first in (0..size).step_by(BLOCK) {
            let end = (first + BLOCK).min(size);
            let right = Factor { values: &self.across[first..], stride: size };
            add_row(&wide[..end.min(d)], right, &mut sums[first..end]);
        }
        for (value, &sum) in row.iter_mut().zip(&*sums) {
            *value = sum as f32;
        }
    }
}

/// The lower triangle of C times the number of rows, `size x size`; in blocks on the diagonal, more than that.
fn scatter(run: &Run<'_>, rows: &Grouped<'_>, size: usize) -> Result<Vec<f64>, RunError> {
    let meter = run.meter(Stage::Whitening, rows.order.len());
    let d = rows.points.dimensions();
    let means = class_means(rows);
    if let Some(matrix) = scatter_there(run, rows, &means, size, &meter)? {
        return Ok(matrix);
    }
    let mut matrix = vec![0.0; size * size];
    let mut centred = vec![0.0; BLOCK.min(rows.order.len()) * size];
    for (order, classes) in rows.order.chunks(BLOCK).zip(rows.classes.chunks(BLOCK)) {
        meter.check()?;
        let centred = &mut centred[..order.len() * size];
        centred.par_chunks_exact_mut(size).zip(order.par_iter().zip(classes)).for_each_init(
            || vec![0.0; d],
            |row, (centred, (&index, &class))| {
                rows.points.write_row(index, row);
                let mean = &means[class as usize * d..(class as usize + 1) * d];
                for ((centred, &value), mean) in centred.iter_mut().zip(&*row).zip(mean) {
                    *centred = f64::from(value) - mean;
                }
            },
        );
        let centred = Factor { values: centred, stride: size };
        matrix.par_chunks_mut(BLOCK * size).enumerate().for_each(|(block, out)| {
            let (first, count) = (block * BLOCK, out.len() / size);
            let left = Factor { values: &centred.values[first..], stride: size };
            add_product(order.len(), (left, count), (centred, first + count), (out, size));
        });
        meter.advance(order.len())?;
    }
    Ok(matrix)
}

/// As [`scatter`], by a device; `None` if there is none for it, or it gave way.
fn scatter_there(
    run: &Run<'_>,
    rows: &Grouped<'_>,
    means: &[f64],
    size: usize,
    meter: &Meter<'_>,
) -> Result<Option<Vec<f64>>, RunError> {
    let d = rows.points.dimensions();
    let Some(device) = run.device_for(WorkKind::Whitening, multiplications(rows.order.len(), d)) else {
        return Ok(None);
    };
    let watch = |count| {
        if meter.advance(count).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let values = &Picked { points: rows.points, indices: rows.order };
    let vectors = Vectors { values, classes: rows.classes };
    let work = ScatterWork { dimensions: d, vectors, means, watch: &watch };
    let Some(found) = unless_given_way(device, device.scatter(&work))? else { return Ok(None) };
    let mut matrix = vec![0.0; size * size];
    for (row, found) in matrix.chunks_exact_mut(size).zip(found.chunks_exact(d)) {
        row[..d].copy_from_slice(found);
    }
    Ok(Some(matrix))
}

/// Of the product of rows with a triangular matrix.
fn multiplications(rows: usize, dimensions: usize) -> u64 {
    (rows as u64).saturating_mul(dimensions as u64).saturating_mul(dimensions as u64) / 2
}

/// By class, the mean of its rows: exact where they are all the same, because sums of equal `f32` are in `f64`.
fn class_means(rows: &Grouped<'_>) -> Vec<f64> {
    let d = rows.points.dimensions();
    let classes = rows.classes.last().map_or(0, |&class| class as usize + 1);
    let mut means = vec![0.0; classes * d];
    means.par_chunks_exact_mut(d).enumerate().for_each(|(class, mean)| {
        let start = rows.classes.partition_point(|&other| (other as usize) < class);
        let end = rows.classes.partition_point(|&other| other as usize <= class);
        let mut row = vec![0.0; d];
        for &index in &rows.order[start..end] {
            rows.points.write_row(index, &mut row);
            for (sum, &value) in mean.iter_mut().zip(&row) {
                *sum += f64::from(value);
            }
        }
        for sum in mean {
            *sum /= (end - start).max(1) as f64;
        }
    });
    means
}
