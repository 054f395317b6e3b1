//! Bounds of tails, estimated from a sample of the columns.
//!
//! Without a bound, a row stores `tau (1 + ln(N / tau))` values on the way to its tau smallest; below a bound little above
//! the tail it stores hardly more than tau. A bound that proves too low is found out, because the tail is short then,
//! and the row is gathered again without it.

use std::ops::Range;

use super::smallest::Smallest;
use super::{Rows, Tail};
use crate::distance::{self, Columns, RowBlock, Tile};
use crate::error::Halt;
use crate::metric::Metric;

/// One column in so many is sampled, but not more than [`LARGEST`].
const SHARE: usize = 16;
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
        let order = classes.iter().map(|&class| (self.order[class as usize], f32::INFINITY));
        let mut smallest = Smallest::new(order);
        for (row, &class) in classes.iter().enumerate() {
            let own = &self.own[class as usize];
            let ranks = tile.row(row);
            smallest.offer(row, &ranks[..own.start]);
            smallest.offer(row, &ranks[own.end..]);
            smallest.tighten(row);
        }
        // What equals the bound belongs to it.
        Ok(smallest.bounds().iter().map(|bound| bound.next_up()).collect())
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
    fn tails_are_whole_even_where_the_sample_misleads() {
        let all: Vec<usize> = (0..ROWS).collect();
        let classes: Vec<u32> = all.iter().map(|&row| u32::from(row >= ROWS / 3)).collect();
        let own = [0..ROWS.div_ceil(3), ROWS.div_ceil(3)..ROWS];
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
