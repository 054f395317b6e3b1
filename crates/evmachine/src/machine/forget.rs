//! A class that goes: its extreme vectors leave, and the others take their margins to it back.

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::lookup::Cache;
use crate::machine::margins::{self, Moving};
use evmachine_engine::run::Run;

impl Machine {
    /// Removes a class, which is not the last one. On an error the machine is not to be used.
    pub(crate) fn forget(&mut self, run: &Run<'_>, class: usize) -> Result<(), RunError> {
        let gone = self.classes.remove(class);
        self.cache = Cache::default();
        // Its fits stay part of the pooling means, which are taken over all training points.
        for psi in &gone.psi {
            self.dropped.add(psi);
        }
        let apart = vec![0..0; self.classes.len()];
        let moving = Moving::new(self, &gone.vectors, apart);
        margins::lose(run, self, None, &moving)?;
        if self.is_alone() {
            self.fit_alone(run)?;
        }
        self.cache = Cache::default();
        Ok(())
    }
}
