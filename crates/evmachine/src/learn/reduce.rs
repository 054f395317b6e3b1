//! Reduction: a model chooses its extreme vectors among those that it holds.

use std::sync::Arc;

use crate::error::ReduceError;
use crate::model::Evm;
use crate::params::cover::Cover;
use evmachine_engine::run::Run;

/// # Make smaller
impl Evm {
    /// Chooses among the extreme vectors again, under another threshold or budget, which later updates keep to.
    ///
    /// ```
    /// # use evmachine::{Budget, Cover, Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let all = Params { cover_threshold: 1.0, ..Params::plain() };
    /// let (mut evm, _) = Evm::fit(&all, &features, &labels)?;
    /// evm.reduce(&Cover::within(Budget::PerClass(2)))?;
    /// assert_eq!(evm.extreme_vector_count(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reduce(&mut self, cover: &Cover) -> Result<(), ReduceError> {
        self.reduce_with(&Run::new(), cover)
    }

    /// As [`reduce`](Self::reduce), watched and sized by `run`. A model does not hold where its points were before
    /// smoothing; if there is smoothing, training with a threshold or budget chooses better.
    pub fn reduce_with(&mut self, run: &Run<'_>, cover: &Cover) -> Result<(), ReduceError> {
        let mut model = self.clone();
        model.machine.reduce(run, cover)?;
        if let Some(witnesses) = &mut model.witnesses {
            let witnesses = Arc::make_mut(witnesses);
            if let Some(logits) = &mut witnesses.voices.logits {
                logits.machine.reduce(run, cover)?;
            }
        }
        model.recalibrate(run)?;
        *self = model;
        Ok(())
    }
}
