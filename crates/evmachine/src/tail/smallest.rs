//! The smallest of a stream of ranks.

use fearless_simd::{Level, Simd, dispatch, prelude::*};

/// Keeps the `size` smallest of the values offered to it.
///
/// Values are appended while they are below a bound; when the buffer is full, selection halves it and lowers
/// the bound. Each value costs one comparison, and few are ever stored.
pub(super) struct Smallest {
    size: usize,
    capacity: usize,
    pub(super) bound: f32,
    /// The first `length` are in use.
    buffer: Vec<f32>,
    length: usize,
}

/// Room behind the buffer for one whole vector store.
const SLACK: usize = 16;

impl Smallest {
    pub(super) fn new(size: usize, bound: f32) -> Self {
        let capacity = size.saturating_add(size.max(64));
        Self { size, capacity, bound, buffer: Vec::new(), length: 0 }
    }

    pub(super) fn offer(&mut self, values: &[f32]) {
        dispatch!(Level::new(), simd => self.offer_simd(simd, values));
    }

    #[inline(always)]
    fn offer_simd<S: Simd>(&mut self, simd: S, values: &[f32]) {
        let chunks = values.chunks_exact(S::f32s::LEN);
        let rest = chunks.remainder();
        for chunk in chunks {
            let values = S::f32s::from_slice(simd, chunk);
            let below = values.simd_lt(S::f32s::splat(simd, self.bound));
            let bits = below.to_bitmask();
            if bits != 0 {
                self.make_room();
                let target = &mut self.buffer[self.length..self.length + S::f32s::LEN];
                values.compress(below).store_slice(target);
                self.length += bits.count_ones() as usize;
            }
        }
        for &value in rest {
            if value < self.bound {
                self.push(value);
            }
        }
    }

    /// Takes in a value that is below the bound.
    #[inline]
    pub(super) fn push(&mut self, value: f32) {
        self.make_room();
        self.buffer[self.length] = value;
        self.length += 1;
    }

    #[inline]
    fn make_room(&mut self) {
        while self.length + SLACK > self.buffer.len() {
            self.grow_or_shrink();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow_or_shrink(&mut self) {
        let full = self.capacity.saturating_add(2 * SLACK);
        if self.buffer.len() < full {
            let doubled = (2 * self.buffer.len()).max(64);
            self.buffer.resize(doubled.min(full), 0.0);
        } else {
            self.select();
        }
    }

    fn select(&mut self) {
        if self.length > self.size {
            let values = &mut self.buffer[..self.length];
            let (_, bound, _) = values.select_nth_unstable_by_key(self.size - 1, |rank| rank.to_bits());
            self.bound = *bound;
            self.length = self.size;
        }
    }

    /// Lowers the bound to the largest value that still counts, where as many as are kept have come.
    pub(super) fn tighten(&mut self) {
        self.select();
    }

    pub(super) fn sorted(mut self) -> Vec<f32> {
        self.select();
        self.buffer.truncate(self.length);
        // Ranks are not negative, so they are ordered like their bits, which sort faster.
        let bits = sorted_bits(self.buffer.iter().map(|rank| rank.to_bits()).collect());
        for (rank, bits) in self.buffer.iter_mut().zip(bits) {
            *rank = f32::from_bits(bits);
        }
        self.buffer
    }
}

/// From so many values on, counting digits is faster than comparing values.
const COUNTED: usize = 1_024;
/// Bits of a digit; three digits make a `u32`.
const DIGIT: u32 = 11;

/// Radix sort, lowest digit first.
fn sorted_bits(mut bits: Vec<u32>) -> Vec<u32> {
    if bits.len() < COUNTED {
        bits.sort_unstable();
        return bits;
    }
    let digit = |value: u32, place: u32| (value >> (place * DIGIT)) as usize & ((1 << DIGIT) - 1);
    let mut counts = vec![[0u32; 1 << DIGIT]; 3];
    for &value in &bits {
        for (place, counts) in (0..).zip(&mut counts) {
            counts[digit(value, place)] += 1;
        }
    }
    let mut sorted = vec![0; bits.len()];
    for (place, counts) in (0..).zip(&mut counts) {
        if counts[digit(bits[0], place)] as usize == bits.len() {
            continue;
        }
        let mut position = 0;
        for count in counts.iter_mut() {
            position += std::mem::replace(count, position);
        }
        for &value in &bits {
            let position = &mut counts[digit(value, place)];
            sorted[*position as usize] = value;
            *position += 1;
        }
        std::mem::swap(&mut bits, &mut sorted);
    }
    bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_smallest_are_those_a_sort_would_give(
            values in prop::collection::vec(prop_oneof![0f32..1.0, Just(0.5f32), Just(0.0f32)], 0..2000),
            size in 1usize..300,
            cut in 1usize..200,
        ) {
            let mut smallest = Smallest::new(size, f32::INFINITY);
            for part in values.chunks(cut) {
                smallest.offer(part);
            }
            let mut expected = values.clone();
            expected.sort_unstable_by(f32::total_cmp);
            expected.truncate(size);
            prop_assert_eq!(smallest.sorted(), expected);
        }
    }

    proptest! {
        #[test]
        fn counting_digits_sorts(
            mut values in prop::collection::vec(prop_oneof![any::<u32>(), 0u32..3, Just(u32::MAX)], 0..5_000),
        ) {
            let found = sorted_bits(values.clone());
            values.sort_unstable();
            prop_assert_eq!(found, values);
        }
    }

    #[test]
    fn a_bound_leaves_out_what_lies_beyond() {
        let mut smallest = Smallest::new(3, 0.5);
        smallest.offer(&[0.1, 0.5, 0.4, 0.9]);
        assert_eq!(smallest.sorted(), [0.1, 0.4]);
    }
}
