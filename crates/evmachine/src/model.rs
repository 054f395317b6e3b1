//! The model: its machine, with what it held out, its witnesses, and its ledger.

pub(crate) mod aside;
pub(crate) mod encoder;
pub(crate) mod format;
pub(crate) mod job;
pub(crate) mod ledger;
pub(crate) mod origin;
pub(crate) mod witnesses;

use std::sync::Arc;

use self::ledger::Ledger;
use crate::heldout::HeldOut;
use crate::machine::Machine;
use crate::machine::class::{ClassInfo, ExtremeVector};
use crate::machine::denied::Denial;
use crate::params::{CheckedParams, TailMemory};
use crate::witness::Witnesses;
use evmachine_engine::metric::MetricError;
use evmachine_engine::psi::PsiModel;

/// The Extreme Value Machine.
///
/// Trained by [`fit`](Evm::fit), grown by [`update`](Evm::update), asked by [`decide`](Evm::decide). Immutable
/// but for those that take `&mut self`; cloning is cheap next to training and copies the extreme vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Evm {
    /// Over the features.
    pub(crate) machine: Machine,
    /// Where [`Params::logit_weight`](crate::Params::logit_weight) or that of the probe ask for them.
    pub(crate) witnesses: Option<Arc<Witnesses>>,
    /// What was held out of training, and what it tells.
    pub(crate) held: HeldOut,
    /// What it notes of rows and columns.
    pub(crate) ledger: Ledger,
}

impl From<Machine> for Evm {
    /// A model that decides by the machine alone.
    fn from(machine: Machine) -> Self {
        Self { machine, witnesses: None, held: HeldOut::default(), ledger: Ledger::default() }
    }
}

/// # Look inside
impl Evm {
    /// The same model, remembering nothing of its tails, and deciding by its machine alone.
    pub(crate) fn clone_without_tails(&self) -> Self {
        Self { ledger: self.ledger.clone(), ..Self::from(self.machine.clone_without_tails()) }
    }

    /// The machine over the features.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The parameters it was trained with.
    pub fn params(&self) -> &CheckedParams {
        &self.machine.params
    }

    /// Dimension of the vectors.
    pub fn dimensions(&self) -> usize {
        self.machine.dimensions
    }

    /// The matrix W that features are whitened with, row after row ([`Machine::whitening_matrix`]).
    pub fn whitening_matrix(&self) -> Option<Vec<f32>> {
        self.machine.whitening_matrix()
    }

    /// Means and deviations of the columns ([`Machine::standard_columns`]).
    pub fn standard_columns(&self) -> Option<(&[f64], &[f64])> {
        self.machine.standard_columns()
    }

    /// A vector of the model as a row of features, but for rounding ([`Machine::in_feature_space`]).
    pub fn in_feature_space(&self, vector: &[f32]) -> Vec<f32> {
        self.machine.in_feature_space(vector)
    }

    /// What the model remembers of tails.
    pub fn tail_memory(&self) -> TailMemory {
        self.machine.tail_memory
    }

    /// Rows ever given to the model, those of forgotten classes and ignored ones included.
    pub fn points_seen(&self) -> u64 {
        self.machine.points_seen
    }

    /// The classes, in the order in which they were learned.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = ClassInfo<'_>> {
        self.machine.classes()
    }

    /// The name of a class.
    ///
    /// # Panics
    ///
    /// If there are not so many classes.
    pub fn class_name(&self, class: usize) -> &str {
        self.machine.class_name(class)
    }

    /// The position of the class of a name, or of another name of the same [`key`](crate::labels::key).
    pub fn class_index(&self, name: &str) -> Option<usize> {
        self.machine.class_index(name)
    }

    /// All extreme vectors, class by class, in order of choice within a class.
    pub fn extreme_vectors(&self) -> impl Iterator<Item = ExtremeVector<'_>> {
        self.machine.extreme_vectors()
    }

    /// Number of extreme vectors.
    pub fn extreme_vector_count(&self) -> usize {
        self.machine.extreme_vector_count()
    }

    /// Extreme vectors by rows learned from, those of forgotten classes not counted.
    pub fn vector_ratio(&self) -> f64 {
        self.machine.vector_ratio()
    }

    /// The Psi-models as decisions use them, after pooling, in the order of
    /// [`extreme_vectors`](Self::extreme_vectors).
    pub fn pooled_psi(&self) -> impl Iterator<Item = PsiModel> {
        self.machine.pooled_psi()
    }

    /// Number of ignored samples.
    pub fn ignored_count(&self) -> usize {
        self.machine.ignored_count()
    }

    /// The rows that ignored samples came from, counted from 0 over all data ever given to the model.
    pub fn ignored_sources(&self) -> &[u64] {
        self.machine.ignored_sources()
    }

    /// The ignored samples, as they stand in the model: whitened where whitening is on, of unit length for cosine.
    pub fn ignored_vectors(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.machine.ignored_vectors()
    }

    /// Vectors that are not of a class, class by class ([`Evm::deny`](crate::Evm::deny)).
    pub fn denials(&self) -> impl Iterator<Item = Denial<'_>> {
        self.machine.denials()
    }

    /// Number of vectors that are not of a class.
    pub fn denied_count(&self) -> usize {
        self.machine.denied_count()
    }

    /// Whether there is nothing to measure margins against but denials: one class, and no ignored sample.
    pub fn is_alone(&self) -> bool {
        self.machine.is_alone()
    }

    /// The distance of the first extreme vector from which on every query is unknown ([`Machine::reach`]).
    pub fn reach(&self) -> Result<Option<f64>, MetricError> {
        self.machine.reach()
    }
}
