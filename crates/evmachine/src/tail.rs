//! The tau smallest distances of each point to other classes (Alg. 2), streamed over tiles.
//!
//! Memory is a tile and twice the tail for each row in flight, whatever the number of points.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch, prelude::*};
use rayon::prelude::*;

use crate::distance::{Columns, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::points::Points;
use crate::progress::{Run, Stage};

/// Columns to measure against, and which of them belong to each class.
pub(crate) struct Against<'a> {
    pub(crate) columns: &'a dyn Columns,
    /// By class, the columns of that class; they lie together.
    pub(crate) own: &'a [Range<usize>],
}

/// The points whose tails are wanted.
pub(crate) struct Rows<'a> {
    pub(crate) points: &'a Points<'a>,
    /// Which of the points, in order of class for the best speed.
    pub(crate) indices: &'a [usize],
    /// By class number, for each of `indices`.
    pub(crate) classes: &'a [u32],
    /// Largest rank of interest for each of `indices`; larger ones may be left out.
    pub(crate) bounds: Option<&'a [f32]>,
}

/// Gathers, for each row, the `sizes[class]` smallest distances to columns of other classes, sorted, and hands
/// them to `finish` together with the row's position in `rows.indices`.
///
/// Rows are independent and their tails sorted, so the results do not depend on tiles or threads.
pub(crate) fn stream<W: Default, R: Send>(
    run: &Run<'_>,
    stage: Stage,
    metric: &Metric,
    rows: &Rows<'_>,
    against: &[Against<'_>],
    sizes: &[usize],
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, Halt> {
    let meter = run.meter(stage, rows.indices.len());
    let block_rows = run.block_rows(rows.indices.len());
    let blocks: Result<Vec<Vec<R>>, Halt> = rows
        .indices
        .par_chunks(block_rows)
        .enumerate()
        .map(|(block, indices)| {
            let first = block * block_rows;
            let classes = &rows.classes[first..first + indices.len()];
            let mut smallest: Vec<Smallest> = classes
                .iter()
                .enumerate()
                .map(|(row, &class)| {
                    let bound = rows.bounds.map_or(f32::INFINITY, |bounds| bounds[first + row]);
                    Smallest::new(sizes[class as usize], bound)
                })
                .collect();
            let mut tile = Tile::default();
            for against in against {
                let block = against.columns.block(rows.points, indices);
                for columns in column_ranges(against, classes, run.tile_columns) {
                    meter.check()?;
                    against.columns.ranks(&block, columns.clone(), &mut tile)?;
                    for (row, (smallest, &class)) in smallest.iter_mut().zip(classes).enumerate() {
                        let own = &against.own[class as usize];
                        let ranks = tile.row(row);
                        let before = own.start.clamp(columns.start, columns.end) - columns.start;
                        let after = own.end.clamp(columns.start, columns.end) - columns.start;
                        smallest.offer(&ranks[..before]);
                        smallest.offer(&ranks[after.max(before)..]);
                    }
                }
            }
            let mut workspace = W::default();
            let results = smallest
                .into_iter()
                .enumerate()
                .map(|(row, smallest)| {
                    let mut tail = smallest.sorted();
                    for value in &mut tail {
                        *value = metric.distance_of_rank(*value);
                    }
                    finish(first + row, &tail, &mut workspace)
                })
                .collect();
            meter.advance(indices.len())?;
            Ok(results)
        })
        .collect();
    Ok(blocks?.into_iter().flatten().collect())
}

/// Column ranges of one tile each, leaving out what lies within the own class of every row.
fn column_ranges<'a>(
    against: &Against<'a>,
    classes: &[u32],
    width: usize,
) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let shared = match (classes.first(), classes.last()) {
        (Some(first), Some(last)) if first == last && classes.iter().all(|class| class == first) => {
            against.own[*first as usize].clone()
        }
        _ => 0..0,
    };
    let count = against.columns.len();
    let tiles = move |range: Range<usize>| {
        range.clone().step_by(width).map(move |start| start..(start + width).min(range.end))
    };
    tiles(0..shared.start).chain(tiles(shared.end..count))
}

/// Keeps the `size` smallest of the values offered to it.
///
/// Values are appended while they are below a bound; when the buffer is full, selection halves it and lowers
/// the bound. Each value costs one comparison, and few are ever stored.
struct Smallest {
    size: usize,
    capacity: usize,
    bound: f32,
    /// The first `length` are in use.
    buffer: Vec<f32>,
    length: usize,
}

/// Room behind the buffer for one whole vector store.
const SLACK: usize = 16;

impl Smallest {
    fn new(size: usize, bound: f32) -> Self {
        let capacity = size.saturating_add(size.max(64));
        Self { size, capacity, bound, buffer: Vec::new(), length: 0 }
    }

    fn offer(&mut self, values: &[f32]) {
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
                self.make_room();
                self.buffer[self.length] = value;
                self.length += 1;
            }
        }
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

    fn sorted(mut self) -> Vec<f32> {
        self.select();
        self.buffer.truncate(self.length);
        // Ranks are not negative, so they are ordered like their bits, which sort faster.
        let mut bits: Vec<u32> = self.buffer.iter().map(|rank| rank.to_bits()).collect();
        bits.sort_unstable();
        for (rank, bits) in self.buffer.iter_mut().zip(bits) {
            *rank = f32::from_bits(bits);
        }
        self.buffer
    }
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

    #[test]
    fn a_bound_leaves_out_what_lies_beyond() {
        let mut smallest = Smallest::new(3, 0.5);
        smallest.offer(&[0.1, 0.5, 0.4, 0.9]);
        assert_eq!(smallest.sorted(), [0.1, 0.4]);
    }
}
