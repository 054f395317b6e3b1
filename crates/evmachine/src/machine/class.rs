//! A class of a machine: its extreme vectors, with the Psi-model of each.

use std::sync::Arc;

use serde::Serialize;

use crate::machine::samples::Samples;
use evmachine_engine::psi::PsiModel;

/// One class. Columns of equal length, an entry for each extreme vector, in order of choice.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ClassModel {
    pub(crate) name: String,
    pub(crate) tail_size: usize,
    pub(crate) points_seen: u64,
    /// Row after row, ready for the metric. Models that one became of another share what did not change.
    pub(crate) vectors: Arc<Vec<f32>>,
    pub(crate) psi: Vec<PsiModel>,
    /// Number of the training row, counted over all data ever learned from.
    pub(crate) sources: Vec<u64>,
    pub(crate) gains: Vec<f32>,
    /// By tail memory: all distances, sorted; the largest alone, `OPEN_TAIL` if the tail is not full yet; none.
    pub(crate) tails: Vec<Arc<[f32]>>,
    /// Vectors that are not of the class. Neither `psi` nor `tails` have them in: [`Machine::psi_of`](crate::Machine::psi_of) does.
    pub(crate) denied: Arc<Samples>,
}

impl ClassModel {
    pub(crate) fn len(&self) -> usize {
        self.psi.len()
    }
}

/// A class of a model, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClassInfo<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of extreme vectors.
    pub extreme_vectors: usize,
    /// Rows learned from.
    pub points_seen: u64,
    /// tau of its tails.
    pub tail_size: usize,
}

/// An extreme vector of a model, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExtremeVector<'a> {
    /// Class, by position in [`Evm::classes`](crate::Evm::classes).
    pub class: usize,
    /// The vector: whitened where whitening is on, of unit length for cosine, moved where smoothing is on.
    pub vector: &'a [f32],
    /// The fitted Psi-model, before pooling; with the denials of its class among the negatives. That of a point whose tail was not
    /// measured ([`FitStatus::Pooled`](crate::FitStatus::Pooled)) is the mean over those that were.
    pub psi: PsiModel,
    /// The training row it came from, counted from 0 over all data ever learned from.
    pub source: u64,
    /// Points of its class that it was the first to cover, less its risk ([`Params::cover_risk`](crate::Params::cover_risk)); for the
    /// weighted cover, what it added to the sum of psi.
    pub gain: f32,
}
