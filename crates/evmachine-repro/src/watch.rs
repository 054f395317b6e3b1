//! Who watches a run, and can stop it.

use std::ops::ControlFlow;

use crate::error::ReproError;

/// Told what is being done and how far it is; can end the run between two units of work.
pub struct Watch<'a>(&'a (dyn Fn(&str, usize, usize) -> ControlFlow<()> + Sync));

impl<'a> Watch<'a> {
    /// `told(what, done, total)`.
    pub fn new(told: &'a (dyn Fn(&str, usize, usize) -> ControlFlow<()> + Sync)) -> Self {
        Self(told)
    }

    pub(crate) fn flow(&self, what: &str, done: usize, total: usize) -> ControlFlow<()> {
        (self.0)(what, done, total)
    }

    pub(crate) fn tell(&self, what: &str, done: usize, total: usize) -> Result<(), ReproError> {
        if self.flow(what, done, total).is_break() { Err(ReproError::Stopped) } else { Ok(()) }
    }
}
