//! Rows that were taken out of a model and can come back.

use serde::Serialize;

use crate::heldout::sample::Role;
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
    /// The vector, as in [`ExtremeVector`](crate::ExtremeVector); as it came, if the row was held out of training.
    pub vector: &'a [f32],
}

/// A training row that was held out for good, so that the threshold could be set on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RowHeldOut<'a> {
    /// Its class.
    pub class: &'a str,
    /// The training row, counted from 0 over all rows ever given to the model.
    pub source: u64,
    /// The row as it came.
    pub features: &'a [f32],
}

/// # Rows
impl Evm {
    /// Rows that were set aside, in the order in which that was done; then those of them that had been held out of training.
    pub fn rows_aside(&self) -> impl ExactSizeIterator<Item = RowAside<'_>> {
        let learned = self.ledger.aside.iter().map(|row| RowAside {
            class: &row.class,
            source: row.source,
            vector: &row.vector,
        });
        let held_out = self.held_out_as(|role| role == Role::Aside);
        let held_out =
            held_out.map(|row| RowAside { class: row.class, source: row.source, vector: row.features });
        learned.chain(held_out).collect::<Vec<_>>().into_iter()
    }

    /// Training rows that the model never learned, class by class: the threshold is set on them.
    pub fn rows_held_out(&self) -> impl Iterator<Item = RowHeldOut<'_>> {
        self.held_out_as(|role| matches!(role, Role::Held | Role::Idle))
    }

    fn held_out_as(&self, wanted: fn(Role) -> bool) -> impl Iterator<Item = RowHeldOut<'_>> {
        self.held.sample.iter().flat_map(move |sample| {
            sample.positions(wanted).into_iter().map(|at| RowHeldOut {
                class: &self.machine.classes[sample.classes[at] as usize].name,
                source: sample.sources[at],
                features: sample.row(at),
            })
        })
    }
}
