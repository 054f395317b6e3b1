//! What a monitor tells.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the rows of a stream are compared with, besides the stream itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DriftBasis {
    /// Rows that the model holds and never learned.
    HeldOut,
    /// Rows that were given.
    Given,
    /// Nothing: the model learned all rows that it holds. Changes within the stream are found; one that was there before its first row is
    /// not.
    Stream,
}

/// How drift stands ([`DriftMonitor::report`](crate::DriftMonitor::report)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DriftReport {
    /// Rows of the stream so far.
    pub rows: u64,
    /// Rows that it was compared with from the beginning.
    pub reference_rows: u64,
    /// Where these come from.
    pub basis: DriftBasis,
    /// The chance, at most, that a stream without drift ever raises an alarm.
    pub rate: f64,
    /// The first alarm; `None` if there was none.
    pub alarm: Option<DriftAlarm>,
    /// What came, as far as the last rows tell; `None` without alarm, or if they do not tell. An estimate, which `rate` does not cover.
    pub cause: Option<DriftCause>,
    /// What each watch has found, the most telling first; of watches over classes the ten that tell most.
    pub watches: Vec<DriftWatch>,
    /// Classes that have a watch of their own. Those that 20 reference rows are too many for share one rank.
    pub classes_watched: usize,
}

/// When an alarm was raised, and by what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DriftAlarm {
    /// The row of the stream at which it was raised, from 1.
    pub row: u64,
    /// The row at which the change most likely began, from 1.
    pub since: u64,
    /// The watch that raised it.
    pub watch: String,
    /// Its class, if it watches one.
    pub class: Option<String>,
}

/// One number that is watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DriftWatch {
    /// `support` (of all rows, or of a class), `norm`, `distance` (from the mean), `evenness` (over the columns), or `direction N`.
    pub watch: String,
    /// The class, if it watches one.
    pub class: Option<String>,
    /// The largest value of its martingale so far: 1 is where it began.
    pub evidence: f64,
    /// From which on it raises an alarm.
    pub needed: f64,
}

/// What came ([`DriftReport::cause`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DriftCause {
    /// Which of four kinds.
    pub kind: CauseKind,
    /// The same in a sentence.
    pub text: String,
    /// Rows since the change that it was told by.
    pub rows: usize,
    /// The class that ages, or the known class nearest to a new group.
    pub class: Option<String>,
    /// How far vectors moved, if all of them or those of a class did.
    pub shift: Option<Shift>,
    /// The new group, if there is one.
    pub group: Option<NewGroup>,
    /// Mean norm of these rows, by that before.
    pub norm_ratio: f64,
    /// Dimensions that these rows effectively fill, `(sum l)^2 / sum l^2` over the eigenvalues of their covariance, by that before.
    pub dimension_ratio: f64,
}

/// Kinds of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CauseKind {
    /// A group of unknowns came; other rows are as before.
    NewClass,
    /// All vectors moved by the same vector; taken back, they are as before.
    Moved,
    /// Rows of one class changed; others are as before.
    ClassAges,
    /// All vectors changed, and by no move: another encoder, as a rule.
    Encoder,
}

impl CauseKind {
    /// All of them.
    pub const ALL: [CauseKind; 4] =
        [CauseKind::NewClass, CauseKind::Moved, CauseKind::ClassAges, CauseKind::Encoder];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CauseKind::NewClass => "new_class",
            CauseKind::Moved => "moved",
            CauseKind::ClassAges => "class_ages",
            CauseKind::Encoder => "encoder",
        }
    }
}

/// By what vectors moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Shift {
    /// Its Euclidean length, in units of the features.
    pub size: f64,
    /// The same in units of the spread of rows around the mean of their class.
    pub spreads: f64,
    /// The columns that moved most, with what they moved by; five at most.
    pub columns: Vec<ShiftedColumn>,
}

/// What a column moved by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ShiftedColumn {
    /// Its number, from 0.
    pub column: usize,
    /// Its name, if the model has names.
    pub name: Option<String>,
    /// What it moved by on average.
    pub by: f64,
}

/// Unknown rows that lie together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NewGroup {
    /// Rows of the stream that are of it, from 1.
    pub rows: Vec<u64>,
    /// Its share of the rows since the change.
    pub share: f64,
    /// The row in its middle, from 1.
    pub middle: u64,
    /// Distance of its mean from the mean of the nearest class, in units of the spread of rows around the mean of their class.
    pub spreads: f64,
}

impl fmt::Display for DriftReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.alarm, &self.cause) {
            (None, _) => write!(f, "no drift in {} rows", self.rows)?,
            (Some(alarm), None) => {
                write!(
                    f,
                    "drift since about row {}, found at row {}; the last rows do not tell its cause",
                    alarm.since, alarm.row
                )?;
            }
            (Some(alarm), Some(cause)) => {
                write!(
                    f,
                    "drift since about row {}, found at row {}: {}",
                    alarm.since, alarm.row, cause.text
                )?;
            }
        }
        write!(f, " (false alarms: {} % of streams at most)", crate::error::percent(self.rate))
    }
}
