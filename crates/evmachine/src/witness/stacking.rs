//! The weights under which held-out rows are most likely of their own class.
//!
//! With scores `s_kc` of witness k for class c, weights `w_k >= 0` maximise the mean of `ln softmax(sum_k w_k s_k)_y`, less
//! `0.01 / (2 rows) sum_k w_k^2`, which keeps them finite where every row is right. Convex, solved by Newton's method
//! over the weights that are not held at 0. The sum of the weights is the inverse of the temperature of calibration.

use rayon::prelude::*;

/// Rows that a thread sums at once.
const BLOCK: usize = 256;
const STEPS: usize = 50;

/// Scores of one witness: rows x classes.
type Scores<'a> = &'a [f64];

/// Weights of witnesses, each with finite scores of rows x classes, under which the rows are most likely of their true
/// classes; and minus the mean log-likelihood at them.
///
/// ```
/// // One witness, right three times in four by a margin of 1: its weight is the log-odds of that.
/// let scores = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
/// let (weights, _) = evmachine::tuning::stack(&[&scores], 2, &[0, 0, 0, 1]);
/// assert!((weights[0] - 3f64.ln()).abs() < 0.05);
/// ```
///
/// # Panics
///
/// If the scores of a witness are not rows x classes.
pub fn stack(witnesses: &[Scores<'_>], classes: usize, truth: &[u32]) -> (Vec<f64>, f64) {
    let rows = truth.len();
    let penalty = 0.01 / rows.max(1) as f64;
    let objective = |weights: &[f64]| {
        let mut sums = derivatives(witnesses, classes, truth, weights);
        let plain = sums.loss;
        for (k, &weight) in weights.iter().enumerate() {
            sums.loss += penalty / 2.0 * weight * weight;
            sums.gradient[k] += penalty * weight;
            sums.hessian[k * weights.len() + k] += penalty;
        }
        (sums, plain)
    };
    let mut weights = vec![1.0; witnesses.len()];
    let (mut here, mut plain) = objective(&weights);
    for _ in 0..STEPS {
        let free: Vec<usize> =
            (0..weights.len()).filter(|&k| weights[k] > 0.0 || here.gradient[k] < 0.0).collect();
        if free.iter().all(|&k| here.gradient[k].abs() < 1e-7) {
            break;
        }
        let direction = newton(&here, &free, weights.len());
        let mut length = 1.0;
        let next = loop {
            let mut next = weights.clone();
            for (&k, step) in free.iter().zip(&direction) {
                next[k] = (next[k] - length * step).max(0.0);
            }
            let found = objective(&next);
            if found.0.loss < here.loss {
                break Some((next, found));
            }
            length *= 0.5;
            if length < 1e-6 {
                break None;
            }
        };
        let Some((next, found)) = next else { break };
        weights = next;
        (here, plain) = found;
    }
    (weights, plain)
}

struct Derivatives {
    loss: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

fn derivatives(witnesses: &[Scores<'_>], classes: usize, truth: &[u32], weights: &[f64]) -> Derivatives {
    let count = witnesses.len();
    let blocks: Vec<Derivatives> = (0..truth.len())
        .collect::<Vec<_>>()
        .par_chunks(BLOCK)
        .map(|rows| {
            let mut sums =
                Derivatives { loss: 0.0, gradient: vec![0.0; count], hessian: vec![0.0; count * count] };
            let mut total = vec![0.0; classes];
            for &row in rows {
                let own: Vec<&[f64]> =
                    witnesses.iter().map(|scores| &scores[row * classes..(row + 1) * classes]).collect();
                total.fill(0.0);
                for (scores, weight) in own.iter().zip(weights) {
                    total.iter_mut().zip(*scores).for_each(|(total, score)| *total += weight * score);
                }
                sums.add(&mut total, &own, truth[row] as usize);
            }
            sums
        })
        .collect();
    let mut sums = Derivatives { loss: 0.0, gradient: vec![0.0; count], hessian: vec![0.0; count * count] };
    let rows = truth.len().max(1) as f64;
    for block in &blocks {
        sums.loss += block.loss / rows;
        sums.gradient.iter_mut().zip(&block.gradient).for_each(|(sum, value)| *sum += value / rows);
        sums.hessian.iter_mut().zip(&block.hessian).for_each(|(sum, value)| *sum += value / rows);
    }
    sums
}

impl Derivatives {
    /// Takes in a row; `total` becomes the probabilities.
    fn add(&mut self, total: &mut [f64], own: &[&[f64]], truth: usize) {
        let most = total.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let chosen = total[truth];
        let mut sum = 0.0;
        for value in &mut *total {
            *value = (*value - most).exp();
            sum += *value;
        }
        self.loss += sum.ln() + most - chosen;
        for value in &mut *total {
            *value /= sum;
        }
        let mean = |scores: &[f64]| -> f64 { total.iter().zip(scores).map(|(p, score)| p * score).sum() };
        let means: Vec<f64> = own.iter().map(|scores| mean(scores)).collect();
        for (k, scores) in own.iter().enumerate() {
            self.gradient[k] += means[k] - scores[truth];
            for (j, others) in own.iter().enumerate() {
                let both: f64 =
                    total.iter().zip(*scores).zip(*others).map(|((p, score), other)| p * score * other).sum();
                self.hessian[k * own.len() + j] += both - means[k] * means[j];
            }
        }
    }
}

/// `H^-1 g` over the free weights, by Gaussian elimination; a small multiple of I keeps it solvable.
fn newton(here: &Derivatives, free: &[usize], count: usize) -> Vec<f64> {
    let n = free.len();
    let mut matrix: Vec<f64> = Vec::with_capacity(n * (n + 1));
    for &i in free {
        for &j in free {
            let ridge = if i == j { 1e-9 } else { 0.0 };
            matrix.push(here.hessian[i * count + j] + ridge);
        }
        matrix.push(here.gradient[i]);
    }
    for pivot in 0..n {
        let (above, below) = matrix.split_at_mut((pivot + 1) * (n + 1));
        let own = &above[pivot * (n + 1)..];
        for row in below.chunks_exact_mut(n + 1) {
            let share = row[pivot] / own[pivot];
            row.iter_mut().zip(own).for_each(|(value, own)| *value -= share * own);
        }
    }
    let mut solution = vec![0.0; n];
    for row in (0..n).rev() {
        let values = &matrix[row * (n + 1)..(row + 1) * (n + 1)];
        let known: f64 = (row + 1..n).map(|column| values[column] * solution[column]).sum();
        solution[row] = (values[n] - known) / values[row];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One witness that is right nine times in ten by a margin of one, and one that knows nothing.
    fn witnesses() -> (Vec<f64>, Vec<f64>, Vec<u32>) {
        let truth: Vec<u32> = (0..1000).map(|row| row % 2).collect();
        let good = truth.iter().enumerate().flat_map(|(row, &class)| {
            let says = if row % 10 == 7 { 1 - class } else { class };
            [f64::from(1 - says), f64::from(says)]
        });
        let noise = (0..1000).flat_map(|row| [f64::from((row / 2) % 3), 1.0]);
        (good.collect(), noise.collect(), truth)
    }

    #[test]
    fn the_weight_is_the_log_odds_of_being_right() {
        let (good, noise, truth) = witnesses();
        let (weights, loss) = stack(&[&good], 2, &truth);
        assert!((weights[0] - 9f64.ln()).abs() < 1e-3, "{weights:?}");
        let entropy = -(0.9 * 0.9f64.ln() + 0.1 * 0.1f64.ln());
        assert!((loss - entropy).abs() < 1e-6, "{loss} {entropy}");
        let (both, _) = stack(&[&good, &noise], 2, &truth);
        assert!((both[0] - 9f64.ln()).abs() < 0.05 && both[1] < 0.05, "{both:?}");
    }

    #[test]
    fn a_witness_that_is_wrong_counts_nothing_and_one_that_is_never_wrong_stays_finite() {
        let (good, _, truth) = witnesses();
        let bad: Vec<f64> = good.iter().map(|score| -score).collect();
        let (weights, _) = stack(&[&good, &bad], 2, &truth);
        assert!(weights[1] == 0.0 && weights[0] > 2.0, "{weights:?}");
        let right: Vec<f64> =
            truth.iter().flat_map(|&class| [f64::from(1 - class), f64::from(class)]).collect();
        let (weights, _) = stack(&[&right], 2, &truth);
        assert!(weights[0] > 5.0 && weights[0] < 50.0, "{weights:?}");
    }
}
