//! The loss of a linear probe over rows, and its gradient.
//!
//! With weights W (classes x dimensions), intercepts b, logits `z = W x + b` of a standardised row x of class y, and the
//! rows' own weights v,
//!
//! ```text
//! F(W, b) = sum_i v_i (ln sum_c e^(z_ic) - z_iy) / sum_i v_i + penalty / 2 |W|^2
//! ```
//!
//! Costs `4 rows * dimensions * classes` operations in `f32`. Sums run in one fixed order, whatever the number of threads.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::error::RunError;
use crate::input::standard::Standard;
use evmachine_engine::device::{self, Device, Loss, LossWork, WorkKind, unless_given_way};
use evmachine_engine::math;
use evmachine_engine::matrix::{Factor, ROWS, Scalar, add_product};
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;

/// Rows whose logits are computed at once.
const BLOCK: usize = 32 * ROWS;
/// Rows whose residuals are held at once.
pub(super) const SPAN: usize = 16 * BLOCK;
/// Dimensions of the gradient that a thread sums at once.
const STRIPE: usize = 8 * ROWS;

/// Standardised rows with their classes.
pub(crate) struct ProbeRows<'a> {
    source: Source<'a>,
    stride: usize,
    pub(crate) dimensions: usize,
    classes: Vec<u32>,
    /// Divided by their sum.
    shares: Vec<f64>,
    pub(crate) class_count: usize,
    there: Option<There<'a>>,
}

/// A device that has the rows too.
struct There<'a> {
    device: &'a dyn Device,
    loss: Box<dyn Loss + 'a>,
    gave_way: AtomicBool,
}

/// Passes over the rows that a fit takes at least, which is what sending them to a device pays for.
const PASSES: u64 = 10;

/// Where standardised rows are.
struct Source<'a> {
    standard: &'a Standard,
    points: &'a Points<'a>,
    rows: &'a [usize],
    /// Row after row, `stride` values each, zeros behind the dimensions; empty if they are made again whenever they are needed.
    values: Vec<f32>,
}

/// Some of the rows.
struct Part<'a> {
    first: usize,
    stride: usize,
    values: Cow<'a, [f32]>,
}

impl Part<'_> {
    /// From that row on.
    fn from(&self, row: usize) -> &[f32] {
        &self.values[(row - self.first) * self.stride..]
    }
}

impl device::Source for Source<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        for (row, &index) in out.chunks_exact_mut(self.points.dimensions()).zip(&self.rows[first..]) {
            self.points.write_row(index, row);
            self.standard.apply(row);
        }
    }
}

impl Source<'_> {
    fn part(&self, stride: usize, rows: Range<usize>) -> Vec<f32> {
        let dimensions = self.points.dimensions();
        let mut values = vec![0.0; rows.len() * stride];
        values.par_chunks_exact_mut(stride).zip(&self.rows[rows]).for_each(|(row, &index)| {
            self.points.write_row(index, &mut row[..dimensions]);
            self.standard.apply(&mut row[..dimensions]);
        });
        values
    }
}

/// Intercepts first, then the weights of each dimension: `[1 + dimension][class]`, classes in whole vectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Coefficients {
    pub(crate) values: Vec<f64>,
    pub(crate) width: usize,
}

impl Coefficients {
    pub(crate) fn zeros(dimensions: usize, classes: usize) -> Self {
        let width = Self::width(classes);
        Self { values: vec![0.0; (1 + dimensions.next_multiple_of(STRIPE)) * width], width }
    }

    /// So many classes in whole vectors.
    fn width(classes: usize) -> usize {
        classes.next_multiple_of(f32::COLUMNS)
    }

    pub(crate) fn intercepts(&self) -> &[f64] {
        &self.values[..self.width]
    }

    /// `[dimension][class]`
    pub(crate) fn weights(&self) -> &[f64] {
        &self.values[self.width..]
    }
}

impl<'a> ProbeRows<'a> {
    /// Row `rows[i]` is of class `classes[i]` and weighs `weights[i]`. If they would take more than a quarter of the memory of a run with a
    /// scratch, they are standardised again for every pass, which costs `rows * dimensions` operations beside
    /// `4 rows * dimensions * classes`.
    pub(crate) fn new(
        run: &Run<'a>,
        standard: &'a Standard,
        points: &'a Points<'_>,
        rows: &'a [usize],
        classes: Vec<u32>,
        weights: &[f64],
        class_count: usize,
    ) -> Result<Self, RunError> {
        let dimensions = points.dimensions();
        let stride = dimensions.next_multiple_of(STRIPE);
        let mut source = Source { standard, points, rows, values: Vec::new() };
        if run.store().is_none() || 4 * rows.len() * stride <= run.working_memory() / 4 {
            source.values = source.part(stride, 0..rows.len());
        }
        let sum: f64 = weights.iter().sum();
        let shares = weights.iter().map(|weight| weight / sum).collect();
        let mut rows = Self { source, stride, dimensions, classes, shares, class_count, there: None };
        rows.there = rows.sent(run)?;
        Ok(rows)
    }

    /// The rows on the device of the run, if it has one for them.
    fn sent(&self, run: &Run<'a>) -> Result<Option<There<'a>>, RunError> {
        let pairs = (self.len() as u64).saturating_mul(self.class_count as u64);
        let pass = pairs.saturating_mul(2 * self.dimensions as u64);
        let Some(device) = run.device_for(WorkKind::Probe, pass.saturating_mul(PASSES)) else {
            return Ok(None);
        };
        let work = LossWork {
            dimensions: self.dimensions,
            rows: &self.source,
            classes: &self.classes,
            shares: &self.shares,
            class_count: self.class_count,
            width: Coefficients::width(self.class_count),
        };
        let loss = unless_given_way(device, device.loss(&work))?;
        Ok(loss.map(|loss| There { device, loss, gave_way: AtomicBool::new(false) }))
    }

    fn part(&self, rows: Range<usize>) -> Part<'_> {
        let held = &self.source.values;
        let values = if held.is_empty() {
            Cow::Owned(self.source.part(self.stride, rows.clone()))
        } else {
            Cow::Borrowed(&held[rows.start * self.stride..rows.end * self.stride])
        };
        Part { first: rows.start, stride: self.stride, values }
    }

    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    /// The second moment of at most `most` rows, evenly spread: `stride x stride`, the lower triangle of whole blocks.
    pub(crate) fn moment(&self, most: usize) -> (Vec<f64>, usize) {
        let step = self.len().div_ceil(most).max(1);
        let chosen: Vec<usize> = (0..self.len()).step_by(step).collect();
        let size = self.stride;
        let mut gathered = vec![0.0f32; chosen.len() * size];
        for (out, &row) in gathered.chunks_exact_mut(size).zip(&chosen) {
            out.copy_from_slice(&self.part(row..row + 1).values);
        }
        let mut matrix = vec![0.0; size * size];
        let all = Factor { values: &gathered, stride: size };
        matrix.par_chunks_mut(STRIPE * size).enumerate().for_each(|(stripe, out)| {
            let first = stripe * STRIPE;
            let mut sums = vec![0.0f32; STRIPE * size];
            let left = Factor { values: &gathered[first..], stride: size };
            add_product(chosen.len(), (left, STRIPE), (all, first + STRIPE), (&mut sums, size));
            for (out, sum) in out.iter_mut().zip(&sums) {
                *out = f64::from(*sum) / chosen.len() as f64;
            }
        });
        (matrix, size)
    }

    /// The loss without the penalty, and its gradient into `gradient`; by the device that has the rows, if there is one.
    pub(crate) fn evaluate(&self, at: &Coefficients, gradient: &mut Coefficients) -> Result<f64, RunError> {
        if let Some(there) = self.there.as_ref().filter(|there| !there.gave_way.load(Ordering::Relaxed)) {
            let (known, rest) = gradient.values.split_at_mut((1 + self.dimensions) * at.width);
            let loss = there.loss.evaluate(&at.values[..known.len()], known);
            rest.fill(0.0);
            if let Some(loss) = unless_given_way(there.device, loss)? {
                return Ok(loss);
            }
            there.gave_way.store(true, Ordering::Relaxed);
        }
        Ok(self.evaluate_here(at, gradient))
    }

    fn evaluate_here(&self, at: &Coefficients, gradient: &mut Coefficients) -> f64 {
        let width = at.width;
        let weights: Vec<f32> = at.weights().iter().map(|&value| value as f32).collect();
        let mut residuals = vec![0.0f32; SPAN.min(self.len().next_multiple_of(BLOCK)) * width];
        let mut loss = 0.0;
        gradient.values.fill(0.0);
        let (intercepts, slopes) = gradient.values.split_at_mut(width);
        for start in (0..self.len()).step_by(SPAN) {
            let end = (start + SPAN).min(self.len());
            let part = &self.part(start..end);
            let blocks: Vec<f64> = residuals
                .par_chunks_mut(BLOCK * width)
                .enumerate()
                .map(|(block, residuals)| {
                    let first = (start + block * BLOCK).min(end);
                    self.residuals(part, first..(first + BLOCK).min(end), &weights, at, residuals)
                })
                .collect();
            loss += blocks.iter().sum::<f64>();
            for row in residuals[..(end - start) * width].chunks_exact(width) {
                intercepts.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
            }
            slopes.par_chunks_mut(STRIPE * width).enumerate().for_each(|(stripe, slopes)| {
                let mut sums = vec![0.0f32; STRIPE * width];
                let left = Factor { values: &part.values[stripe * STRIPE..], stride: self.stride };
                let right = Factor { values: &residuals, stride: width };
                add_product(end - start, (left, STRIPE), (right, width), (&mut sums, width));
                slopes.iter_mut().zip(&sums).for_each(|(slope, &sum)| *slope += f64::from(sum));
            });
        }
        loss
    }

    /// Logits of a block of rows, `width` values each; `out` has room for a whole block.
    fn logits(
        &self,
        part: &Part<'_>,
        rows: Range<usize>,
        weights: &[f32],
        at: &Coefficients,
        out: &mut [f32],
    ) {
        let height = rows.len().next_multiple_of(ROWS);
        let mut across = vec![0.0f32; self.dimensions * height];
        transpose(part.from(rows.start), self.stride, rows.len(), &mut across, height);
        // Where there is no class, the probability is 0.
        let mut intercepts = vec![f32::MIN; at.width];
        for (out, &value) in intercepts.iter_mut().zip(&at.intercepts()[..self.class_count]) {
            *out = value as f32;
        }
        for row in out[..height * at.width].chunks_exact_mut(at.width) {
            row.copy_from_slice(&intercepts);
        }
        let left = Factor { values: &across, stride: height };
        let right = Factor { values: weights, stride: at.width };
        add_product(self.dimensions, (left, height), (right, at.width), (out, at.width));
    }

    /// Writes `v (p - 1[class = y])` over `out`; returns the loss of the rows.
    fn residuals(
        &self,
        part: &Part<'_>,
        rows: Range<usize>,
        weights: &[f32],
        at: &Coefficients,
        out: &mut [f32],
    ) -> f64 {
        if rows.is_empty() {
            out.fill(0.0);
            return 0.0;
        }
        self.logits(part, rows.clone(), weights, at, out);
        let mut loss = 0.0;
        for (row, out) in rows.clone().zip(out.chunks_exact_mut(at.width)) {
            let (own, share) = (self.classes[row] as usize, self.shares[row]);
            let most = out.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let chosen = out[own];
            let sum = math::exp_sum(out, most);
            loss += share * f64::from(sum.ln() + (most - chosen));
            let scale = share as f32 / sum;
            for value in &mut *out {
                *value *= scale;
            }
            out[own] -= share as f32;
        }
        out[rows.len() * at.width..].fill(0.0);
        loss
    }

    /// Mean of `p (1 - p)` over rows and classes, on at most 1,024 rows: the scale of the curvature.
    pub(crate) fn curvature(&self, at: &Coefficients) -> f64 {
        let weights: Vec<f32> = at.weights().iter().map(|&value| value as f32).collect();
        let mut out = vec![0.0f32; BLOCK * at.width];
        let (mut sum, mut count) = (0.0, 0usize);
        for start in (0..self.len()).step_by((self.len() / 4).max(1).next_multiple_of(BLOCK)) {
            let rows = start..(start + BLOCK).min(self.len());
            self.logits(&self.part(rows.clone()), rows.clone(), &weights, at, &mut out);
            for powers in out.chunks_exact_mut(at.width).take(rows.len()) {
                let most = powers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let total = math::exp_sum(powers, most);
                sum +=
                    powers.iter().map(|power| f64::from(power / total * (1.0 - power / total))).sum::<f64>();
                count += self.class_count;
            }
        }
        sum / count.max(1) as f64
    }
}

/// Writes entry k of row i at `k * height + i`; as many rows of `stride` values as `count` says, as many entries of each as
/// fit `out`. In squares that fit the first-level cache.
pub(super) fn transpose(rows: &[f32], stride: usize, count: usize, out: &mut [f32], height: usize) {
    const SQUARE: usize = 16;
    let d = out.len() / height;
    for first in (0..count).step_by(SQUARE) {
        for start in (0..d).step_by(SQUARE) {
            for i in first..(first + SQUARE).min(count) {
                for k in start..(start + SQUARE).min(d) {
                    out[k * height + i] = rows[i * stride + k];
                }
            }
        }
    }
}
