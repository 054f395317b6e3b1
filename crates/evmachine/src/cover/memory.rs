//! The memory that covers may keep, shared by all classes of a call.

use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct Memory {
    limit: usize,
    used: AtomicUsize,
}

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0) }
    }

    /// Takes so many bytes, if they are there.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let fits = |used: usize| used.checked_add(bytes).filter(|total| *total <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
