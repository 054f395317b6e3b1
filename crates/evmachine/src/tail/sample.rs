//! Bounds of tails, estimated from a sample of the columns.
//!
//! Without a bound, a row stores `tau (1 + ln(N / tau))` values on the way to its tau smallest; below a bound little above
//! the tail it stores hardly more than tau. A bound that proves too low is found out, because the tail is short then,
//! and the row is gathered again without it.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch};

use super::select::nth_smallest;
use super::{Rows, Tail};
use crate::distance::{self, Columns, RowBlock, Tile};
use crate::error::Halt;
use crate::metric::Metric;

/// One column in so many is sampled, but not more than [`LARGEST`].
const SHARE: usize = 12;
const LARGEST: usize = 1_024;
/// Below this, nothing is sampled.
const SMALLEST: usize = 128;

/// Every so-many-th of the rows, which are the columns too, in their order.
pub(super) struct Sample {
    columns: Box<dyn Columns>,
    /// By class, its part of the sample.
    own: Vec<Range<usize>>,
    /// By class, which of the sample's values is the bound, counted from 1.
    order: Vec<usize>,
}

impl Sample {
    /// `None` where there are too few rows, or tails are too long to gain.
    pub(super) fn new(metric: &Metric, rows: &Rows<'_>, tails: &[Tail]) -> Option<Self> {
        let count = rows.indices.len();
        let size = (count / SHARE).min(LARGEST);
        if !rows.are_columns || rows.bounds.is_some() || size < SMALLEST {
            return None;
        }
        let chosen: Vec<usize> = (0..size).map(|position| position * count / size).collect();
        let classes: Vec<u32> = chosen.iter().map(|&position| rows.classes[position]).collect();
        let start = |class: usize| classes.partition_point(|&other| (other as usize) < class);
        let own: Vec<Range<usize>> = (0..tails.len()).map(|class| start(class)..start(class + 1)).collect();
        let order: Vec<usize> = tails
            .iter()
            .zip(&own)
            .map(|(tail, own)| {
                let sampled = (size - own.len()) as f64 / tail.negatives.max(1) as f64;
                // Three deviations above what is expected of the tail.
                let expected = sampled * tail.size as f64;
                (expected + 3.0 * expected.sqrt() + 1.0).ceil() as usize
            })
            .collect();
        // Bounds that most values pass spare nothing.
        let useful = order.iter().filter(|&&order| 4 * order < 3 * size).count();
        if 2 * useful < order.len() {
            return None;
        }
        let indices: Vec<usize> = chosen.iter().map(|&position| rows.indices[position]).collect();
        Some(Self { columns: distance::columns(metric, rows.points, &indices), own, order })
    }

    /// For each row of the block a rank below which its tail lies, most likely.
    pub(super) fn bounds(
        &self,
        block: &RowBlock,
        classes: &[u32],
        tile: &mut Tile,
    ) -> Result<Vec<f32>, Halt> {
        self.columns.ranks(block, 0..self.columns.len(), tile)?;
        let mut bins = Vec::new();
        let bounds = classes.iter().enumerate().map(|(row, &class)| {
            let own = &self.own[class as usize];
            let ranks = tile.row(row);
            let order = self.order[class as usize];
            // What equals the bound belongs to it.
            smallest_at(order, [&ranks[..own.start], &ranks[own.end..]], &mut bins).next_up()
        });
        Ok(bounds.collect())
    }
}

/// A value that about so many are not above, counted from 1; infinite where there are not as many.
///
/// Of values that share a bin only the smallest is looked at: so many small ones fall into fewer bins, by the number that
/// chance would put together.
fn smallest_at(order: usize, values: [&[f32]; 2], bins: &mut Vec<f32>) -> f32 {
    let count = values[0].len() + values[1].len();
    let width = (4 * order).next_multiple_of(64).min(count);
    if order > count {
        return f32::INFINITY;
    }
    bins.clear();
    bins.resize(width, f32::INFINITY);
    dispatch!(Level::new(), simd => least_of_each(simd, values, bins));
    let width = width as f64;
    let filled = width * (1.0 - (1.0 - 1.0 / width).powf(order as f64));
    let place = if bins.len() < count { filled.ceil() as usize } else { order };
    nth_smallest(bins, place)
}

/// Lowers each bin to the least of its values, which take turns.
#[inline(always)]
fn least_of_each<S: Simd>(_: S, values: [&[f32]; 2], bins: &mut [f32]) {
    let next = values[0].len() % bins.len();
    let (first, second) = values[1].split_at((bins.len() - next).min(values[1].len()));
    lower(&mut bins[next..], first);
    for values in values[0].chunks(bins.len()).chain(second.chunks(bins.len())) {
        lower(bins, values);
    }
}

#[inline(always)]
fn lower(bins: &mut [f32], values: &[f32]) {
    for (bin, &value) in bins.iter_mut().zip(values) {
        *bin = if value < *bin { value } else { *bin };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Against, stream};
    use super::*;
    use crate::points::Points;
    use crate::progress::{Run, Stage};

    const ROWS: usize = 4_000;
    const D: usize = 10;

    /// Points of two classes, those that will be sampled drawn together by `pull`.
    fn points(pull: f32) -> Vec<f32> {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0 - 0.5
        };
        let size = ROWS / SHARE;
        let mut values: Vec<f32> = (0..ROWS * D).map(|_| random()).collect();
        for position in (0..size).map(|position| position * ROWS / size) {
            values[position * D..(position + 1) * D].iter_mut().for_each(|value| *value *= pull);
        }
        values
    }

    #[test]
    fn bins_give_about_the_value_that_was_asked_for() {
        let mut state = 3u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        let values: Vec<f32> = (0..1_000).map(|_| random()).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        for order in [1, 13, 88, 400, 1_000] {
            for cut in [0, 300, 1_000] {
                let found = smallest_at(order, [&values[..cut], &values[cut..]], &mut Vec::new());
                let rank = sorted.partition_point(|value| *value <= found);
                let tolerance = if order >= 250 { 0 } else { 2 + order / 5 };
                assert!(rank.abs_diff(order) <= tolerance, "{order} {cut}: {rank}");
            }
        }
        assert_eq!(smallest_at(1_001, [&values, &[]], &mut Vec::new()), f32::INFINITY);
    }

    #[test]
    fn tails_are_whole_even_where_the_sample_misleads() {
        let all: Vec<usize> = (0..ROWS).collect();
        let own = [0..ROWS / 3, ROWS / 3..ROWS];
        let classes: Vec<u32> = all.iter().map(|&row| u32::from(row >= own[0].end)).collect();
        let metric = Metric::Euclidean;
        for pull in [1.0, 0.01] {
            let values = points(pull);
            let points = Points::ready(&values[..], D);
            let rows =
                Rows { are_columns: true, points: &points, indices: &all, classes: &classes, bounds: None };
            let columns = distance::columns(&metric, &points, &all);
            let against = [Against { columns: columns.as_ref(), own: &own }];
            let sizes = [20, 90];
            let tails = sizes.map(|size| Tail { size, negatives: ROWS });
            assert!(Sample::new(&metric, &rows, &tails).is_some());
            for memory in [0, 1 << 30] {
                let run = Run::new().leaves(false).memory(memory);
                let found = stream(
                    &run,
                    Stage::Tails,
                    &metric,
                    &rows,
                    &against,
                    &sizes,
                    |row, tail: &[f32], (): &mut ()| (row, tail.to_vec()),
                );
                let block_rows: Vec<usize> = (0..ROWS).step_by(97).collect();
                let block = columns.block(&points, &block_rows);
                let mut tile = Tile::default();
                columns.ranks(&block, 0..ROWS, &mut tile).unwrap();
                let found = found.unwrap();
                for (at, &row) in block_rows.iter().enumerate() {
                    let class = classes[row] as usize;
                    let ranks = tile.row(at).iter().zip(&classes);
                    let mut expected: Vec<f32> = ranks
                        .filter(|(_, other)| **other as usize != class)
                        .map(|(&rank, _)| metric.distance_of_rank(rank))
                        .collect();
                    expected.sort_unstable_by(f32::total_cmp);
                    expected.truncate(sizes[class]);
                    assert_eq!(found[row], (row, expected), "pull {pull}, memory {memory}");
                }
            }
        }
    }
}
