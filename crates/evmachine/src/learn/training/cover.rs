//! The smallest cover that costs next to nothing: fewer points to compare a query with.
//!
//! A cover is worth its OSCR with classes left out in turn, as weights are ([`weighing`](super::weighing)). It is taken if it costs less
//! than [`Params::cover_loss`], the standard error over folds included. A threshold is a radius, so of more rows a smaller share is
//! kept at the same threshold.

use super::weighing::Fold;
use crate::error::FitError;
use crate::machine::Machine;
use crate::machine::choose::Originals;
use crate::params::Params;
use crate::witness::mixture::Weights;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// Thresholds that are compared with keeping every point, the smallest cover first.
pub(super) const THRESHOLDS: [f64; 5] = [0.9, 0.97, 0.99, 0.997, 0.999];

/// Supports of queries by the machine under a cover, rows x classes; the machine keeps every point of `features`.
pub(super) fn supports(
    run: &Run<'_>,
    machine: &Machine,
    threshold: f64,
    features: &Features<'_>,
    queries: &Features<'_>,
) -> Result<Vec<f64>, FitError> {
    let mut covered = machine.clone_without_tails();
    covered.params = Params { cover_threshold: threshold, ..Params::clone(&machine.params) }.check()?;
    let originals = Originals { points: machine.query_points(features)?, first: 0 };
    let all: Vec<usize> = (0..covered.classes.len()).collect();
    covered.choose(run, &all, Some(&originals), &machine.pool_sums())?;
    Ok(covered.supports(run, queries, None)?)
}

/// The threshold of the smallest cover that costs less than the parameters allow; `None` if every point must be kept.
pub(super) fn smallest(params: &Params, weights: Weights, folds: &[Fold]) -> Option<f64> {
    let all: Vec<f64> = folds.iter().map(|fold| fold.worth(params, weights, 0)).collect();
    let loss = |position: usize| -> Vec<f64> {
        let worth = folds.iter().map(|fold| fold.worth(params, weights, position));
        all.iter().zip(worth).map(|(all, worth)| all - worth).collect()
    };
    let found = (0..THRESHOLDS.len()).find(|position| is_free(&loss(position + 1), params.cover_loss))?;
    Some(THRESHOLDS[found])
}

/// Whether losses over folds are less than `most`, by their mean and one standard error of it.
fn is_free(losses: &[f64], most: f64) -> bool {
    let count = losses.len() as f64;
    if losses.len() < 2 {
        return false;
    }
    let mean = losses.iter().sum::<f64>() / count;
    let variance = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (count - 1.0);
    mean + (variance / count).sqrt() < most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_judged_with_its_error() {
        assert!(is_free(&[0.001, 0.002, 0.0015], 0.003));
        assert!(is_free(&[-0.01, -0.02], 0.003), "a gain costs nothing");
        assert!(!is_free(&[-0.02, 0.022, 0.0], 0.003), "a mean of nothing that tells nothing");
        assert!(!is_free(&[0.004, 0.004], 0.003));
        assert!(!is_free(&[0.0], 0.003), "one fold has no error");
    }
}
