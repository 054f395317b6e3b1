//! Ctrl-C, or the signal to terminate: the running call is told to stop, and nothing half-written is left behind.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use evmachine::{Observer, Stage};

use crate::failure::Failure;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The first signal asks; the second one ends the program at once.
pub(crate) fn listen() {
    // Where no handler can be set, the system's own ends the program, which leaves no half-written file either.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Ends a library call on Ctrl-C, and says nothing.
pub(crate) struct Watch;

impl Observer for Watch {
    fn progress(&self, _: Stage, _: u64, _: u64) -> ControlFlow<()> {
        flow()
    }
}

/// Whether to go on, for those who are asked.
pub fn flow() -> ControlFlow<()> {
    if INTERRUPTED.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// An error once the program was interrupted.
pub fn check() -> Result<(), Failure> {
    if flow().is_break() { Err(Failure::interrupted()) } else { Ok(()) }
}
