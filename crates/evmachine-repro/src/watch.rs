//! Who watches a run and can stop it, and the device that helps.

use std::ops::ControlFlow;
use std::sync::Arc;

use evmachine::Run;
use evmachine::device::Device;

use crate::error::ReproError;

/// Told what is being done and how far it is.
type Told<'a> = dyn Fn(&str, usize, usize) -> ControlFlow<()> + Sync + 'a;

/// Told what is being done and how far it is; can end the run between two units of work.
pub struct Watch<'a> {
    told: &'a Told<'a>,
    device: Option<&'a Arc<dyn Device>>,
}

impl<'a> Watch<'a> {
    /// `told(what, done, total)`.
    pub fn new(told: &'a Told<'a>) -> Self {
        Self { told, device: None }
    }

    /// Has the device do the heavy work of the open world's machines, if there is one.
    #[must_use]
    pub fn on(self, device: Option<&'a Arc<dyn Device>>) -> Self {
        Self { device, ..self }
    }

    pub(crate) fn device(&self) -> Option<&'a Arc<dyn Device>> {
        self.device
    }

    /// A library call on the device.
    pub(crate) fn run(&self) -> Run<'_> {
        self.device.iter().fold(Run::new(), |run, device| run.device(device.as_ref()))
    }

    pub(crate) fn flow(&self, what: &str, done: usize, total: usize) -> ControlFlow<()> {
        (self.told)(what, done, total)
    }

    pub(crate) fn tell(&self, what: &str, done: usize, total: usize) -> Result<(), ReproError> {
        if self.flow(what, done, total).is_break() { Err(ReproError::Stopped) } else { Ok(()) }
    }
}
