//! The smallest of streams of ranks, one stream for each of many rows.

use fearless_simd::{Simd, dispatch, prelude::*};

use crate::level::level;

use super::select::keep_smallest;

/// Keeps, for each row, so many of the smallest values offered to it.
///
/// Values are appended while they are below the row's bound; when its room is full, selection frees it and lowers the
/// bound. Each value costs one comparison, and few are ever stored. Rows lie side by side, because offers to many of
/// them come in turn.
#[derive(Default)]
pub(super) struct Smallest {
    sizes: Vec<usize>,
    rooms: Vec<RowRoom>,
    bounds: Vec<f32>,
    values: Vec<f32>,
    /// Where rooms end, and another could begin.
    used: usize,
}

/// Where the values of a row lie.
#[derive(Clone, Copy)]
struct RowRoom {
    start: usize,
    /// Where the next one goes.
    end: usize,
    /// Selection frees room when the end comes here; behind it lies room for a whole vector store.
    full: usize,
    /// As in `bounds`; here for those who come to one row at a time.
    bound: f32,
}

/// Room behind the values of a row for one whole vector store.
const SLACK: usize = 16;
/// 0, 1, 2, ...
const LANES: [f32; SLACK] =
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
/// Short tails get at least so much room beyond their size.
const SPARE: usize = 64;

/// Room for a row that keeps so many.
fn room(size: usize) -> usize {
    size.saturating_add(size.max(SPARE) + SLACK)
}

/// Room to begin with, for a row that keeps so many and will most likely be offered few below its bound.
fn small_room(size: usize) -> usize {
    (size / 4 + SPARE + SLACK).min(room(size))
}

impl Smallest {
    /// Rows by how many they keep, at least one, and the bound that they start with.
    pub(super) fn new(rows: impl Iterator<Item = (usize, f32)>) -> Self {
        let mut smallest = Self::default();
        smallest.lay_out(rows, room);
        smallest
    }

    /// Rows that will most likely be offered few values below their bounds: each has little room, and gets more where it needs it.
    pub(super) fn with_few(rows: impl Iterator<Item = (usize, f32)>) -> Self {
        let mut smallest = Self::default();
        smallest.restart_with_few(rows);
        smallest
    }

    /// Other rows [`with_few`](Self::with_few), in the memory of those before.
    pub(super) fn restart_with_few(&mut self, rows: impl Iterator<Item = (usize, f32)>) {
        self.lay_out(rows, small_room);
    }

    fn lay_out(&mut self, rows: impl Iterator<Item = (usize, f32)>, room: impl Fn(usize) -> usize) {
        (self.sizes, self.bounds) = rows.map(|(size, bound)| (size.max(1), bound)).unzip();
        let mut end = 0;
        self.rooms.clear();
        self.rooms.extend(self.sizes.iter().zip(&self.bounds).map(|(&size, &bound)| {
            let start = end;
            end += room(size);
            RowRoom { start, end: start, full: end - SLACK, bound }
        }));
        self.used = end;
        if end > self.values.len() {
            // Zeros that nobody writes to cost no memory.
            self.values = vec![0.0; end];
        }
    }

    /// Bytes that a row takes.
    pub(super) fn bytes(size: usize) -> usize {
        room(size).saturating_mul(size_of::<f32>())
    }

    pub(super) fn rows(&self) -> usize {
        self.sizes.len()
    }

    /// How many a row holds: all that were below its bound, if fewer than it keeps.
    pub(super) fn count(&self, row: usize) -> usize {
        self.rooms[row].end - self.rooms[row].start
    }

    pub(super) fn bounds(&self) -> &[f32] {
        &self.bounds
    }

    pub(super) fn offer(&mut self, row: usize, values: &[f32]) {
        dispatch!(level(), simd => self.offer_simd(simd, row, values));
    }

    /// As [`offer`](Self::offer) for many rows, where many values are below the bounds: at the same cost for those that are not.
    pub(super) fn offer_near<'v>(&mut self, offers: impl Iterator<Item = (usize, &'v [f32])>) {
        dispatch!(level(), simd => {
            for (row, values) in offers {
                self.offer_near_simd(simd, row, values);
            }
        });
    }

    #[inline(always)]
    fn offer_near_simd<S: Simd>(&mut self, simd: S, row: usize, values: &[f32]) {
        let lanes = S::f32s::LEN;
        let chunks = values.chunks_exact(lanes);
        let rest = chunks.remainder().len();
        // Where the next one goes stays in a register, or each would wait for the one before to be written.
        let mut room = self.rooms[row];
        for chunk in chunks {
            let values = S::f32s::from_slice(simd, chunk);
            let below = values.simd_lt(S::f32s::splat(simd, room.bound));
            room = self.take_any(simd, row, room, values, below);
        }
        if rest > 0 && values.len() > lanes {
            // The last ones, without those that were in the vector before.
            let values = S::f32s::from_slice(simd, &values[values.len() - lanes..]);
            let new = S::f32s::from_slice(simd, &LANES[..lanes])
                .simd_gt(S::f32s::splat(simd, (lanes - rest) as f32 - 0.5));
            let below = values.simd_lt(S::f32s::splat(simd, room.bound)) & new;
            room = self.take_any(simd, row, room, values, below);
            self.rooms[row] = room;
        } else {
            self.rooms[row] = room;
            values[values.len() - rest..].iter().for_each(|&value| self.consider(row, value));
        }
    }

    /// As [`take`](Self::take), at the same cost where the mask is empty. Returns what the room of the row is then.
    #[inline(always)]
    fn take_any<S: Simd>(
        &mut self,
        _: S,
        row: usize,
        mut room: RowRoom,
        values: S::f32s,
        below: S::mask32s,
    ) -> RowRoom {
        values.compress(below).store_slice(&mut self.values[room.end..room.end + S::f32s::LEN]);
        room.end += below.to_bitmask().count_ones() as usize;
        if room.end > room.full {
            self.rooms[row] = room;
            self.tighten(row);
            room = self.rooms[row];
        }
        room
    }

    #[inline(always)]
    fn offer_simd<S: Simd>(&mut self, simd: S, row: usize, values: &[f32]) {
        let chunks = values.chunks_exact(S::f32s::LEN);
        let rest = chunks.remainder();
        for chunk in chunks {
            let values = S::f32s::from_slice(simd, chunk);
            let below = values.simd_lt(S::f32s::splat(simd, self.bounds[row]));
            self.take(simd, row, values, below);
        }
        for &value in rest {
            if value < self.bounds[row] {
                self.push(row, value);
            }
        }
    }

    /// Takes in the values of a mask, which are below the bound.
    #[inline(always)]
    pub(super) fn take<S: Simd>(&mut self, _: S, row: usize, values: S::f32s, below: S::mask32s) {
        let bits = below.to_bitmask();
        if bits != 0 {
            let at = self.rooms[row].end;
            values.compress(below).store_slice(&mut self.values[at..at + S::f32s::LEN]);
            self.added(row, bits.count_ones() as usize);
        }
    }

    /// Takes in a value that is below the bound.
    #[inline(always)]
    pub(super) fn push(&mut self, row: usize, value: f32) {
        self.values[self.rooms[row].end] = value;
        self.added(row, 1);
    }

    /// Takes in a value if it is below the bound, at the same cost if it is not.
    #[inline(always)]
    pub(super) fn consider(&mut self, row: usize, value: f32) {
        let room = &self.rooms[row];
        self.values[room.end] = value;
        self.added(row, usize::from(value < room.bound));
    }

    #[inline(always)]
    fn added(&mut self, row: usize, count: usize) {
        let room = &mut self.rooms[row];
        room.end += count;
        if room.end > room.full {
            self.tighten(row);
        }
    }

    /// Lowers the bound to the largest value that still counts, where as many as are kept have come; a row that is full before has
    /// little room, and gets more.
    #[cold]
    #[inline(never)]
    pub(super) fn tighten(&mut self, row: usize) {
        let (size, room) = (self.sizes[row], self.rooms[row]);
        if room.end > room.full && room.full + SLACK - room.start < self::room(size) {
            self.enlarge(row);
            if self.rooms[row].end <= self.rooms[row].full {
                return;
            }
        }
        let room = &mut self.rooms[row];
        if room.end - room.start > size {
            room.bound = keep_smallest(&mut self.values[room.start..room.end], size);
            room.end = room.start + size;
            self.bounds[row] = room.bound;
        }
    }

    /// Moves a row to where it has twice the room, or all that it may need.
    fn enlarge(&mut self, row: usize) {
        let old = self.rooms[row];
        let (length, start) = (old.end - old.start, self.used);
        let end = start + (2 * (old.full + SLACK - old.start)).min(room(self.sizes[row]));
        if end > self.values.len() {
            self.values.resize(end, 0.0);
        }
        self.values.copy_within(old.start..old.end, start);
        self.rooms[row] = RowRoom { start, end: start + length, full: end - SLACK, bound: old.bound };
        self.used = end;
    }

    /// Takes over a row of another, that keeps as many.
    pub(super) fn replace(&mut self, row: usize, other: &Self, other_row: usize) {
        let (room, from) = (&mut self.rooms[row], &other.rooms[other_row]);
        room.end = room.start + (from.end - from.start);
        debug_assert!(room.end <= room.full, "a row with little room takes nothing over");
        room.bound = from.bound;
        self.values[room.start..room.end].copy_from_slice(&other.values[from.start..from.end]);
        self.bounds[row] = from.bound;
    }

    /// What a row keeps, sorted.
    pub(super) fn sorted(&mut self, row: usize) -> &mut [f32] {
        // Counting digits of a few more values takes less time than choosing among them.
        let (size, length) = (self.sizes[row], self.count(row));
        if length < COUNTED || length > size + size / 2 {
            self.tighten(row);
        }
        let room = &mut self.rooms[row];
        let values = &mut self.values[room.start..room.end];
        // Ranks are not negative, so they are ordered like their bits, which sort faster.
        if values.len() < COUNTED {
            values.sort_unstable_by_key(|rank| rank.to_bits());
        } else {
            let bits = sorted_bits(values.iter().map(|rank| rank.to_bits()).collect());
            for (rank, bits) in values.iter_mut().zip(bits) {
                *rank = f32::from_bits(bits);
            }
        }
        room.end = room.start + length.min(size);
        &mut self.values[room.start..room.end]
    }
}

/// Offers distances of one row to it, and each of them to its other end: the rows of `others` from `start` on.
pub(super) fn offer_both(
    one: &mut Smallest,
    row: usize,
    others: &mut Smallest,
    start: usize,
    values: &[f32],
) {
    dispatch!(level(), simd => offer_both_simd(simd, one, row, others, start, values));
}

#[inline(always)]
fn offer_both_simd<S: Simd>(
    simd: S,
    one: &mut Smallest,
    row: usize,
    others: &mut Smallest,
    start: usize,
    values: &[f32],
) {
    let lanes = S::f32s::LEN;
    let chunks = values.chunks_exact(lanes);
    let rest = chunks.remainder();
    let mut other = start;
    for chunk in chunks {
        let values = S::f32s::from_slice(simd, chunk);
        let bounds = S::f32s::from_slice(simd, &others.bounds()[other..other + lanes]);
        let below = values.simd_lt(S::f32s::splat(simd, one.bounds()[row]));
        let mut bits = values.simd_lt(bounds).to_bitmask();
        if bits | below.to_bitmask() != 0 {
            one.take(simd, row, values, below);
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                others.push(other + lane, chunk[lane]);
                bits &= bits - 1;
            }
        }
        other += lanes;
    }
    one.offer(row, rest);
    for (other, &value) in (other..).zip(rest) {
        if value < others.bounds()[other] {
            others.push(other, value);
        }
    }
}

/// From so many values on, counting digits is faster than comparing values.
const COUNTED: usize = 512;
/// Bits of a digit; three digits make a `u32`.
const DIGIT: u32 = 11;

/// Radix sort, lowest digit first.
fn sorted_bits(mut bits: Vec<u32>) -> Vec<u32> {
    if bits.is_empty() {
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
            values in prop::collection::vec(prop_oneof![0f32..1.0, Just(0.5f32), Just(0.0f32)], 0..6000),
            size in 1usize..1_500,
            cut in 1usize..200,
        ) {
            let rows = [(1, f32::INFINITY), (size, f32::INFINITY), (size, f32::INFINITY)];
            let mut smallest = Smallest::new(rows.into_iter());
            let mut few = Smallest::with_few([(7, 0.5)].into_iter());
            few.offer(0, &values);
            few.restart_with_few(rows.into_iter());
            for part in values.chunks(cut) {
                for smallest in [&mut smallest, &mut few] {
                    smallest.offer(0, part);
                    smallest.offer(1, part);
                    smallest.offer_near([(2, part)].into_iter());
                }
            }
            let mut expected = values.clone();
            expected.sort_unstable_by(f32::total_cmp);
            expected.truncate(size);
            for mut smallest in [smallest, few] {
                prop_assert_eq!(&*smallest.sorted(1), &expected[..]);
                prop_assert_eq!(&*smallest.sorted(2), &expected[..]);
                prop_assert_eq!(smallest.sorted(0).first(), expected.first(), "the neighbour is not touched");
            }
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
        let mut smallest = Smallest::new([(3, 0.5)].into_iter());
        smallest.offer(0, &[0.1, 0.5, 0.4, 0.9]);
        assert_eq!(smallest.sorted(0), [0.1, 0.4]);
        let mut other = Smallest::new([(3, 0.2)].into_iter());
        other.replace(0, &smallest, 0);
        other.offer(0, &[0.3, 0.6]);
        assert_eq!(other.sorted(0), [0.1, 0.3, 0.4]);
    }
}
