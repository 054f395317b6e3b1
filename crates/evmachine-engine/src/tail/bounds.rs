//! Bounds of tails, estimated from a sample of the columns.
//!
//! Without a bound, a row stores `tau (1 + ln(N / tau))` values on the way to its tau smallest; below a bound little above
//! the tail it stores hardly more than tau. A bound that proves too low is found out, because the tail is short then,
//! and the row is gathered again without it.

use std::ops::Range;

use fearless_simd::{Simd, dispatch};

use super::select::nth_smallest;
use super::{Problem, own_columns};
use crate::distance::{self, Columns, RowBlock, Tile};
use crate::error::RunError;
use crate::level::level;
use crate::metric::Metric;
use crate::plan::{Bounds, Plan, WantedTails, place_of_bound};
use crate::points::Points;

/// Columns of a sample that are measured at once: their ranks with a block of rows stay near the processor.
const SAMPLE_COLUMNS: usize = 768;

/// Every so-many-th of the rows, which are the columns too, in their order.
pub(super) struct SampledColumns {
    columns: Box<dyn Columns>,
    /// By class, its part of the sample.
    own: Vec<Range<usize>>,
    /// By class, which of the sample's values is the bound, counted from 1.
    places: Vec<usize>,
}

impl SampledColumns {
    /// `None` where the plan has no such bounds.
    pub(super) fn new(plan: &Plan, problem: &Problem<'_>) -> Option<Self> {
        let Bounds::Sampled(size) = plan.bounds else { return None };
        let (rows, count) = (&problem.rows, problem.rows.indices.len());
        let chosen: Vec<usize> = (0..size).map(|position| position * count / size).collect();
        let classes: Vec<u32> = chosen.iter().map(|&position| rows.classes[position]).collect();
        let own = own_columns(&classes, problem.sizes.len());
        let places = own.iter().enumerate().map(|(class, own)| {
            let (tail, negatives) = (problem.size(class as u32), problem.negatives(class));
            place_of_bound(&WantedTails { rows: 0, size: tail, negatives }, size, own.len())
        });
        let places = places.collect();
        let indices: Vec<usize> = chosen.iter().map(|&position| rows.indices[position]).collect();
        Some(Self { columns: distance::columns(problem.metric, rows.points, &indices), own, places })
    }

    /// A sample that was drawn elsewhere, in order of class, and the place of the bound by class.
    pub(super) fn given(metric: &Metric, sample: &Points<'_>, classes: &[u32], places: &[usize]) -> Self {
        let all: Vec<usize> = (0..sample.len()).collect();
        let own = own_columns(classes, places.len());
        Self { columns: distance::columns(metric, sample, &all), own, places: places.to_vec() }
    }

    /// Lays out rows for [`bounds`](Self::bounds).
    pub(super) fn block(&self, points: &Points<'_>, indices: &[usize]) -> RowBlock {
        self.columns.block(points, indices)
    }

    /// For each row of the block a rank below which its tail lies, most likely.
    pub(super) fn bounds(
        &self,
        block: &RowBlock,
        classes: &[u32],
        tile: &mut Tile,
    ) -> Result<Vec<f32>, RunError> {
        let count = self.columns.len();
        let own = |class: u32| &self.own[class as usize];
        let mut rows: Vec<Lowest> = classes
            .iter()
            .map(|&class| Lowest::new(self.places[class as usize], count - own(class).len()))
            .collect();
        for first in (0..count).step_by(SAMPLE_COLUMNS) {
            let part = first..(first + SAMPLE_COLUMNS).min(count);
            self.columns.ranks(block, part.clone(), tile)?;
            let within = |column: usize| column.clamp(part.start, part.end) - part.start;
            for (row, (lowest, &class)) in rows.iter_mut().zip(classes).enumerate() {
                let ranks = tile.row(row);
                lowest.take(&ranks[..within(own(class).start)]);
                lowest.take(&ranks[within(own(class).end)..]);
            }
        }
        // What equals the bound belongs to it.
        Ok(rows.into_iter().map(|lowest| lowest.value().next_up()).collect())
    }
}

/// Which of many values is about the so-many-th smallest.
///
/// Values take turns among bins, each of which keeps its smallest: so many small ones fall into fewer bins, by the number that chance
/// would put together.
struct Lowest {
    place: usize,
    count: usize,
    bins: Vec<f32>,
    /// The bin whose turn it is.
    next: usize,
}

impl Lowest {
    /// For a place, counted from 1, among so many values.
    fn new(place: usize, count: usize) -> Self {
        let width = if place > count { 0 } else { (4 * place).next_multiple_of(64).min(count) };
        Self { place, count, bins: vec![f32::INFINITY; width], next: 0 }
    }

    fn take(&mut self, values: &[f32]) {
        if !self.bins.is_empty() {
            dispatch!(level(), simd => least_of_each(simd, values, &mut self.bins, self.next));
            self.next = (self.next + values.len()) % self.bins.len();
        }
    }

    /// A value that about `place` are not above; infinite where there are not as many.
    fn value(self) -> f32 {
        if self.bins.is_empty() {
            return f32::INFINITY;
        }
        let width = self.bins.len() as f64;
        let filled = width * (1.0 - (1.0 - 1.0 / width).powf(self.place as f64));
        let place = if self.bins.len() < self.count { filled.ceil() as usize } else { self.place };
        nth_smallest(&self.bins, place)
    }
}

/// Lowers each bin to the least of its values, which take turns from one bin on.
#[inline(always)]
fn least_of_each<S: Simd>(_: S, values: &[f32], bins: &mut [f32], next: usize) {
    let (first, others) = values.split_at((bins.len() - next).min(values.len()));
    lower(&mut bins[next..], first);
    others.chunks(bins.len()).for_each(|values| lower(bins, values));
}

#[inline(always)]
fn lower(bins: &mut [f32], values: &[f32]) {
    for (bin, &value) in bins.iter_mut().zip(values) {
        *bin = if value < *bin { value } else { *bin };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(place: usize, parts: [&[f32]; 2]) -> f32 {
        let mut lowest = Lowest::new(place, parts.iter().map(|part| part.len()).sum());
        for part in parts {
            lowest.take(part);
        }
        lowest.value()
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
        for place in [1, 13, 88, 400, 1_000] {
            for cut in [0, 300, 1_000] {
                let found = about(place, [&values[..cut], &values[cut..]]);
                let rank = sorted.partition_point(|value| *value <= found);
                let tolerance = if place >= 250 { 0 } else { 2 + place / 5 };
                assert!(rank.abs_diff(place) <= tolerance, "{place} {cut}: {rank}");
            }
        }
        assert_eq!(about(1_001, [&values, &[]]), f32::INFINITY);
        assert_eq!(about(1, [&[], &[]]), f32::INFINITY);
    }

    #[test]
    fn a_sample_of_several_parts_bounds_like_one() {
        let (rows, sampled, d) = (50, 2_000, 4);
        let mut state = 5u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        let mut drawn = |count: usize| -> Vec<f32> { (0..count * d).map(|_| random()).collect() };
        let (sample, values) = (drawn(sampled), drawn(rows));
        let sample = Points::ready(&sample[..], d);
        let values = Points::ready(&values[..], d);
        // Parts of 768 begin and end within classes.
        let classes: Vec<u32> = (0..sampled).map(|at| (at / 500) as u32).collect();
        let of_rows: Vec<u32> = (0..rows).map(|row| (row % 4) as u32).collect();
        let (place, all) = (40, (0..sampled).collect::<Vec<_>>());
        let bounding = SampledColumns::given(&Metric::Euclidean, &sample, &classes, &[place; 4]);
        let block = bounding.block(&values, &(0..rows).collect::<Vec<_>>());
        let bounds = bounding.bounds(&block, &of_rows, &mut Tile::default()).expect("euclidean");
        let columns = distance::columns(&Metric::Euclidean, &sample, &all);
        let mut tile = Tile::default();
        columns.ranks(&block, 0..sampled, &mut tile).expect("euclidean");
        let mut sum = 0;
        for (row, (&bound, &class)) in bounds.iter().zip(&of_rows).enumerate() {
            let below = |(rank, of): &(&f32, &u32)| **of != class && **rank < bound;
            let count = tile.row(row).iter().zip(&classes).filter(below).count();
            assert!(count.abs_diff(place) <= 16, "row {row}: {count}");
            sum += count;
        }
        assert!((sum / rows).abs_diff(place) <= 4, "{sum}");
    }
}
