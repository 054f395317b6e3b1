//! What can be wrong with what a forest is given.

use evmachine_engine::RunError;
use thiserror::Error;

/// A forest that could not be grown, read or asked.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ForestError {
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
    /// A label that is no class.
    #[error("row {row}: class {class}, but classes are numbered from 0 to {last}")]
    Class {
        /// The row, counted from 0.
        row: usize,
        /// Its label.
        class: u32,
        /// The largest that is allowed.
        last: usize,
    },
    /// An option out of its range.
    #[error("{name} is {value}; it must be {allowed}")]
    Option {
        /// Which option.
        name: &'static str,
        /// What it was set to.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// More than the numbers of nodes can count.
    #[error("{what} number 2^32 or more; grow fewer trees, or set min_samples_leaf higher")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
    },
    /// Arrays that are no forest.
    #[error("no forest: {0}")]
    Arrays(String),
    /// The observer stopped the run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Refuses a size other than the expected one.
pub(crate) fn same_size(what: &'static str, expected: usize, found: usize) -> Result<(), ForestError> {
    if expected == found { Ok(()) } else { Err(ForestError::Size { what, expected, found }) }
}
