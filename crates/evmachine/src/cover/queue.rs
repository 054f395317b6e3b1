//! What waits to be chosen.

use std::cmp::{Ordering, Reverse};

/// A point by what it would add; of equal ones the first leads.
#[derive(PartialEq)]
pub(super) struct Entry {
    pub(super) gain: f64,
    pub(super) index: Reverse<usize>,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
