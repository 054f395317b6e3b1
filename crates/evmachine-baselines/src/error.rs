//! What can go wrong with a system.

use evmachine::{FeatureError, FitError, MarginError, RunError};
use evmachine_eval::FoldError;
use evmachine_eval::svm::SvmError;
use evmachine_forest::ForestError;
use thiserror::Error;

/// A system that could not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SystemError {
    /// Training failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// Queries failed.
    #[error(transparent)]
    Predict(#[from] RunError),
    /// Features that do not go with what was learned.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// Distances or scores that no Weibull distribution can be fitted to.
    #[error(transparent)]
    Margins(#[from] MarginError),
    /// The training data cannot be divided for cross-class validation.
    #[error(transparent)]
    Folds(#[from] FoldError),
    /// The system cannot learn in steps.
    #[error("{system} cannot learn in steps; fit it on all data instead")]
    NotIncremental {
        /// Which one.
        system: String,
    },
    /// Asked before anything was learned.
    #[error("{system} was asked before it was fitted")]
    NotFitted {
        /// Which one.
        system: String,
    },
    /// One class has no other to be told apart from.
    #[error("{classes} classes: at least 2 are needed")]
    TooFewClasses {
        /// Classes in the data.
        classes: usize,
    },
    /// Rows and labels differ in number.
    #[error("{rows} rows but {labels} labels")]
    Count {
        /// Rows.
        rows: usize,
        /// Labels.
        labels: usize,
    },
    /// A forest could not be grown.
    #[error(transparent)]
    Forest(#[from] ForestError),
    /// The SVM library refused the parameters.
    #[error(transparent)]
    Svm(#[from] SvmError),
}
