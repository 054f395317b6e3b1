//! What can go wrong, by stage: each error names the row, the column or the parameter, and what to do.

use std::borrow::Cow;

use evmachine_engine::TailError;
pub use evmachine_engine::{FeatureError, RunError};
use thiserror::Error;

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
#[error("{}{rule}", if name.is_empty() { String::new() } else { format!("{name} = {value}: ") })]
#[non_exhaustive]
pub struct ParamsError {
    /// The parameter, by its field name in [`Params`](crate::Params); empty if there is none of the name that was given.
    pub name: &'static str,
    /// Which kind of its values it is, as [`Parameter::ranges`](crate::Parameter::ranges) names them; empty if there is one alone.
    pub variant: &'static str,
    /// The value given.
    pub value: String,
    /// What it must satisfy.
    pub rule: Cow<'static, str>,
}

impl ParamsError {
    pub(crate) fn new(
        name: &'static str,
        value: impl std::fmt::Display,
        rule: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { name, variant: "", value: value.to_string(), rule: rule.into() }
    }
}

/// A fit or an update that did not succeed; a model that was to be updated is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// A parameter is out of range.
    #[error(transparent)]
    Params(#[from] ParamsError),
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
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A reduction that did not succeed; the model is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// A parameter is out of range.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
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
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
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
        "the model does not hold {} of the {asked} rows asked for, {}: it keeps extreme vectors only; a cover threshold of 1 with a cover loss of 0 keeps every row",
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
    /// Denials have no class to come back to.
    #[error("{} of the rows are denials, vectors that are not of a class, {}; relabel, ignore or unlearn them", .rows.len(), numbers(.rows))]
    Denials {
        /// Sources of the rows.
        rows: Vec<u64>,
    },
    /// Rows that are not set aside cannot be restored.
    #[error("{} of the rows are not set aside, {}", .rows.len(), numbers(.rows))]
    NotAside {
        /// Sources of the rows.
        rows: Vec<u64>,
    },
    /// Another machine of the model could not follow.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl EditError {
    /// The same with other numbers for its rows, which count from 0 here.
    ///
    /// ```
    /// use evmachine::EditError;
    ///
    /// let error = EditError::NotAside { rows: vec![0, 4] }.map_rows(|row| row + 1);
    /// assert_eq!(error.to_string(), "2 of the rows are not set aside, row 1, 5");
    /// ```
    pub fn map_rows(mut self, number: impl Fn(u64) -> u64) -> Self {
        match &mut self {
            EditError::NeverGiven { rows, .. }
            | EditError::NotHeld { missing: rows, .. }
            | EditError::OtherClass { rows, .. }
            | EditError::Strangers { rows }
            | EditError::Denials { rows }
            | EditError::NotAside { rows } => rows.iter_mut().for_each(|row| *row = number(*row)),
            _ => {}
        }
        self
    }

    /// The same of a class that could not be forgotten.
    pub(crate) fn from_forgetting(error: ForgetError) -> Self {
        match error {
            ForgetError::UnknownClass { name, known } => Self::UnknownClass { name, known },
            ForgetError::LastClass { .. } => Self::LastClass,
            ForgetError::Run(error) => Self::Run(error),
        }
    }
}

fn numbers(rows: &[u64]) -> String {
    const SHOWN: usize = 8;
    let shown = rows.iter().take(SHOWN).map(u64::to_string).collect::<Vec<_>>().join(", ");
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

/// Calibration that did not succeed; the model is as it was.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// The labels do not fit the rows.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// A rule about parameters is broken.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// No row is of a class of the model.
    #[error(
        "none of the {rows} rows is of a class that the model knows; calibrate on labelled rows of known classes"
    )]
    NoKnownRows {
        /// Rows given.
        rows: usize,
    },
    /// Nothing to learn the unknown from.
    #[error("there are no unknown rows to calibrate on")]
    NoRows,
    /// The model holds no scores of held-out rows.
    #[error(
        "the model has no calibration; train it with a share of mistaken queries instead of a fixed threshold, or \
         calibrate it on labelled rows that it was not trained on"
    )]
    NotCalibrated,
    /// Fewer strangers than the share takes.
    #[error(
        "{} % of strangers takes {needed} of them to set a threshold on, and {rows} were given; give more, or allow a larger share",
        percent(*.share)
    )]
    TooFewStrangers {
        /// The share of strangers that may be accepted.
        share: f64,
        /// Strangers given.
        rows: usize,
        /// Strangers needed.
        needed: usize,
    },
    /// A threshold to be moved that is not one.
    #[error(
        "each class has a threshold of its own, and there is not one to move; choose a rule for all classes first"
    )]
    SeveralThresholds,
    /// A threshold that is to move by what is no number.
    #[error("must be a finite number, not {support}")]
    NotFinite {
        /// By how much.
        support: f64,
    },
    /// A threshold that everything reaches, or nothing.
    #[error("the threshold is {threshold}; choose a rule with a finite one first")]
    NotMovable {
        /// Where it lies.
        threshold: f64,
    },
    /// A share of known queries that is none.
    #[error("the share of known queries to be expected is {prior}; it must be above 0 and below 1")]
    Prior {
        /// What was given.
        prior: f64,
    },
    /// A false discovery rate that is none.
    #[error("the false discovery rate is {rate}; it must be above 0 and below 1")]
    DiscoveryRate {
        /// What was given.
        rate: f64,
    },
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Per cent, to four digits behind the point.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}

/// Has what ends a run end an operation.
macro_rules! ends_with_run {
    ($($error:ty),+) => {
        $($crate::error::ends_with_run!(@ $error, evmachine_engine::FeatureError, evmachine_engine::MetricError,
            evmachine_engine::device::DeviceError);)+
    };
    (@ $error:ty, $($cause:ty),+) => {
        $(impl From<$cause> for $error {
            fn from(cause: $cause) -> Self {
                Self::Run(cause.into())
            }
        })+
    };
}

pub(crate) use ends_with_run;

ends_with_run!(FitError, CalibrateError, ReduceError, ForgetError, EditError);

impl From<TailError> for FitError {
    fn from(error: TailError) -> Self {
        match error {
            TailError::Run(error) => error.into(),
            TailError::TooLong { tail, negatives } => Self::TailsTooLong { tail, negatives },
            TailError::RecallNotReached { asked, reached } => Self::RecallNotReached { asked, reached },
        }
    }
}

impl From<std::convert::Infallible> for FitError {
    /// What a fit gets of parameters that were checked already.
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
