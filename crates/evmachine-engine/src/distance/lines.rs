//! Values that begin on a cache line, so that no vector of a panel lies on two of them.

use std::ops::{Deref, DerefMut};

/// Values of a line of 64 bytes.
const LINE: usize = 16;

/// Zeros to begin with.
#[derive(Default)]
pub(super) struct Lines {
    values: Vec<f32>,
    start: usize,
    length: usize,
}

impl Lines {
    pub(super) fn new(length: usize) -> Self {
        let values = vec![0.0; length + LINE];
        let start = values.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
        Self { values, start, length }
    }

    /// So many values, whatever they are, in the memory of those before where there is enough.
    pub(super) fn shape(&mut self, length: usize) {
        if self.start + length > self.values.len() {
            *self = Self::new(length);
        }
        self.length = length;
    }
}

impl Deref for Lines {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values[self.start..self.start + self.length]
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.start..self.start + self.length]
    }
}

impl From<Vec<f32>> for Lines {
    /// Where they are; for those who do not read whole vectors.
    fn from(values: Vec<f32>) -> Self {
        Self { length: values.len(), start: 0, values }
    }
}
