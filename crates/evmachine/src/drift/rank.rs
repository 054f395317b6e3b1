//! Where a value ranks among all before it: a smoothed p-value.

use serde::{Deserialize, Serialize};

/// Values seen so far, counted by cell.
///
/// A cell is the upper 17 bits of a value's `f32`, below 0.4 % of the value wide, so that memory and time follow the cells in use and not the
/// rows. Cells do not depend on data, so that values in cells are as exchangeable as the values were; those of one cell are ties.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Counted", into = "Counted")]
pub(crate) struct Ranks {
    /// In rising order.
    cells: Vec<u32>,
    counts: Vec<u64>,
    /// Sums of counts by the lowest bit of their position (a Fenwick tree), for ranks in a time that grows with ln(cells).
    sums: Vec<u64>,
    total: u64,
}

/// What is written of [`Ranks`].
#[derive(Clone, Serialize, Deserialize)]
struct Counted {
    cells: Vec<u32>,
    counts: Vec<u64>,
}

impl From<Counted> for Ranks {
    fn from(counted: Counted) -> Self {
        // What stands in a file may be cut short.
        let both = counted.cells.len().min(counted.counts.len());
        let mut ranks = Self {
            cells: counted.cells[..both].to_vec(),
            counts: counted.counts[..both].to_vec(),
            sums: Vec::new(),
            total: 0,
        };
        ranks.sum_again();
        ranks
    }
}

impl From<Ranks> for Counted {
    fn from(ranks: Ranks) -> Self {
        Self { cells: ranks.cells, counts: ranks.counts }
    }
}

/// The cell of a value; the order of cells is that of values.
fn cell(value: f64) -> u32 {
    let bits = (value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32).to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    ordered >> 15
}

impl Ranks {
    /// The share of values so far, this one counted, that are lower, and of those that tie the part `tie`, which is uniform in (0, 1).
    /// For exchangeable values these shares are uniform and do not depend on each other (Vovk, Gammerman and Shafer, 2005). Takes the
    /// value in.
    ///
    /// Counts end where a file that was tampered with may have put them.
    pub(crate) fn p_value(&mut self, value: f64, tie: f64) -> f64 {
        let cell = cell(value);
        let at = self.cells.partition_point(|other| *other < cell);
        let same = if self.cells.get(at) == Some(&cell) { self.counts[at] } else { 0 };
        let p_value = (self.below(at) as f64 + tie * (same as f64 + 1.0)) / (self.total as f64 + 1.0);
        self.add(at, cell);
        p_value
    }

    fn add(&mut self, at: usize, cell: u32) {
        if self.cells.get(at) == Some(&cell) {
            self.counts[at] = self.counts[at].saturating_add(1);
            self.total = self.total.saturating_add(1);
            let mut node = at + 1;
            while node < self.sums.len() {
                self.sums[node] = self.sums[node].saturating_add(1);
                node += node & node.wrapping_neg();
            }
        } else {
            self.cells.insert(at, cell);
            self.counts.insert(at, 1);
            self.sum_again();
        }
    }

    /// How many lie in the first `cells` cells.
    fn below(&self, cells: usize) -> u64 {
        let (mut node, mut sum) = (cells, 0);
        while node > 0 {
            sum = self.sums[node].saturating_add(sum);
            node &= node - 1;
        }
        sum
    }

    fn sum_again(&mut self) {
        self.sums.clear();
        self.sums.resize(self.counts.len() + 1, 0);
        self.total = 0;
        for (at, count) in self.counts.iter().enumerate() {
            self.total = self.total.saturating_add(*count);
            let node = at + 1;
            self.sums[node] = self.sums[node].saturating_add(*count);
            let above = node + (node & node.wrapping_neg());
            if above < self.sums.len() {
                self.sums[above] = self.sums[above].saturating_add(self.sums[node]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evmachine_engine::math::spread;

    fn drawn(number: u64) -> f64 {
        ((spread(number) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    #[test]
    fn ranks_are_those_of_a_sort() {
        let mut ranks = Ranks::default();
        let mut seen: Vec<f64> = Vec::new();
        for row in 0..2_000u64 {
            let value = (drawn(row) - 0.5) * 20.0;
            let tie = drawn(row + 10_000);
            let (own, below) = (cell(value), seen.iter().filter(|other| cell(**other) < cell(value)).count());
            let same = seen.iter().filter(|other| cell(**other) == own).count();
            let expected = (below as f64 + tie * (same as f64 + 1.0)) / (seen.len() as f64 + 1.0);
            assert_eq!(ranks.p_value(value, tie), expected, "row {row}");
            seen.push(value);
        }
        assert_eq!(ranks.total, 2_000);
        let read: Ranks = serde_json::from_str(&serde_json::to_string(&ranks).unwrap()).unwrap();
        assert_eq!((read.sums, read.total), (ranks.sums, ranks.total));
    }

    #[test]
    fn cells_keep_the_order_of_values() {
        let values = [f64::MIN, -1e30, -2.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 1.02, 1e30, f64::MAX];
        assert!(values.map(cell).windows(2).all(|pair| pair[0] < pair[1]));
    }
}
