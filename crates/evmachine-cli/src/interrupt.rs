//! Ctrl-C: the running call is told to stop, and nothing half-written is left behind.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

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

pub(crate) fn flow() -> ControlFlow<()> {
    if INTERRUPTED.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

pub(crate) fn check() -> Result<(), Failure> {
    if flow().is_break() { Err(Failure::interrupted()) } else { Ok(()) }
}
