//! The k largest supports of each class, with a logarithm for few of the extreme vectors.
//!
//! A straight line in `f32` bounds every support from below and above. Those whose upper bound stays below the k-th
//! largest lower bound of their class are passed over; the others are evaluated by their curve in `f64`. What is found
//! is what evaluating all of them would give, bit for bit.

mod estimate;

use std::ops::Range;

use fearless_simd::{Simd, dispatch, f32x16, prelude::*};

pub(crate) use self::estimate::Estimates;
use self::estimate::LANES;
use evmachine_engine::level::level;
use evmachine_engine::psi::curve::Curves;

/// Extreme vectors among which the largest supports are searched.
pub(crate) struct SupportSearch<'a> {
    pub(crate) curves: &'a Curves,
    pub(crate) estimates: &'a Estimates,
    /// By class, its extreme vectors.
    pub(crate) ranges: &'a [Range<usize>],
    /// k.
    pub(crate) fused: usize,
}

/// The largest support, and its class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Best {
    pub(crate) support: f64,
    pub(crate) class: usize,
}

impl Best {
    /// Takes in another; ties go to the class that was learned first.
    pub(crate) fn take(&mut self, other: Self) {
        if other.support > self.support || (other.support == self.support && other.class < self.class) {
            *self = other;
        }
    }
}

/// Memory that one query leaves to the next.
#[derive(Default)]
pub(crate) struct QueryMemory {
    lower: Vec<f32>,
    upper: Vec<f32>,
    largest: Vec<f32>,
    /// Position among the values, and class.
    chosen: Vec<(usize, usize)>,
    supports: Vec<f64>,
}

impl SupportSearch<'_> {
    /// Merges into `best`, which holds k values of each class from the largest down, the supports of the extreme
    /// vectors from `first` on at the given values, which `distance_of` turns into distances.
    pub(crate) fn offer(
        &self,
        first: usize,
        values: &[f32],
        distance_of: impl Fn(f32) -> f32,
        best: &mut [f64],
        scratch: &mut QueryMemory,
    ) {
        dispatch!(level(), simd => self.choose(simd, first, values, best, scratch));
        self.evaluate(first, values, distance_of, scratch);
        for (&(_, class), &support) in scratch.chosen.iter().zip(&scratch.supports) {
            keep_largest(&mut best[class * self.fused..(class + 1) * self.fused], &[support]);
        }
    }

    /// As [`offer`](Self::offer), for the one largest support of all classes; ties go to the first.
    pub(crate) fn offer_best(
        &self,
        first: usize,
        values: &[f32],
        distance_of: impl Fn(f32) -> f32,
        best: &mut Best,
        scratch: &mut QueryMemory,
    ) {
        let least = narrow_down(best.support);
        dispatch!(level(), simd => self.choose_best(simd, first, values, least, scratch));
        self.evaluate(first, values, distance_of, scratch);
        for (&(position, _), &support) in scratch.chosen.iter().zip(&scratch.supports) {
            if support > best.support {
                let class = self.ranges.partition_point(|range| range.end <= first + position);
                *best = Best { support, class };
            }
        }
    }

    #[inline(always)]
    fn choose_best<S: Simd>(
        &self,
        simd: S,
        first: usize,
        values: &[f32],
        least: f32,
        scratch: &mut QueryMemory,
    ) {
        let QueryMemory { upper, chosen, .. } = scratch;
        chosen.clear();
        upper.clear();
        let bound = self.estimates.largest(simd, first, values, least, |position, above| {
            chosen.push((position, 0));
            upper.push(above);
        });
        let mut above = upper.iter();
        // Not below, or no number.
        chosen.retain(|_| above.next().is_none_or(|above| !above.lt(&bound)));
        // In order, because the first of equals wins; a value near zero may have been called twice.
        chosen.sort_unstable();
        chosen.dedup();
    }

    #[inline(always)]
    fn bounds<S: Simd>(&self, simd: S, first: usize, values: &[f32], scratch: &mut QueryMemory) {
        let padded = values.len().next_multiple_of(LANES);
        scratch.lower.resize(padded, 0.0);
        scratch.upper.resize(padded, 0.0);
        scratch.chosen.clear();
        self.estimates.bounds(simd, first, values, &mut scratch.lower, &mut scratch.upper);
    }

    /// Supports of what was chosen.
    fn evaluate(
        &self,
        first: usize,
        values: &[f32],
        distance_of: impl Fn(f32) -> f32,
        scratch: &mut QueryMemory,
    ) {
        let QueryMemory { chosen, supports, .. } = scratch;
        supports.resize(chosen.len(), 0.0);
        let at = chosen.iter().map(|&(position, _)| (first + position, distance_of(values[position])));
        self.curves.support(at, supports);
    }

    /// Fills `scratch.chosen` with those that may be among the k largest.
    #[inline(always)]
    fn choose<S: Simd>(
        &self,
        simd: S,
        first: usize,
        values: &[f32],
        best: &[f64],
        scratch: &mut QueryMemory,
    ) {
        self.bounds(simd, first, values, scratch);
        let QueryMemory { lower, upper, largest, chosen, .. } = scratch;
        let end = first + values.len();
        let start = self.ranges.partition_point(|range| range.end <= first);
        let own = self.ranges.iter().enumerate().skip(start);
        for (class, range) in own.take_while(|(_, range)| range.start < end) {
            let part = range.start.max(first) - first..range.end.min(end) - first;
            let bound = narrow_down(best[(class + 1) * self.fused - 1]);
            let bound = bound.max(kth_largest(simd, &lower[part.clone()], self.fused, largest));
            not_below(simd, &upper[part.clone()], bound, |position| {
                chosen.push((part.start + position, class));
            });
        }
    }
}

/// The largest `f32` that is not above `value`.
fn narrow_down(value: f64) -> f32 {
    let narrow = value as f32;
    if f64::from(narrow) > value { narrow.next_down() } else { narrow }
}

/// -inf where there are fewer than k.
#[inline(always)]
fn kth_largest<S: Simd>(simd: S, values: &[f32], k: usize, largest: &mut Vec<f32>) -> f32 {
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    if k == 1 {
        let mut lanes = f32x16::splat(simd, f32::NEG_INFINITY);
        for chunk in chunks {
            lanes = lanes.max(f32x16::from_slice(simd, chunk));
        }
        return rest.iter().fold(lanes.reduce_max(), |most, &value| most.max(value));
    }
    largest.clear();
    largest.resize(k, f32::NEG_INFINITY);
    for chunk in chunks {
        let above = f32x16::from_slice(simd, chunk).simd_gt(f32x16::splat(simd, largest[k - 1]));
        if above.any_true() {
            keep_largest(largest, chunk);
        }
    }
    keep_largest(largest, rest);
    largest[k - 1]
}

/// Calls `each` with the positions of the values that are not below `bound`, and of those that are no numbers.
#[inline(always)]
fn not_below<S: Simd>(simd: S, values: &[f32], bound: f32, mut each: impl FnMut(usize)) {
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    let whole = values.len() - rest.len();
    for (number, chunk) in chunks.enumerate() {
        let below = f32x16::from_slice(simd, chunk).simd_lt(f32x16::splat(simd, bound)).to_bitmask();
        let mut others = !below & 0xffff;
        while others != 0 {
            each(number * LANES + others.trailing_zeros() as usize);
            others &= others - 1;
        }
    }
    for (position, value) in rest.iter().enumerate() {
        if !matches!(value.partial_cmp(&bound), Some(std::cmp::Ordering::Less)) {
            each(whole + position);
        }
    }
}

/// Merges `values` into `largest`, which is sorted from the largest down.
pub(crate) fn keep_largest<T: Copy + PartialOrd>(largest: &mut [T], values: &[T]) {
    let last = largest.len() - 1;
    for &value in values {
        if value > largest[last] {
            let position = largest.partition_point(|&other| other >= value);
            largest[position..].rotate_right(1);
            largest[position] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::params::TailModel;
    use evmachine_engine::psi::curve::Curve;
    use evmachine_engine::psi::{FitStatus, PsiModel};

    proptest! {
        #[test]
        fn the_largest_are_those_of_evaluating_all(
            model in prop::sample::select(TailModel::ALL.to_vec()),
            points in prop::collection::vec(
                (0.05f64..300.0, prop_oneof![1e-6f64..1e6, 0.5f64..2.0, Just(0.0)], 0f64..3.0,
                 prop_oneof![0f32..4.0, 1e-30f32..1e18, Just(0.0f32), Just(1e-40f32), Just(1.0f32)]),
                1..120,
            ),
            classes in 1usize..5,
            fused in 1usize..6,
            cut in 1usize..130,
            squared in any::<bool>(),
            dimensions in prop::sample::select(vec![2usize, 100]),
        ) {
            let curves: Vec<Curve> = points
                .iter()
                .map(|&(shape, scale, shift, _)| {
                    let shift = if model == TailModel::Libmr { shift } else { 0.0 };
                    Curve::new(model, &PsiModel { shape, scale, shift, status: FitStatus::Converged })
                })
                .collect();
            let curves = Curves::new(model, curves);
            let values: Vec<f32> = points.iter().map(|point| point.3).collect();
            let distance_of = |value: f32| if squared { value.sqrt() } else { value };
            let size = points.len().div_ceil(classes);
            let ranges: Vec<Range<usize>> =
                (0..points.len()).step_by(size).map(|start| start..(start + size).min(points.len())).collect();
            let estimates = Estimates::new(&curves, dimensions, squared);
            let search = SupportSearch { curves: &curves, estimates: &estimates, ranges: &ranges, fused };
            let mut found = vec![f64::NEG_INFINITY; ranges.len() * fused];
            let mut scratch = QueryMemory::default();
            let mut one = Best { support: f64::NEG_INFINITY, class: 0 };
            for first in (0..values.len()).step_by(cut) {
                let part = &values[first..(first + cut).min(values.len())];
                search.offer(first, part, distance_of, &mut found, &mut scratch);
                search.offer_best(first, part, distance_of, &mut one, &mut scratch);
            }
            let mut expected = vec![f64::NEG_INFINITY; ranges.len() * fused];
            for (best, range) in expected.chunks_exact_mut(fused).zip(&ranges) {
                for i in range.clone() {
                    keep_largest(best, &[curves.get(i).support(f64::from(distance_of(values[i])))]);
                }
            }
            let first_of_largest = (0..ranges.len()).rev().max_by(|&a, &b| {
                expected[a * fused].total_cmp(&expected[b * fused])
            });
            let class = first_of_largest.unwrap();
            prop_assert_eq!(one, Best { support: expected[class * fused], class });
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn most_are_passed_over() {
        let curve = |i: u32| PsiModel {
            shape: 5.0 + f64::from(i % 7),
            scale: 1.0 + f64::from(i % 11) / 20.0,
            shift: 0.0,
            status: FitStatus::Converged,
        };
        for model in [TailModel::Weibull, TailModel::Gumbel] {
            let curves = Curves::new(model, (0..500).map(|i| Curve::new(model, &curve(i))).collect());
            let values: Vec<f32> = (0..500).map(|i| 1.0 + (i * 37 % 500) as f32 / 100.0).collect();
            for (fused, dimensions, spare) in [(1, 100, 3), (4, 100, 3), (1, 16, 30), (4, 16, 60)] {
                let estimates = Estimates::new(&curves, dimensions, true);
                let ranges = [0..250, 250..500];
                let search = SupportSearch { curves: &curves, estimates: &estimates, ranges: &ranges, fused };
                let mut best = vec![f64::NEG_INFINITY; 2 * fused];
                let mut scratch = QueryMemory::default();
                search.offer(0, &values, f32::sqrt, &mut best, &mut scratch);
                let count = scratch.chosen.len();
                let allowed = 2 * fused..2 * fused + spare;
                assert!(allowed.contains(&count), "{count} evaluated for k = {fused}");
            }
        }
    }

    #[test]
    fn the_largest_are_kept_in_order() {
        let mut largest = [f64::NEG_INFINITY; 3];
        keep_largest(&mut largest, &[1.0, 5.0, 2.0]);
        keep_largest(&mut largest, &[4.0, 0.0, f64::INFINITY]);
        assert_eq!(largest, [f64::INFINITY, 5.0, 4.0]);
    }
}
