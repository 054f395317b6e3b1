//! Forgetting a class: its extreme vectors go, and the others take their margins to it back.

use std::sync::Arc;

use crate::error::ForgetError;
use crate::model::Evm;
use evmachine_engine::run::Run;

/// # Make smaller
impl Evm {
    /// Removes a class, and the margins to its extreme vectors from the tails of the others, which are filled up
    /// from the extreme vectors that remain and fitted again. The last class stays.
    ///
    /// With every point kept, whole tails and no whitening, what remains has the Psi-models of a fit without the class. Where the
    /// model refits nothing ([`Refit::New`](crate::Refit::New)), the others stay as they are.
    pub fn forget_class(&mut self, name: &str) -> Result<(), ForgetError> {
        self.forget_class_with(&Run::new(), name)
    }

    /// As [`forget_class`](Self::forget_class), watched and sized by `run`. On an error the model is as it was.
    pub fn forget_class_with(&mut self, run: &Run<'_>, name: &str) -> Result<(), ForgetError> {
        let Some(position) = self.class_index(name) else {
            return Err(ForgetError::UnknownClass { name: name.to_owned(), known: self.class_names() });
        };
        if self.machine.classes.len() < 2 {
            return Err(ForgetError::LastClass { name: name.to_owned() });
        }
        let mut model = self.clone();
        model.machine.forget(run, position)?;
        model.witnesses = match &self.witnesses {
            Some(witnesses) if model.machine.classes.len() > 1 => {
                Some(Arc::new(witnesses.without(run, position)?))
            }
            _ => None,
        };
        if let Some(sample) = &self.held.sample {
            model.held.sample = Some(Arc::new(sample.without(position)));
        }
        model.recalibrate(run)?;
        *self = model;
        Ok(())
    }

    /// The names of all classes.
    pub(crate) fn class_names(&self) -> Vec<String> {
        self.machine.classes.iter().map(|class| class.name.clone()).collect()
    }
}
