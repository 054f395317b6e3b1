//! Selection among ranks, by bisection of values instead of partition around pivots: each step is one pass of
//! comparisons, without a branch that depends on a value.

use fearless_simd::{Simd, dispatch, prelude::*};

use crate::level::level;

/// Lanes of the widest vector.
const WIDEST: usize = 16;

/// The n-th smallest of ranks, counted from 1; there are as many.
pub(super) fn nth_smallest(ranks: &[f32], n: usize) -> f32 {
    dispatch!(level(), simd => nth_simd(simd, ranks, n))
}

/// Moves the n smallest of more ranks to the front and returns the largest of them; the others are lost.
pub(super) fn keep_smallest(ranks: &mut [f32], n: usize) -> f32 {
    dispatch!(level(), simd => keep_simd(simd, ranks, n))
}

#[inline(always)]
fn nth_simd<S: Simd>(simd: S, ranks: &[f32], n: usize) -> f32 {
    let ranks = Padded::new(simd, ranks);
    let (least, largest) = ranks.range(f32::MAX);
    if ranks.up_to(largest) < n {
        return f32::INFINITY;
    }
    // Ranks are not negative, so they are ordered like their bits. Up to `low` there are fewer than n, up to `high` there
    // are as many.
    let (mut low, mut high) = (least.to_bits().cast_signed() - 1, largest.to_bits().cast_signed());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let value = f32::from_bits(middle.cast_unsigned());
        let count = ranks.up_to(value);
        if count == n {
            return ranks.range(value).1;
        }
        if count < n {
            low = middle;
        } else {
            high = middle;
        }
    }
    f32::from_bits(high.cast_unsigned())
}

#[inline(always)]
fn keep_simd<S: Simd>(simd: S, ranks: &mut [f32], n: usize) -> f32 {
    let lanes = S::f32s::LEN;
    let bound = nth_simd(simd, ranks, n);
    let mut kept = 0;
    let whole = ranks.len() / lanes * lanes;
    for start in (0..whole).step_by(lanes) {
        let chunk = S::f32s::from_slice(simd, &ranks[start..start + lanes]);
        let below = chunk.simd_lt(S::f32s::splat(simd, bound));
        // Ends within what was read.
        chunk.compress(below).store_slice(&mut ranks[kept..kept + lanes]);
        kept += below.to_bitmask().count_ones() as usize;
    }
    for at in whole..ranks.len() {
        let rank = ranks[at];
        ranks[kept] = rank;
        kept += usize::from(rank < bound);
    }
    ranks[kept..n].fill(bound);
    bound
}

/// Ranks in whole vectors, the last of them padded with infinity.
struct Padded<'a, S: Simd> {
    simd: S,
    whole: &'a [f32],
    last: S::f32s,
}

impl<'a, S: Simd> Padded<'a, S> {
    #[inline(always)]
    fn new(simd: S, ranks: &'a [f32]) -> Self {
        let (whole, rest) = ranks.split_at(ranks.len() / S::f32s::LEN * S::f32s::LEN);
        let mut last = [f32::INFINITY; WIDEST];
        last[..rest.len()].copy_from_slice(rest);
        Self { simd, whole, last: S::f32s::from_slice(simd, &last[..S::f32s::LEN]) }
    }

    /// The least rank, and the largest up to `limit`.
    #[inline(always)]
    fn range(&self, limit: f32) -> (f32, f32) {
        let zero = S::f32s::splat(self.simd, 0.0);
        let limits = S::f32s::splat(self.simd, limit);
        let mut low = self.last;
        let mut high = self.last.simd_le(limits).select(self.last, zero);
        for chunk in self.whole.chunks_exact(S::f32s::LEN) {
            let chunk = S::f32s::from_slice(self.simd, chunk);
            low = low.min(chunk);
            high = high.max(chunk.simd_le(limits).select(chunk, zero));
        }
        (low.reduce_min(), high.reduce_max())
    }

    /// How many ranks are not above a value, which is finite.
    #[inline(always)]
    fn up_to(&self, value: f32) -> usize {
        let values = S::f32s::splat(self.simd, value);
        let mut count = self.last.simd_le(values).to_bitmask().count_ones();
        for chunk in self.whole.chunks_exact(S::f32s::LEN) {
            count += S::f32s::from_slice(self.simd, chunk).simd_le(values).to_bitmask().count_ones();
        }
        count as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_smallest_are_those_a_sort_would_give(
            ranks in prop::collection::vec(
                prop_oneof![4 => 0f32..1.0, 1 => Just(0.5f32), 1 => Just(0.0f32), 1 => Just(f32::INFINITY)],
                1..300,
            ),
            place in 0.0f64..1.0,
        ) {
            let n = 1 + (place * ranks.len() as f64) as usize;
            let mut sorted = ranks.clone();
            sorted.sort_unstable_by(f32::total_cmp);
            prop_assert_eq!(nth_smallest(&ranks, n), sorted[n - 1]);
            let mut kept = ranks;
            prop_assert_eq!(keep_smallest(&mut kept, n), sorted[n - 1]);
            kept[..n].sort_unstable_by(f32::total_cmp);
            prop_assert_eq!(&kept[..n], &sorted[..n]);
        }
    }
}
