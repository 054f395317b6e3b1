//! What can go wrong, by stage: each error names the row, the column or the parameter, and what to do.

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

/// A list of class names that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LabelError {
    /// An empty class name.
    #[error("row {row} has an empty class name; give it a label or remove the row")]
    Empty {
        /// Row, from 0.
        row: usize,
    },
    /// A class with the name of what is of none.
    #[error(
        "{rows} rows are of a class {name:?}, which is what unknown rows are called; leave them out, name their class, or \
         call unknown rows otherwise"
    )]
    NamedUnknown {
        /// The name.
        name: String,
        /// Rows that have it.
        rows: usize,
    },
    /// As many labels as rows are needed.
    #[error("{rows} rows of features but {labels} labels; there must be one label for each row")]
    Count {
        /// Rows of features.
        rows: usize,
        /// Labels given.
        labels: usize,
    },
}

/// A parameter outside its range.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{name} = {value}: {rule}")]
pub struct ParamsError {
    /// The parameter, by its field name in [`Params`](crate::Params).
    pub name: &'static str,
    /// The value given.
    pub value: String,
    /// What it must satisfy.
    pub rule: &'static str,
}

/// A fit or an update that did not succeed; a model that was to be updated is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// A parameter is out of range.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The features cannot be used.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The samples to be ignored cannot be used.
    #[error("samples to be ignored: {error}")]
    Ignored {
        /// What is wrong with them.
        error: FeatureError,
    },
    /// The labels cannot be used.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// No rows at all.
    #[error("there are no rows to learn from")]
    NoRows,
    /// A linear probe tells classes apart; with one class there is nothing to tell.
    #[error("all rows belong to class {class:?}; a linear probe needs a second class")]
    OneClass {
        /// The only class.
        class: String,
    },
    /// The user's own metric gave a value that is no distance.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The device that was to do the work did not do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Approximate search would have to measure too many pairs.
    #[error(
        "approximate search does not find {asked} of the tails within a quarter of all pairs, but {reached:.3} at least; search exactly, or ask for a \
         lower recall or shorter tails"
    )]
    RecallNotReached {
        /// The recall that was asked for.
        asked: f64,
        /// What it is at least, with a confidence of 95 %, when a quarter of all pairs is measured.
        reached: f64,
    },
    /// Approximate search would have to measure too many pairs, whatever lies where.
    #[error(
        "tails of {tail} among {negatives} negatives are too long for approximate search; search exactly, or choose a smaller tail size"
    )]
    TailsTooLong {
        /// Values of the longest tail.
        tail: usize,
        /// Points of other classes.
        negatives: usize,
    },
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
}

/// A query that could not be answered.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The features cannot be used.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The user's own metric gave a value that is no distance.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The device that was to do the work did not do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
}

/// A reduction that did not succeed; the model is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// A parameter is out of range.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// Rows that the model keeps for its threshold cannot be used.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The user's own metric gave a value that is no distance.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The device that was to do the work did not do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
}

/// A class that could not be forgotten; the model is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// No class of that name.
    #[error("the model has no class {name:?}; it knows {}", list(.known))]
    UnknownClass {
        /// The name asked for.
        name: String,
        /// The classes there are.
        known: Vec<String>,
    },
    /// The last class stays.
    #[error("class {name:?} cannot be forgotten: it is the only one, and a model needs a class")]
    LastClass {
        /// The name asked for.
        name: String,
    },
    /// Rows that the model keeps for its threshold cannot be used.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The user's own metric gave a value that is no distance.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The device that was to do the work did not do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
}

/// An edit that could not be made; the model is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// No class of that name.
    #[error("the model has no class {name:?}; it knows {}", list(.known))]
    UnknownClass {
        /// The name asked for.
        name: String,
        /// The classes there are.
        known: Vec<String>,
    },
    /// The name is that of a class already.
    #[error("there is a class {name:?} already; merge the two, or choose another name")]
    NameTaken {
        /// The name asked for.
        name: String,
    },
    /// A name without a letter.
    #[error("a class needs a name")]
    EmptyName,
    /// A class cannot be merged with itself.
    #[error("class {name:?} cannot be merged with itself")]
    SameClass {
        /// The class.
        name: String,
    },
    /// Nothing to do.
    #[error("no rows were given")]
    NoRows,
    /// The model was never given some of the rows.
    #[error("the model was given {seen} rows in all, and never {}", numbers(.rows))]
    NeverGiven {
        /// Sources that no row has.
        rows: Vec<u64>,
        /// Rows ever given.
        seen: u64,
    },
    /// The model holds nothing of some of the rows: its cover dropped them, or they were unlearned.
    #[error(
        "the model does not hold {} of the {asked} rows asked for, {}: it keeps extreme vectors only, which a cover threshold of 1 makes of every row",
        .missing.len(), numbers(.missing)
    )]
    NotHeld {
        /// Sources of the rows that are not there.
        missing: Vec<u64>,
        /// Rows asked for.
        asked: usize,
    },
    /// Rows that are not of the class.
    #[error("{} of the rows are not of class {class:?}, {}", .rows.len(), numbers(.rows))]
    OtherClass {
        /// Sources of the rows.
        rows: Vec<u64>,
        /// The class asked for.
        class: String,
    },
    /// All rows of a class were to leave it by a split.
    #[error("all rows of class {class:?} are to leave it; rename it instead")]
    NothingLeft {
        /// The class.
        class: String,
    },
    /// The model would know no class any more.
    #[error("no class would be left; a model needs a class")]
    LastClass,
    /// Ignored samples have no class to come back to.
    #[error("{} of the rows are ignored samples, {}; relabel or unlearn them", .rows.len(), numbers(.rows))]
    Strangers {
        /// Sources of the rows.
        rows: Vec<u64>,
    },
    /// Rows that are not set aside cannot be restored.
    #[error("{} of the rows are not set aside, {}", .rows.len(), numbers(.rows))]
    NotAside {
        /// Sources of the rows.
        rows: Vec<u64>,
    },
    /// Rows cannot be used.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// Another machine of the model could not follow.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The user's own metric gave a value that is no distance.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The device that was to do the work did not do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
}

impl EditError {
    /// The same of a class that could not be forgotten.
    pub(crate) fn from_forgetting(error: ForgetError) -> Self {
        match error {
            ForgetError::UnknownClass { name, known } => Self::UnknownClass { name, known },
            ForgetError::LastClass { .. } => Self::LastClass,
            ForgetError::Features(error) => Self::Features(error),
            ForgetError::Metric(error) => Self::Metric(error),
            ForgetError::Device(error) => Self::Device(error),
            ForgetError::Stopped => Self::Stopped,
        }
    }
}

fn numbers(rows: &[u64]) -> String {
    const SHOWN: usize = 8;
    let shown = rows.iter().take(SHOWN).map(|row| (row + 1).to_string()).collect::<Vec<_>>().join(", ");
    match rows.len().saturating_sub(SHOWN) {
        0 => format!("row {shown}"),
        more => format!("row {shown} and {more} more"),
    }
}

pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Why a stage ended early; turned into the error of the operation that ran it.
#[derive(Debug)]
pub(crate) enum Halt {
    Stopped,
    Metric(MetricError),
    Features(FeatureError),
    Device(DeviceError),
}

impl From<DeviceError> for Halt {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Stopped => Halt::Stopped,
            error => Halt::Device(error),
        }
    }
}

impl From<MetricError> for Halt {
    fn from(error: MetricError) -> Self {
        Halt::Metric(error)
    }
}

impl From<FeatureError> for Halt {
    fn from(error: FeatureError) -> Self {
        Halt::Features(error)
    }
}

impl From<PredictError> for Halt {
    fn from(error: PredictError) -> Self {
        match error {
            PredictError::Features(error) => Halt::Features(error),
            PredictError::Metric(error) => Halt::Metric(error),
            PredictError::Device(error) => Halt::Device(error),
            PredictError::Stopped => Halt::Stopped,
        }
    }
}

/// Gives errors of operations the four ways in which a stage of theirs can end early.
macro_rules! ended_by_halt {
    ($($error:ty),+) => {
        $(impl From<$crate::error::Halt> for $error {
            fn from(halt: $crate::error::Halt) -> Self {
                match halt {
                    $crate::error::Halt::Stopped => Self::Stopped,
                    $crate::error::Halt::Metric(error) => Self::Metric(error),
                    $crate::error::Halt::Features(error) => Self::Features(error),
                    $crate::error::Halt::Device(error) => Self::Device(error),
                }
            }
        })+
    };
}

pub(crate) use ended_by_halt;

ended_by_halt!(FitError, PredictError, ReduceError, ForgetError, EditError);

impl From<std::convert::Infallible> for FitError {
    /// What a fit gets of parameters that were checked already.
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
