//! Extreme vectors and curves of models that are asked again and again, on the device from the first call on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use evmachine_engine::device::{SupportModel, SupportWork};

use crate::engine::Engine;
use crate::error::Failure;
use crate::ranks::Points;
use crate::supports::Curves;

/// Models that are kept at once: of a server, the live one and the one that follows it, each with a machine over logits.
const MOST: usize = 4;

/// A model on the device.
pub(crate) struct OnDevice {
    pub(crate) points: Points,
    pub(crate) curves: Curves,
}

/// Models on the device, the one asked last at the end. A `Weak` holds its place in memory, so that no other model can be taken for
/// one that is gone.
#[derive(Default)]
pub(crate) struct Models {
    kept: Mutex<Vec<(Weak<SupportModel>, Arc<OnDevice>)>>,
}

impl Models {
    /// The model of the work, uploaded if it is not there. Others make room for it if they have to.
    pub(crate) fn get(&self, engine: &Engine, work: &SupportWork<'_>) -> Result<Arc<OnDevice>, Failure> {
        let model = Arc::downgrade(work.model);
        if let Some(there) = self.find(&model) {
            return Ok(there);
        }
        // Two calls may upload one model at once; the first to finish is kept.
        let uploaded = match OnDevice::new(engine, work) {
            Err(Failure::Memory { .. }) if self.clear() => OnDevice::new(engine, work),
            uploaded => uploaded,
        };
        let uploaded = Arc::new(uploaded?);
        // Other calls have streams of their own.
        engine.finish()?;
        if let Some(there) = self.find(&model) {
            return Ok(there);
        }
        let mut kept = self.living();
        if kept.len() == MOST {
            kept.remove(0);
        }
        kept.push((model, uploaded.clone()));
        Ok(uploaded)
    }

    /// The model, if it is there, which is then the one asked last.
    fn find(&self, model: &Weak<SupportModel>) -> Option<Arc<OnDevice>> {
        let mut kept = self.living();
        let at = kept.iter().position(|(other, _)| other.ptr_eq(model))?;
        let found = kept.remove(at);
        let there = found.1.clone();
        kept.push(found);
        Some(there)
    }

    /// Gives back what models take that nobody has any more.
    pub(crate) fn tidy(&self) {
        drop(self.living());
    }

    /// Gives back what all models take; whether that was anything.
    pub(crate) fn clear(&self) -> bool {
        let mut kept = self.living();
        let any = !kept.is_empty();
        kept.clear();
        any
    }

    fn living(&self) -> MutexGuard<'_, Vec<(Weak<SupportModel>, Arc<OnDevice>)>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(model, _)| model.strong_count() > 0);
        kept
    }
}

impl OnDevice {
    fn new(engine: &Engine, work: &SupportWork<'_>) -> Result<Self, Failure> {
        Ok(Self {
            points: Points::new(engine, &[work.model.vectors.as_ref()], work.dimensions)?,
            curves: Curves::new(engine, work.model)?,
        })
    }
}
