//! Rows that a monitor keeps to tell causes by: some from before, and the last ones.

use serde::{Deserialize, Serialize};

use evmachine_engine::features::Features;

/// Rows that are kept of each, and the values that they may take.
const MOST_ROWS: usize = 512;
const FEWEST_ROWS: usize = 128;
const MOST_VALUES: usize = 1 << 19;

/// How many rows of so many columns are kept.
pub(crate) fn most(columns: usize) -> usize {
    (MOST_VALUES / columns.max(1)).clamp(FEWEST_ROWS, MOST_ROWS)
}

/// A row as the model saw it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// Its number in the stream, from 1; 0 for a reference row.
    pub(crate) row: u64,
    pub(crate) best: u32,
    pub(crate) score: f64,
}

/// Rows with their values, the oldest first up to `next`, where the ring is cut.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct KeptRows {
    columns: usize,
    seen: Vec<Seen>,
    values: Vec<f32>,
    next: usize,
}

impl KeptRows {
    pub(crate) fn new(columns: usize) -> Self {
        Self { columns, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.seen.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= most(self.columns)
    }

    /// Whether lengths are what they must be, which a file may get wrong.
    pub(crate) fn is_whole(&self, columns: usize, classes: usize) -> bool {
        self.columns == columns
            && self.seen.iter().all(|seen| (seen.best as usize) < classes)
            && self.values.len() == self.seen.len() * columns
            && self.len() <= most(columns)
            && self.next <= self.len()
    }

    /// Takes a row in, in the place of the oldest if it is full.
    pub(crate) fn push(&mut self, seen: Seen, values: &[f32]) {
        if self.is_full() {
            self.next %= self.len();
            self.seen[self.next] = seen;
            self.values[self.next * self.columns..(self.next + 1) * self.columns].copy_from_slice(values);
            self.next += 1;
        } else {
            self.seen.push(seen);
            self.values.extend_from_slice(values);
        }
    }

    pub(crate) fn seen(&self) -> &[Seen] {
        &self.seen
    }

    pub(crate) fn row(&self, at: usize) -> &[f32] {
        &self.values[at * self.columns..(at + 1) * self.columns]
    }

    /// Those from a row of the stream on.
    pub(crate) fn since(&self, row: u64) -> Self {
        let mut kept = Self::new(self.columns);
        let mut order: Vec<usize> = (0..self.len()).filter(|&at| self.seen[at].row >= row).collect();
        order.sort_by_key(|&at| self.seen[at].row);
        for at in order {
            kept.push(self.seen[at], self.row(at));
        }
        kept
    }

    pub(crate) fn features(&self) -> Features<'_> {
        Features::checked_view(&self.values, self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rows_stay() {
        let mut kept = KeptRows::new(1);
        for row in 1..=1_300u16 {
            kept.push(Seen { row: u64::from(row), best: 0, score: 0.0 }, &[f32::from(row)]);
        }
        assert_eq!(kept.len(), 512);
        let last = kept.since(1_290);
        assert_eq!(last.features().values(), (1_290..=1_300u16).map(f32::from).collect::<Vec<_>>());
        assert_eq!(kept.since(0).seen()[0].row, 789);
        assert!(kept.is_whole(1, 1) && !kept.is_whole(2, 1) && !kept.is_whole(1, 0));
    }
}
