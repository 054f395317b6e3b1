//! Which column and threshold divide a node best.

use super::{Stretch, best, random};
use crate::options::ForestOptions;
use crate::random::Random;
use crate::table::Table;

/// How a node is divided.
pub(super) struct Split {
    pub(super) column: u32,
    pub(super) threshold: f32,
    /// Columns that are known to be constant in the children.
    pub(super) constants: usize,
}

/// Searches the nodes of one tree, parents before children and one child's kin before the other's.
pub(super) struct SplitSearch<'a> {
    table: &'a Table,
    options: &'a ForestOptions,
    tried: usize,
    random: Random,
    /// All columns, those that are constant in the node first.
    columns: Vec<u32>,
    /// Columns that were found constant on the way from the root, in that order.
    constants: Vec<u32>,
    /// The node's values in the column that is looked at, and in the best one.
    values: Vec<f32>,
    best_values: Vec<f32>,
    sorter: best::Sorter,
}

impl<'a> SplitSearch<'a> {
    pub(super) fn new(table: &'a Table, options: &'a ForestOptions, random: Random) -> Self {
        let columns: Vec<u32> = (0..).take(table.columns()).collect();
        Self {
            table,
            options,
            tried: options.columns.of(table.columns()),
            random,
            constants: columns.clone(),
            columns,
            values: Vec::new(),
            best_values: Vec::new(),
            sorter: best::Sorter::default(),
        }
    }

    /// The node's values in the column of the last split.
    pub(super) fn best_values(&self) -> &[f32] {
        &self.best_values
    }

    /// The best split of a node whose first `known` columns are constant; `None` if no column divides it.
    ///
    /// Columns are drawn without replacement, as scikit-learn draws them: those that are known to be constant, or found to be, are
    /// counted as tried, but the search goes on until one column at least is not.
    pub(super) fn split(&mut self, rows: &[u32], stretches: &[Stretch], known: usize) -> Option<Split> {
        let mut best: Option<(f64, u32, f32)> = None;
        let mut end = self.columns.len();
        let (mut visited, mut drawn, mut found) = (0, 0, 0);
        while end > known + found && (visited < self.tried || visited <= drawn + found) {
            visited += 1;
            let mut at = drawn + self.random.below(end - found - drawn);
            if at < known {
                self.columns.swap(at, drawn);
                drawn += 1;
                continue;
            }
            at += found;
            let column = self.columns[at];
            let (least, largest) = self.gather(column, rows);
            if least == largest {
                self.columns.swap(at, known + found);
                found += 1;
                continue;
            }
            end -= 1;
            self.columns.swap(at, end);
            let least_rows = self.options.min_samples_leaf;
            let candidate = if self.options.is_random() {
                let threshold = random::threshold(least, largest, &mut self.random);
                random::score(&self.values, stretches, threshold, least_rows).map(|score| (score, threshold))
            } else {
                self.sorter.best(&self.values, stretches, least_rows)
            };
            if let Some((score, threshold)) = candidate
                && best.is_none_or(|(highest, ..)| score > highest)
            {
                best = Some((score, column, threshold));
                std::mem::swap(&mut self.values, &mut self.best_values);
            }
        }
        // What was drawn among the known constants is put back in order: nodes on other branches count on it.
        self.columns[..known].copy_from_slice(&self.constants[..known]);
        let constants = known + found;
        self.constants[known..constants].copy_from_slice(&self.columns[known..constants]);
        best.map(|(_, column, threshold)| Split { column, threshold, constants })
    }

    /// Fetches the node's values in a column. Says the least and the largest.
    fn gather(&mut self, column: u32, rows: &[u32]) -> (f32, f32) {
        let column = self.table.column(column as usize);
        self.values.clear();
        self.values.extend(rows.iter().map(|&row| column[row as usize]));
        let mut least = [f32::INFINITY; 8];
        let mut largest = [f32::NEG_INFINITY; 8];
        let chunks = self.values.chunks_exact(8);
        let rest = chunks.remainder();
        for chunk in chunks {
            for lane in 0..8 {
                least[lane] = if chunk[lane] < least[lane] { chunk[lane] } else { least[lane] };
                largest[lane] = if chunk[lane] > largest[lane] { chunk[lane] } else { largest[lane] };
            }
        }
        let least = least.iter().chain(rest).fold(f32::INFINITY, |least, &value| least.min(value));
        (least, largest.iter().chain(rest).fold(f32::NEG_INFINITY, |largest, &value| largest.max(value)))
    }
}
