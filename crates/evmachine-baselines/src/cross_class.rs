//! Thresholds by cross-class validation: some classes are left out in turn and act as unknowns.

use evmachine::{Features, Labels};
use evmachine_eval::Answers;
use evmachine_eval::folds::{FoldSizes, folds};

use crate::error::SystemError;
use crate::system::System;

/// The number of folds that Bendale and Boult, and after them the EVM paper, use.
pub const FOLDS: usize = 3;

/// Rows of a fold.
const SIZES: FoldSizes = FoldSizes { train: 8_000, test: 2_000 };

/// The threshold at which F1 over the known classes is best on rows and classes that were left out.
///
/// `fresh` gives the system to be fitted on each of the three folds.
pub fn threshold<S: System>(
    features: &Features<'_>,
    labels: &Labels,
    seed: u64,
    fresh: impl Fn() -> S,
) -> Result<f64, SystemError> {
    Ok(answers(features, labels, FOLDS, seed, fresh)?.threshold_for_best_f1(1.0))
}

/// What fresh systems say of rows and classes that were left out, all folds together.
pub fn answers<S: System>(
    features: &Features<'_>,
    labels: &Labels,
    count: usize,
    seed: u64,
    fresh: impl Fn() -> S,
) -> Result<Answers, SystemError> {
    let mut parts = Vec::new();
    for fold in folds(labels, count, SIZES, seed)? {
        let mut system = fresh();
        system.fit(&features.select(&fold.train), &labels.select(&fold.train))?;
        let queries = [fold.known, fold.unknown].concat();
        let scores = system.scores(&features.select(&queries))?;
        parts.push(scores.answers(system.classes(), &labels.select(&queries), f64::NEG_INFINITY));
    }
    Ok(Answers::concat(&parts))
}

/// The threshold at which micro F1 would be best if there were `unknowns` unknown queries for each known one, whatever
/// their shares in `answers`; between two scores, half-way. Minus infinity, which accepts all, for no unknowns.
///
/// The paper's formula for delta is told the openness of the test in the same way.
pub fn threshold_for_share(answers: &Answers, unknowns: f64) -> f64 {
    if unknowns <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let known = answers.truth.iter().flatten().count() as f64;
    let weight = unknowns * known / (answers.len() as f64 - known).max(1.0);
    answers.threshold_for_best_f1(weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_unknowns_ask_for_a_higher_threshold() {
        let mut answers = Answers::default();
        for step in 0..40u32 {
            answers.push(Some(0), 0, 0.3 + f64::from(step) * 0.01, true);
            answers.push(None, 0, f64::from(step) * 0.015, true);
        }
        let shares = [0.0, 0.2, 1.0, 5.0].map(|share| threshold_for_share(&answers, share));
        assert_eq!(shares[0], f64::NEG_INFINITY);
        assert!(shares.is_sorted() && shares[1] < shares[3], "{shares:?}");
        // With the shares that it has, the answer is that of the answers themselves.
        assert_eq!(shares[2], answers.threshold_for_best_f1(1.0));
    }
}
