//! What can be wrong with a single row, and where rows are.

use std::fmt;

use crate::brief::{brief, passage};

/// Where a row is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The row, counted from 1 over data rows; headers, comments and blank lines do not count.
    pub row: u64,
    /// The line in a text file, counted from 1 over all lines.
    pub line: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "row {} (line {line})", self.row),
            None => write!(formatter, "row {}", self.row),
        }
    }
}

/// Why a row cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowProblem {
    /// An empty field, a null, or a word that stands for one, such as `NA`.
    #[error("column `{}` has no value", brief(column))]
    Missing {
        /// The column.
        column: String,
    },
    /// A field that is no number.
    #[error("column `{}` holds `{}`, which is not a number", brief(column), brief(value))]
    NotANumber {
        /// The column.
        column: String,
        /// The field.
        value: String,
    },
    /// NaN or an infinity.
    #[error("column `{}` holds {value}, which is not finite", brief(column))]
    NotFinite {
        /// The column.
        column: String,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
    },
    /// A number beyond the range of 32-bit floats.
    #[error("column `{}` holds {value:e}, which is beyond the range of 32-bit floats", brief(column))]
    TooLarge {
        /// The column.
        column: String,
        /// The number.
        value: f64,
    },
    /// A number whose square, summed over a row, would leave the range of 32-bit floats.
    #[error("column `{}` holds {value:e}, whose magnitude is above {limit:e}", brief(column))]
    AboveLimit {
        /// The column.
        column: String,
        /// The number.
        value: f64,
        /// The largest magnitude that a model takes.
        limit: f32,
    },
    /// All features are zero where a row must have a direction.
    #[error("all features are zero, and such a row has no cosine distance to anything")]
    ZeroVector,
    /// A row that leaves the range of [`AboveLimit`](Self::AboveLimit) when it is whitened.
    #[error("a value is above {limit:e} after whitening")]
    WhitenedAboveLimit {
        /// The largest magnitude that a model takes.
        limit: f32,
    },
    /// No label.
    #[error("the label is missing")]
    MissingLabel,
    /// Bytes that are not UTF-8 where text is needed.
    #[error("column `{}` is not UTF-8 text", brief(column))]
    NotText {
        /// The column.
        column: String,
    },
    /// More or fewer fields than the rows before.
    #[error("there are {found} fields where {expected} are expected")]
    Ragged {
        /// Fields in the header or the first row.
        expected: usize,
        /// Fields in this row.
        found: usize,
    },
    /// A vector of another length than those before.
    #[error("the vector in column `{}` has {found} elements where {expected} are expected", brief(column))]
    VectorLength {
        /// The column.
        column: String,
        /// The length of the first vector.
        expected: usize,
        /// The length of this one.
        found: usize,
    },
    /// A token of a LIBSVM line that is not `index:value`.
    #[error("`{}` is not of the form index:value", brief(token))]
    NotAPair {
        /// The token.
        token: String,
    },
    /// A LIBSVM index outside the feature vector.
    #[error("index {index} is beyond the {columns} features expected")]
    IndexTooLarge {
        /// The index as written.
        index: u64,
        /// The number of features.
        columns: usize,
    },
    /// A line of JSON that is not one object.
    #[error("it is not a JSON object: {}", passage(detail))]
    NotAnObject {
        /// What the parser met.
        detail: String,
    },
    /// An index given twice in one LIBSVM line.
    #[error("index {index} is given twice")]
    RepeatedIndex {
        /// The index as written.
        index: u64,
    },
}

impl RowProblem {
    /// What to do about it, as the beginning of a sentence.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "Fill in the value",
            Self::NotANumber { .. } => "Correct it, leave the column out",
            Self::NotFinite { .. } => "Replace it by a finite number",
            Self::TooLarge { .. } | Self::AboveLimit { .. } => "Rescale the column",
            Self::WhitenedAboveLimit { .. } => "Remove the row",
            Self::ZeroVector => "Remove the row, use another metric",
            Self::MissingLabel => "Fill in the label",
            Self::NotText { .. } => "Save the file as UTF-8",
            Self::Ragged { .. } => "Correct the row",
            Self::VectorLength { .. } => "Use vectors of one length",
            Self::NotAPair { .. } | Self::RepeatedIndex { .. } | Self::NotAnObject { .. } => {
                "Correct the line"
            }
            Self::IndexTooLarge { .. } => "Check that the file belongs to this model",
        }
    }
}

/// The rows left out because they were bad.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Skipped {
    /// How many.
    pub rows: u64,
    /// Where and why, for the first [`Skipped::KEPT`] of them.
    pub reasons: Vec<(Place, RowProblem)>,
}

impl Skipped {
    /// How many reasons are kept.
    pub const KEPT: usize = 5;

    /// Counts a row.
    pub fn record(&mut self, place: Place, problem: RowProblem) {
        self.rows += 1;
        if self.reasons.len() < Self::KEPT {
            self.reasons.push((place, problem));
        }
    }
}
