//! Reduction: a model chooses its extreme vectors among those that it holds.

use std::sync::Arc;

use crate::error::ReduceError;
use crate::model::Evm;
use crate::params::Params;
use evmachine_engine::run::Run;

impl Evm {
    /// Chooses among the extreme vectors again, under another threshold or budget, which later updates keep to.
    ///
    /// ```
    /// # use evmachine::{Budget, Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let all = Params { cover_threshold: 1.0, ..Params::default() };
    /// let (mut evm, _) = Evm::fit(&all, &features, &labels)?;
    /// evm.reduce(&Params { max_extreme_vectors: Some(Budget::PerClass(2)), ..all })?;
    /// assert_eq!(evm.extreme_vector_count(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reduce(&mut self, params: &Params) -> Result<(), ReduceError> {
        self.reduce_with(&Run::new(), params)
    }

    /// As [`reduce`](Self::reduce), watched and sized by `run`. A model does not hold where its points were before
    /// smoothing; where there is smoothing, training with a threshold or budget chooses better. Of `params`, only `cover_threshold`, `cover_risk`,
    /// `max_extreme_vectors`, `reduction` and `reduce_when` are used.
    pub fn reduce_with(&mut self, run: &Run<'_>, params: &Params) -> Result<(), ReduceError> {
        let mut model = self.clone();
        model.machine.reduce(run, params)?;
        if let Some(witnesses) = &mut model.witnesses {
            let witnesses = Arc::make_mut(witnesses);
            if let Some(logits) = &mut witnesses.logits {
                logits.machine.reduce(run, &model.machine.params)?;
            }
        }
        model.recalibrate(run)?;
        *self = model;
        Ok(())
    }
}
