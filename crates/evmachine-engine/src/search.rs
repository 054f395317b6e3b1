//! Whether everything is measured, or what lies near alone.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether everything is measured, or what lies near alone.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Search {
    /// All pairs: tails and supports are those of the data.
    #[default]
    Exact,
    /// Pairs of cells that lie near each other, as many as this recall takes: the share of a tail's values that are found, on
    /// average over the rows, or of queries that are decided as all extreme vectors would. It is measured on a sample, and holds with a confidence of
    /// 95 %. Where there are few rows all pairs are measured; where a recall takes too many of them a fit is refused.
    Approximate(f64),
}

impl Search {
    /// The recall of an approximate search, unless another is given.
    pub const RECALL: f64 = 0.99;

    /// The recall that is asked of a search that is not exact.
    pub fn recall(self) -> Option<f64> {
        match self {
            Search::Exact => None,
            Search::Approximate(recall) => Some(recall),
        }
    }

    /// Whether all pairs are measured.
    pub fn is_exact(&self) -> bool {
        *self == Search::Exact
    }
}

/// What an approximate search found of tails, measured on a sample of the rows whose tails were found exactly as well.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TailRecall {
    /// The recall that was asked for.
    pub asked: f64,
    /// The mean over the sample of the share of a tail's values that were found.
    pub measured: f64,
    /// Over all rows it is at least this, with a confidence of 95 %.
    pub at_least: f64,
    /// Rows of the sample.
    pub rows: usize,
    /// Cells that the rows were divided into.
    pub cells: usize,
    /// Cells that a row looked into, on average.
    pub probed: f64,
    /// The share of all pairs that were measured.
    pub share: f64,
    /// The mean of `|ln(found / exact)|` over the scales of the sample.
    pub scale_error: f64,
    /// The same over the shapes.
    pub shape_error: f64,
    /// The largest difference of psi where the exact one is 0.5.
    pub psi_error: f64,
}

impl fmt::Display for TailRecall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:.2} % of tails found, {:.2} % at least, by {} rows; {:.1} of {} cells probed, {:.2} % of pairs measured; scales are off by \
             {:.1e}, shapes by {:.1e}, psi by {:.1e} at most",
            100.0 * self.measured,
            100.0 * self.at_least,
            self.rows,
            self.probed,
            self.cells,
            100.0 * self.share,
            self.scale_error,
            self.shape_error,
            self.psi_error
        )
    }
}
