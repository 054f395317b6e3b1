//! What a reader takes for granted, and what of that may be wrong.

use std::fmt;

/// Something about a file that its owner should know, though it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A column without a name counts the rows, as data frames write their index, and is not a feature.
    IndexColumn {
        /// Its number, from 0.
        column: usize,
    },
    /// A column is the index of the data frame that was written, by what the file says, and is not a feature.
    NamedIndex {
        /// What it is called.
        name: String,
    },
    /// The first line counts the columns and may be a header; it is taken for data.
    DoubtfulHeader,
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IndexColumn { column } => {
                write!(
                    formatter,
                    "column {column} has no name and counts the rows; it is not taken for a feature"
                )
            }
            Self::NamedIndex { name } => {
                write!(
                    formatter,
                    "column {name:?} is the index of a data frame; it is not taken for a feature"
                )
            }
            Self::DoubtfulHeader => formatter
                .write_str("the first line may be names of columns (0, 1, 2, …); it is taken for a row"),
        }
    }
}
