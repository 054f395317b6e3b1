//! What can be wrong with what rivals are given.

use evmachine::{FeatureError, MetricError, RunError};
use evmachine_forest::ForestError;
use thiserror::Error;

use crate::svm::SvmError;

/// Rivals that could not be asked.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum RivalError {
    /// Nothing to learn from.
    #[error("there are no training rows; give at least one")]
    NoRows,
    /// Two inputs that belong together differ in size.
    #[error("{what}: {found} where {expected} belong")]
    Size {
        /// Which input.
        what: &'static str,
        /// The size that the others ask for.
        expected: usize,
        /// The size it has.
        found: usize,
    },
    /// A vector without a direction, where only directions count.
    #[error("row {row} of the {of} is all zeros and has no direction; remove it, or choose another metric")]
    ZeroVector {
        /// Which rows.
        of: &'static str,
        /// The first such row, counted from 0.
        row: usize,
    },
    /// Class means that are no feature vectors.
    #[error("the mean of a class: {0}")]
    Mean(#[from] FeatureError),
    /// A user's own metric gave no distance.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// A forest could not be grown.
    #[error(transparent)]
    Forest(#[from] ForestError),
    /// A support vector machine could not be trained.
    #[error(transparent)]
    Svm(#[from] SvmError),
    /// A matrix could not be taken apart.
    #[error("{what} has no {factor} in double precision; scale the columns to like magnitudes")]
    Matrix {
        /// Which matrix.
        what: &'static str,
        /// What was asked of it.
        factor: &'static str,
    },
}

/// Refuses a size other than the expected one.
pub(crate) fn same_size(what: &'static str, expected: usize, found: usize) -> Result<(), RivalError> {
    if expected == found { Ok(()) } else { Err(RivalError::Size { what, expected, found }) }
}

impl RivalError {
    /// What ended a run early, if that is what it was.
    pub fn run_error(&self) -> Option<&RunError> {
        match self {
            Self::Forest(ForestError::Run(error)) => Some(error),
            _ => None,
        }
    }
}
