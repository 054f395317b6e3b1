//! The minimum of a convex loss: L-BFGS (Liu, Nocedal 1989) with the second moment of the rows as first guess of the
//! curvature.
//!
//! The Hessian of the loss in the weights of one class is a mean of `p (1 - p) x x^T`, plus the penalty. With `s` the mean
//! of `p (1 - p)`, `(s E[x x^T] + penalty I)^-1` is close to its inverse, and a dozen steps do what takes plain L-BFGS a
//! hundred.

use rayon::prelude::*;

use super::rows::{Coefficients, ProbeRows};
use crate::error::RunError;
use evmachine_engine::matrix::{self, Factor, add_product};
use evmachine_engine::run::Meter;

/// Steps remembered.
const MEMORY: usize = 6;
/// Vectors of coefficients that are held at once: what is remembered of each step, and those of the step under way.
pub(super) const VECTORS: usize = 2 * MEMORY + 8;
/// Share of the expected decrease that a step must bring.
const DECREASE: f64 = 1e-4;
/// Rows that the second moment is taken over, at most.
const MOMENT_ROWS: usize = 4096;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance {
    /// Largest entry of the gradient.
    pub(crate) gradient: f64,
    /// Most steps.
    pub(crate) steps: usize,
}

/// The second moment of the rows, for guesses of the curvature at any penalty.
pub(crate) struct Curvature {
    moment: Vec<f64>,
    size: usize,
}

impl Curvature {
    pub(crate) fn of(rows: &ProbeRows<'_>) -> Self {
        let (moment, size) = rows.moment(MOMENT_ROWS);
        Self { moment, size }
    }

    /// `(scale E[x x^T] + penalty I)^-1`, symmetric.
    fn inverse(&self, scale: f64, penalty: f64) -> Vec<f64> {
        let size = self.size;
        let mut matrix: Vec<f64> = self.moment.iter().map(|value| value * scale).collect();
        for i in 0..size {
            matrix[i * size + i] += penalty;
        }
        matrix::factor(&mut matrix, size, penalty);
        let across = matrix::inverse_transposed(&matrix, size);
        let mut lower = matrix;
        lower.par_chunks_exact_mut(size).enumerate().for_each(|(i, row)| {
            for (k, value) in row.iter_mut().enumerate() {
                *value = if k <= i { across[k * size + i] } else { 0.0 };
            }
        });
        product(&lower, &lower, size, size)
    }
}

/// `left^T right` of matrices with `size` rows, left being `size x size`.
fn product(left: &[f64], right: &[f64], size: usize, width: usize) -> Vec<f64> {
    const STRIPE: usize = 64;
    let mut out = vec![0.0; size * width];
    out.par_chunks_mut(STRIPE * width).enumerate().for_each(|(stripe, out)| {
        let left = Factor { values: &left[stripe * STRIPE..], stride: size };
        let right = Factor { values: right, stride: width };
        add_product(size, (left, out.len() / width), (right, width), (out, width));
    });
    out
}

/// A step and what it did to the gradient.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse_product: f64,
}

/// Walks from `at` to the minimum; returns the loss there, penalty included.
pub(crate) fn minimize(
    rows: &ProbeRows<'_>,
    curvature: &Curvature,
    penalty: f64,
    tolerance: Tolerance,
    at: &mut Coefficients,
    meter: &Meter<'_>,
) -> Result<f64, RunError> {
    let scale = rows.curvature(at).max(1e-6);
    let inverse = curvature.inverse(scale, penalty);
    let guess = |gradient: &[f64]| -> Vec<f64> {
        let (intercepts, weights) = gradient.split_at(at.width);
        let mut out: Vec<f64> = intercepts.iter().map(|value| value / (scale + penalty)).collect();
        out.extend(product(&inverse, weights, curvature.size, at.width));
        out
    };
    let evaluate = |at: &Coefficients, gradient: &mut Coefficients| -> Result<f64, RunError> {
        let loss = rows.evaluate(at, gradient)?;
        let (from, width) = (at.weights(), at.width);
        let mut squares = 0.0;
        for (slope, &weight) in gradient.values[width..].iter_mut().zip(from) {
            *slope += penalty * weight;
            squares += weight * weight;
        }
        Ok(loss + penalty / 2.0 * squares)
    };
    let mut at_here = at.clone();
    let mut gradient = at.clone();
    let mut loss = evaluate(&at_here, &mut gradient)?;
    let mut pairs: Vec<Pair> = Vec::with_capacity(MEMORY);
    for _ in 0..tolerance.steps {
        meter.advance(1)?;
        if gradient.values.iter().all(|slope| slope.abs() <= tolerance.gradient) {
            break;
        }
        let mut direction = direction(&gradient.values, &pairs, &guess);
        let mut slope = dot(&direction, &gradient.values);
        if slope >= 0.0 {
            pairs.clear();
            direction = guess(&gradient.values).into_iter().map(|value| -value).collect();
            slope = dot(&direction, &gradient.values);
        }
        let Some((next, next_gradient, next_loss)) =
            line_search(&evaluate, &at_here, loss, &direction, slope)?
        else {
            break;
        };
        let step: Vec<f64> = next.values.iter().zip(&at_here.values).map(|(a, b)| a - b).collect();
        let change: Vec<f64> =
            next_gradient.values.iter().zip(&gradient.values).map(|(a, b)| a - b).collect();
        let product = dot(&step, &change);
        if product > 1e-14 * dot(&step, &step).sqrt() * dot(&change, &change).sqrt() {
            if pairs.len() == MEMORY {
                pairs.remove(0);
            }
            pairs.push(Pair { step, change, inverse_product: 1.0 / product });
        }
        // Rounding of the `f32` sums is all that is left.
        let done = loss - next_loss <= 1e-9 * loss.abs();
        (at_here, gradient, loss) = (next, next_gradient, next_loss);
        if done {
            break;
        }
    }
    *at = at_here;
    Ok(loss)
}

/// Halves the step until the loss has fallen enough; `None` where rounding leaves no way down.
fn line_search(
    evaluate: &impl Fn(&Coefficients, &mut Coefficients) -> Result<f64, RunError>,
    at: &Coefficients,
    loss: f64,
    direction: &[f64],
    slope: f64,
) -> Result<Option<(Coefficients, Coefficients, f64)>, RunError> {
    let mut length = 1.0;
    let mut gradient = at.clone();
    for _ in 0..20 {
        let values = at.values.iter().zip(direction).map(|(value, step)| value + length * step).collect();
        let next = Coefficients { values, width: at.width };
        let found = evaluate(&next, &mut gradient)?;
        if found <= loss + DECREASE * length * slope {
            return Ok(Some((next, gradient, found)));
        }
        length *= 0.5;
    }
    Ok(None)
}

/// The two-loop recursion.
fn direction(gradient: &[f64], pairs: &[Pair], guess: &impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut rest = gradient.to_vec();
    let mut shares = Vec::with_capacity(pairs.len());
    for pair in pairs.iter().rev() {
        let share = pair.inverse_product * dot(&pair.step, &rest);
        rest.par_iter_mut().zip(&pair.change).for_each(|(rest, change)| *rest -= share * change);
        shares.push(share);
    }
    let mut out = guess(&rest);
    if let Some(last) = pairs.last() {
        let scaled = dot(&last.change, &guess(&last.change));
        let ratio = if scaled > 0.0 { 1.0 / (last.inverse_product * scaled) } else { 1.0 };
        for value in &mut out {
            *value *= ratio;
        }
    }
    for (pair, share) in pairs.iter().zip(shares.iter().rev()) {
        let own = pair.inverse_product * dot(&pair.change, &out);
        out.par_iter_mut().zip(&pair.step).for_each(|(out, step)| *out += (share - own) * step);
    }
    out.into_iter().map(|value| -value).collect()
}

/// In blocks of one size, so that it does not depend on the number of threads.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let blocks: Vec<f64> = a
        .par_chunks(1 << 14)
        .zip(b.par_chunks(1 << 14))
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum())
        .collect();
    blocks.iter().sum()
}
