//! Bounds of tails, estimated from a sample of the columns.
//!
//! Without a bound, a row stores `tau (1 + ln(N / tau))` values on the way to its tau smallest; below a bound little above
//! the tail it stores hardly more than tau. A bound that proves too low is found out, because the tail is short then,
//! and the row is gathered again without it.

use std::ops::Range;

use fearless_simd::{Simd, dispatch};

use super::plan::{Bounds, Plan, Wanted, place_of_bound};
use super::select::nth_smallest;
use super::{Problem, own_columns};
use crate::distance::{self, Columns, RowBlock, Tile};
use crate::error::Halt;
use crate::level::level;
use crate::metric::Metric;
use crate::points::Points;

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
            place_of_bound(&Wanted { rows: 0, size: tail, negatives }, size, own.len())
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
    ) -> Result<Vec<f32>, Halt> {
        self.columns.ranks(block, 0..self.columns.len(), tile)?;
        let mut bins = Vec::new();
        let bounds = classes.iter().enumerate().map(|(row, &class)| {
            let own = &self.own[class as usize];
            let ranks = tile.row(row);
            let place = self.places[class as usize];
            // What equals the bound belongs to it.
            smallest_at(place, [&ranks[..own.start], &ranks[own.end..]], &mut bins).next_up()
        });
        Ok(bounds.collect())
    }
}

/// A value that about so many are not above, counted from 1; infinite where there are not as many.
///
/// Of values that share a bin only the smallest is looked at: so many small ones fall into fewer bins, by the number that
/// chance would put together.
fn smallest_at(place: usize, values: [&[f32]; 2], bins: &mut Vec<f32>) -> f32 {
    let count = values[0].len() + values[1].len();
    let width = (4 * place).next_multiple_of(64).min(count);
    if place > count {
        return f32::INFINITY;
    }
    bins.clear();
    bins.resize(width, f32::INFINITY);
    dispatch!(level(), simd => least_of_each(simd, values, bins));
    let width = width as f64;
    let filled = width * (1.0 - (1.0 - 1.0 / width).powf(place as f64));
    nth_smallest(bins, if bins.len() < count { filled.ceil() as usize } else { place })
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
    use super::*;

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
                let found = smallest_at(place, [&values[..cut], &values[cut..]], &mut Vec::new());
                let rank = sorted.partition_point(|value| *value <= found);
                let tolerance = if place >= 250 { 0 } else { 2 + place / 5 };
                assert!(rank.abs_diff(place) <= tolerance, "{place} {cut}: {rank}");
            }
        }
        assert_eq!(smallest_at(1_001, [&values, &[]], &mut Vec::new()), f32::INFINITY);
    }
}
