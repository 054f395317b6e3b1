//! What can go wrong in the engine: features that cannot be used, and a run that ends early.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;

use crate::device::DeviceError;
use crate::metric::MetricError;

/// A feature matrix that cannot be used.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// The values do not fill whole rows.
    #[error("{values} values do not make whole rows of {columns} columns")]
    Shape {
        /// Number of values given.
        values: usize,
        /// Columns asked for.
        columns: usize,
    },
    /// Rows of unlike length.
    #[error("row {row} has {found} values, those before it {expected}; all rows must be of one length")]
    RowLength {
        /// The first row that differs, from 0.
        row: usize,
        /// Values of the rows before it.
        expected: usize,
        /// Its values.
        found: usize,
    },
    /// A matrix without columns.
    #[error("the feature matrix has no columns; at least one is needed")]
    NoColumns,
    /// A NaN, an infinity, or an `f64` beyond the range of `f32`.
    #[error(
        "row {row}, column {column}: {value} is not a finite 32-bit number; remove the row or fill the value in"
    )]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// A value whose square, summed over a row, would leave the range of `f32`.
    #[error("row {row}, column {column}: |{value:e}| is above {limit:e}; scale the features down")]
    TooLarge {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f32,
        /// Largest magnitude accepted.
        limit: f32,
    },
    /// Features so small throughout that their squares vanish in `f32`.
    #[error("the largest magnitude in the features is {largest:e}, below {limit:e}; scale the features up")]
    TooSmall {
        /// Largest magnitude found.
        largest: f32,
        /// Smallest accepted value of that.
        limit: f32,
    },
    /// An all-zero row, which has no direction.
    #[error("row {row} is all zeros and has no cosine distance to anything; remove it or use another metric")]
    ZeroVector {
        /// Row, from 0.
        row: usize,
    },
    /// A row that leaves the range of [`TooLarge`](Self::TooLarge) when it is whitened.
    #[error("row {row} has a value above {limit:e} after whitening; scale the features down")]
    TooLargeWhitened {
        /// Row, from 0.
        row: usize,
        /// Largest magnitude accepted.
        limit: f32,
    },
    /// As many dimensions as the model has are needed.
    #[error("the features have {found} columns, the model was trained on {expected}")]
    Dimensions {
        /// Columns of the model.
        expected: usize,
        /// Columns given.
        found: usize,
    },
    /// As many names as columns are needed, or none.
    #[error("{found} feature names for {expected} columns; give one for each, or none")]
    NameCount {
        /// Columns of the model.
        expected: usize,
        /// Names given.
        found: usize,
    },
}

impl FeatureError {
    /// The same with another number for its row, where it names one: that of the whole, if what was given is a part.
    ///
    /// ```
    /// use evmachine::FeatureError;
    ///
    /// let error = FeatureError::ZeroVector { row: 2 };
    /// assert_eq!(error.map_row(|row| row + 10), FeatureError::ZeroVector { row: 12 });
    /// ```
    pub fn map_row(mut self, number: impl FnOnce(usize) -> usize) -> Self {
        match &mut self {
            FeatureError::RowLength { row, .. }
            | FeatureError::NotFinite { row, .. }
            | FeatureError::TooLarge { row, .. }
            | FeatureError::ZeroVector { row }
            | FeatureError::TooLargeWhitened { row, .. } => *row = number(*row),
            FeatureError::Shape { .. }
            | FeatureError::NoColumns
            | FeatureError::TooSmall { .. }
            | FeatureError::Dimensions { .. }
            | FeatureError::NameCount { .. } => {}
        }
        self
    }
}

/// Why a run ended early. Operations turn it into their own error.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
    /// The user's own metric gave a value that is no distance.
    #[error(transparent)]
    Metric(MetricError),
    /// The features cannot be used.
    #[error(transparent)]
    Features(FeatureError),
    /// The device that was to do the work did not do it.
    #[error(transparent)]
    Device(DeviceError),
    /// A disk does not take or give what it is to hold.
    #[error("{place}: {reason}; make room there, or name another folder")]
    Disk {
        /// Where.
        place: String,
        /// What the system says.
        reason: String,
    },
    /// The work panicked, and whoever waited for it caught that ([`catch`](Self::catch)).
    #[error(
        "the work failed in a way that nobody foresaw ({reason}); it left nothing behind, please report it"
    )]
    Panicked {
        /// What the panic says.
        reason: String,
    },
}

impl RunError {
    /// Does the work and turns a panic in it into [`RunError::Panicked`], so that a thread that serves others can tell them and go on.
    /// Drop whatever the work was changing: it may be half done.
    ///
    /// ```
    /// use evmachine::RunError;
    ///
    /// assert_eq!(RunError::catch(|| 1 + 1), Ok(2));
    /// let failed = RunError::catch(|| panic!("no {}", "way")).unwrap_err();
    /// assert_eq!(failed, RunError::Panicked { reason: "no way".to_owned() });
    /// ```
    pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Self> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
            let words = payload.downcast_ref::<&str>().map(|&text| text.to_owned());
            let words = words.or_else(|| payload.downcast_ref::<String>().cloned());
            RunError::Panicked { reason: words.unwrap_or_else(|| "it does not say why".to_owned()) }
        })
    }
}

impl From<DeviceError> for RunError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Stopped => RunError::Stopped,
            error => RunError::Device(error),
        }
    }
}

impl From<MetricError> for RunError {
    fn from(error: MetricError) -> Self {
        RunError::Metric(error)
    }
}

impl From<FeatureError> for RunError {
    fn from(error: FeatureError) -> Self {
        RunError::Features(error)
    }
}

/// Tails that an approximate search could not find.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TailError {
    /// The run ended early.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An approximate search of tails that take most of what there is.
    #[error("tails of {tail} of {negatives} negatives are too long to be found approximately")]
    TooLong {
        /// The longest tail.
        tail: usize,
        /// Negatives of its class.
        negatives: usize,
    },
    /// An approximate search that would measure nearly everything.
    #[error("a recall of {asked} takes most of all pairs; {reached} does not")]
    RecallNotReached {
        /// The recall that was asked for.
        asked: f64,
        /// What fewer pairs reach.
        reached: f64,
    },
}
