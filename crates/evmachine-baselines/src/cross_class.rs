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
    let mut parts = Vec::new();
    for fold in folds(labels, FOLDS, SIZES, seed)? {
        let mut system = fresh();
        system.fit(&features.select(&fold.train), &labels.select(&fold.train))?;
        let queries = [fold.known, fold.unknown].concat();
        let scores = system.scores(&features.select(&queries))?;
        parts.push(scores.answers(system.classes(), &labels.select(&queries), f64::NEG_INFINITY));
    }
    Ok(Answers::concat(&parts).threshold_for_best_f1())
}
