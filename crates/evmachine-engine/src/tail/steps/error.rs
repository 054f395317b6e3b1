//! What is wrong with a task, or with what a step was given.

use thiserror::Error;

use crate::error::RunError;

/// A step was handed what it cannot work with.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum StepError {
    /// The task is of another version of the library.
    #[error(
        "the task is of version {found} and this is version {expected}: all workers need the same version of evmachine"
    )]
    Version {
        /// Of the task.
        found: u32,
        /// Of this library.
        expected: u32,
    },
    /// The task comes from a processor whose distances have other last digits.
    #[error(
        "this worker has {found} instructions and the driver {expected}: their distances differ in the last digits"
    )]
    Instructions {
        /// Here.
        found: String,
        /// Where the task was made.
        expected: String,
    },
    /// The bytes are not those of a task.
    #[error("these bytes are no task, or are damaged")]
    Damaged,
    /// Values and classes do not fit together.
    #[error("{values} values are not {rows} rows of {dimensions} dimensions")]
    Shape {
        /// Values that were given.
        values: usize,
        /// Classes that were given.
        rows: usize,
        /// Of the task.
        dimensions: usize,
    },
    /// A class that the task does not know.
    #[error("row {row} of the block has class {class}, which the task does not know")]
    Class {
        /// Counted from 0.
        row: usize,
        /// Its class.
        class: u32,
    },
    /// Rows are not in order of class.
    #[error("row {row} of the block has a lower class than the row before it; rows come in order of class")]
    Order {
        /// Counted from 0.
        row: usize,
    },
    /// Bounds and rows do not fit together.
    #[error("{bounds} bounds for {rows} rows")]
    Bounds {
        /// Of the block.
        rows: usize,
        /// That were given.
        bounds: usize,
    },
    /// Counts and values do not fit together.
    #[error("{counts} counts and {values} values are not what {rows} rows have found")]
    Found {
        /// That were expected.
        rows: usize,
        /// That were given.
        counts: usize,
        /// That were given.
        values: usize,
    },
    /// A value that was found is no distance.
    #[error("value {at} of what was found is {value}, which is no distance")]
    Distance {
        /// Counted from 0.
        at: usize,
        /// The value.
        value: f32,
    },
    /// The work wants tails as they are.
    #[error("nothing is to be fitted")]
    NothingToFit,
    /// Whoever watches ended it.
    #[error("stopped")]
    Stopped,
    /// The work failed: the metric, the vectors or a device.
    #[error(transparent)]
    Run(RunError),
}

impl From<RunError> for StepError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Stopped => StepError::Stopped,
            error => StepError::Run(error),
        }
    }
}
