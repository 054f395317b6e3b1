//! Which cells a row looks into.

use fearless_simd::{Simd, dispatch};

use crate::level::level;

/// Chooses cells row after row; memory and a guess are left from one to the next.
#[derive(Default)]
pub struct CellChoice {
    /// The rank of a centre above the number of its cell, which order as one number.
    keys: Vec<u64>,
    guess: usize,
}

impl CellChoice {
    /// The cells whose centres are nearest, nearest first, until they hold `reach` of what counts: by cell the rank of its centre,
    /// and how many of its columns count. Cells where none does are left out.
    pub fn choose(&mut self, ranks: &[f32], counts: &[u32], reach: usize) -> impl Iterator<Item = usize> {
        self.keys.clear();
        let cells = (0u64..).zip(ranks.iter().zip(counts)).filter(|(_, (_, count))| **count > 0);
        // Ranks are not negative, so they are ordered like their bits.
        self.keys.extend(cells.map(|(cell, (rank, _))| u64::from(rank.to_bits()) << 32 | cell));
        let (mut sorted, mut end, mut met) = (0, 0, 0);
        let mut step = self.guess.max(16);
        while met < reach && end < self.keys.len() {
            let next = (sorted + step).min(self.keys.len());
            if next < self.keys.len() {
                self.keys[sorted..].select_nth_unstable(next - sorted);
            }
            self.keys[sorted..next].sort_unstable();
            while met < reach && end < next {
                met += counts[cell_of(self.keys[end])] as usize;
                end += 1;
            }
            (sorted, step) = (next, 2 * step);
        }
        self.guess = end + end / 4;
        self.keys[..end].iter().map(|&key| cell_of(key))
    }
}

/// The smallest rank up to which cells hold `reach` of what counts, as [`CellChoice::choose`] finds it, without an order of them;
/// infinite where all hold no more.
pub fn threshold(ranks: &[f32], counts: &[u32], reach: usize) -> f32 {
    dispatch!(level(), simd => threshold_simd(simd, ranks, counts, reach))
}

#[inline(always)]
fn threshold_simd<S: Simd>(_: S, ranks: &[f32], counts: &[u32], reach: usize) -> f32 {
    let held = |limit: u32| -> usize {
        let counted = |(rank, &count): (&f32, &u32)| if rank.to_bits() <= limit { count } else { 0 };
        ranks.iter().zip(counts).map(counted).fold(0u32, u32::wrapping_add) as usize
    };
    let bits = || ranks.iter().map(|rank| rank.to_bits());
    let (mut low, mut high) = (bits().fold(u32::MAX, u32::min), bits().fold(0, u32::max));
    if ranks.is_empty() || held(high) <= reach {
        return f32::INFINITY;
    }
    // Ranks are not negative, so they are ordered like their bits.
    while low < high {
        let middle = low + (high - low) / 2;
        if held(middle) < reach {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    f32::from_bits(high)
}

fn cell_of(key: u64) -> usize {
    (key & u64::from(u32::MAX)) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_come_first_until_there_are_enough(
            cells in prop::collection::vec((prop_oneof![0f32..9.0, Just(2.0f32)], 0u32..6), 1..200),
            reaches in prop::collection::vec(prop_oneof![0usize..400, Just(usize::MAX)], 1..5),
        ) {
            let (ranks, counts): (Vec<f32>, Vec<u32>) = cells.into_iter().unzip();
            let mut order: Vec<usize> = (0..ranks.len()).filter(|&cell| counts[cell] > 0).collect();
            order.sort_by(|&a, &b| ranks[a].total_cmp(&ranks[b]));
            let mut probe = CellChoice::default();
            for reach in reaches {
                let found: Vec<usize> = probe.choose(&ranks, &counts, reach).collect();
                prop_assert_eq!(&found[..], &order[..found.len()]);
                let held = |cells: &[usize]| cells.iter().map(|&cell| counts[cell] as usize).sum::<usize>();
                prop_assert!(held(&found) >= reach || found.len() == order.len());
                prop_assert!(found.is_empty() || held(&found[..found.len() - 1]) < reach, "one too many");
                if let Some(&last) = found.last() {
                    let limit = threshold(&ranks, &counts, reach);
                    let within = |limit: f32| order.iter().filter(|&&cell| ranks[cell] <= limit).count();
                    prop_assert_eq!(within(limit), within(ranks[last]), "those as far as the last too");
                }
            }
        }
    }
}
