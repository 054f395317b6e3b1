//! Rows that were taken out of a model and can come back.

use serde::Serialize;

use crate::model::Evm;

/// A row as it stood in the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Aside {
    /// Of the class it was of, and comes back to.
    pub(crate) class: String,
    pub(crate) source: u64,
    /// Ready for the metric.
    pub(crate) vector: Vec<f32>,
}

/// A row that was set aside, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RowAside<'a> {
    /// The class it comes back to.
    pub class: &'a str,
    /// The training row, counted from 0 over all rows ever given to the model.
    pub source: u64,
    /// The vector, as in [`ExtremeVector`](crate::ExtremeVector).
    pub vector: &'a [f32],
}

impl Evm {
    /// Rows that were set aside, in the order in which that was done.
    pub fn rows_aside(&self) -> impl ExactSizeIterator<Item = RowAside<'_>> {
        self.aside.iter().map(|row| RowAside { class: &row.class, source: row.source, vector: &row.vector })
    }
}
