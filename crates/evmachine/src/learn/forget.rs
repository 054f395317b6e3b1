//! Forgetting a class: its extreme vectors go, and the others take their margins to it back.

use std::sync::Arc;

use crate::error::ForgetError;
use crate::model::Evm;
use crate::witness::{Voices, Witnesses};
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
        if let Some(sample) = &self.held.sample {
            model.held.sample = Some(Arc::new(sample.without(position)));
        }
        model.witnesses = match &self.witnesses {
            Some(witnesses) if model.machine.classes.len() > 1 => {
                let voices = model.voices_without(run, &witnesses.voices, position)?;
                Some(Arc::new(Witnesses { voices, mixture: witnesses.mixture }))
            }
            _ => None,
        };
        model.recalibrate(run)?;
        *self = model;
        Ok(())
    }

    /// The witnesses of another model without a class, which this one has lost: the forest is grown again, the others leave it out.
    fn voices_without(&self, run: &Run<'_>, voices: &Voices, class: usize) -> Result<Voices, ForgetError> {
        let mut logits = voices.logits.clone();
        if let Some(logits) = &mut logits {
            logits.machine.forget(run, class)?;
        }
        let mut forest = voices.forest.clone();
        if forest.is_some()
            && let Some(sample) = &self.held.sample
        {
            forest = Some(self.regrown(run, sample)?);
        }
        Ok(Voices { probe: voices.probe.as_ref().map(|probe| probe.without(class)), logits, forest })
    }

    /// The names of all classes.
    pub(crate) fn class_names(&self) -> Vec<String> {
        self.machine.classes.iter().map(|class| class.name.clone()).collect()
    }
}
