//! What is kept of a tail once it is fitted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What an extreme vector remembers of its tail, for later updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailMemory {
    /// All of its distances, so that updates are exact. Gives way to `Max` where the model's tails would take
    /// more than `tail_memory_limit`.
    #[default]
    Full,
    /// The largest, enough to tell whether a new negative falls into the tail. A refit then uses the extreme
    /// vectors and the batch.
    Max,
    /// Nothing.
    None,
}

/// The largest distance of a tail that is not full yet, as it is remembered: everything falls into it.
pub const OPEN_TAIL: f32 = f32::MAX;

/// The tail as it is remembered: whole, or its largest value alone.
pub fn remembered(tail: &[f32], size: usize, memory: TailMemory) -> Arc<[f32]> {
    match memory {
        TailMemory::Full => tail.into(),
        TailMemory::Max if tail.len() < size => [OPEN_TAIL].into(),
        TailMemory::Max => tail.last().copied().into_iter().collect(),
        TailMemory::None => Arc::default(),
    }
}
