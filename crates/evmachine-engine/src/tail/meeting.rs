//! Blocks of rows that meet by themselves, in any order and in any process: what each finds is merged afterwards.
//!
//! A pair has one distance wherever it is measured, and the tau smallest of several parts are among the tau smallest of each; so
//! merged tails are those of one run over everything, bit for bit.

use std::ops::Range;

use rayon::prelude::*;

use super::bounds::SampledColumns;
use super::select::keep_smallest;
use super::{Against, OtherEnd, Problem, Rows, execute, own_columns};
use crate::distance::{self, Tile};
use crate::error::RunError;
use crate::metric::Metric;
use crate::plan::{LARGEST_SAMPLE, TILE_ROWS, WantedTails, place_of_bound};
use crate::points::Points;
use crate::run::{Run, Stage};

/// One row in so many is sampled for bounds.
const SAMPLED: usize = 50;
const SAMPLE_BYTES: usize = 128 << 20;
/// Rows that are merged one after the other.
const MERGED: usize = 1024;

/// Distances that were found for rows, row after row, each row's sorted. They may lie in slices that belong to others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found<C = Vec<u32>, V = Vec<f32>> {
    /// By row, how many.
    pub counts: C,
    /// All of them.
    pub values: V,
}

impl Found {
    pub(super) fn of(tails: &[Vec<f32>]) -> Self {
        Self { counts: tails.iter().map(|tail| tail.len() as u32).collect(), values: tails.concat() }
    }

    /// The smallest of several parts, for so many rows that each have as many in every part as it counts: `size(row)` at most.
    pub(crate) fn smallest<C: AsRef<[u32]> + Sync, V: AsRef<[f32]> + Sync>(
        parts: &[&Found<C, V>],
        rows: usize,
        size: impl Fn(usize) -> usize + Sync,
    ) -> Self {
        let starts: Vec<Vec<usize>> = parts.iter().map(|part| starts(part.counts.as_ref())).collect();
        let smallest_of = |rows: Range<usize>| {
            let (mut found, mut room) = (Self::default(), Vec::new());
            for row in rows {
                room.clear();
                for (part, starts) in parts.iter().zip(&starts) {
                    room.extend_from_slice(&part.values.as_ref()[starts[row]..starts[row + 1]]);
                }
                let size = size(row);
                if room.len() > size {
                    if size > 0 {
                        keep_smallest(&mut room, size);
                    }
                    room.truncate(size);
                }
                // Distances are not negative, so they are ordered like their bits.
                room.sort_unstable_by_key(|distance| distance.to_bits());
                found.counts.push(room.len() as u32);
                found.values.extend_from_slice(&room);
            }
            found
        };
        let chunks: Vec<Range<usize>> =
            (0..rows).step_by(MERGED).map(|first| first..(first + MERGED).min(rows)).collect();
        let found: Vec<Self> = chunks.into_par_iter().map(smallest_of).collect();
        let values = found.iter().map(|part| part.values.len()).sum();
        let mut all = Self { counts: Vec::with_capacity(rows), values: Vec::with_capacity(values) };
        for part in found {
            all.counts.extend(part.counts);
            all.values.extend(part.values);
        }
        all
    }
}

impl<C: AsRef<[u32]>, V: AsRef<[f32]>> Found<C, V> {
    /// The distances of each row.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        let mut rest = self.values.as_ref();
        self.counts.as_ref().iter().map(move |&count| {
            let (row, behind) = rest.split_at(count as usize);
            rest = behind;
            row
        })
    }
}

/// Where the values of each row begin, and where those of the last end.
fn starts(counts: &[u32]) -> Vec<usize> {
    let ends = counts.iter().scan(0, |end, &count| {
        *end += count as usize;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Rows of a block, in order of class.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) points: &'a Points<'a>,
    pub(crate) indices: &'a [usize],
    pub(crate) classes: &'a [u32],
    /// By row, the rank from which on nothing is wanted.
    pub(crate) bounds: Option<&'a [f32]>,
}

impl<'a> Side<'a> {
    pub(super) fn rows(&self) -> Rows<'a> {
        Rows { bounds: self.bounds, ..Rows::new(self.points, self.indices, self.classes) }
    }
}

/// Where tails end, most likely, told by a sample of all rows.
pub(crate) struct Bounding {
    sample: SampledColumns,
    classes: usize,
}

impl Bounding {
    /// Rows of a sample out of so many; fewer are taken whole.
    ///
    /// Bounds of blocks stay what they are, and what lies below them is kept by every meeting. One in [`SAMPLED`] costs 2 / [`SAMPLED`] of
    /// all products and leaves two to four times a tail of some hundred values, where 768 of a million rows leave twenty times.
    /// The sample takes an eighth of the memory at most, or 128 MB where there is more.
    pub(crate) fn size(rows: usize, dimensions: usize, memory: usize) -> usize {
        let bytes = (memory / 8).min(SAMPLE_BYTES);
        let most = (bytes / (4 * dimensions.max(1))).max(LARGEST_SAMPLE);
        rows.min((rows / SAMPLED).clamp(LARGEST_SAMPLE, most))
    }

    /// Which value of the sample bounds the tails of each class. `own` of the sample are of the class itself.
    pub(crate) fn place(sampled: usize, own: usize, size: usize, negatives: usize) -> usize {
        place_of_bound(&WantedTails { rows: 0, size, negatives }, sampled, own)
    }

    pub(crate) fn new(metric: &Metric, sample: &Points<'_>, classes: &[u32], places: &[usize]) -> Self {
        Self { sample: SampledColumns::given(metric, sample, classes, places), classes: places.len() }
    }

    /// By row, a rank below which its tail lies, most likely.
    pub(crate) fn bounds(&self, side: &Side<'_>) -> Result<Vec<f32>, RunError> {
        debug_assert!(side.classes.iter().all(|&class| (class as usize) < self.classes));
        let tiles = side.indices.par_chunks(TILE_ROWS).zip(side.classes.par_chunks(TILE_ROWS));
        let bounds: Result<Vec<Vec<f32>>, RunError> = tiles
            .map_init(Tile::default, |tile, (indices, classes)| {
                self.sample.bounds(&self.sample.block(side.points, indices), classes, tile)
            })
            .collect();
        Ok(bounds?.concat())
    }
}

/// What the rows of a block find among themselves.
pub(crate) fn among(
    run: &Run<'_>,
    metric: &Metric,
    side: &Side<'_>,
    sizes: &[usize],
) -> Result<Found, RunError> {
    let columns = distance::columns(metric, side.points, side.indices);
    let own = own_columns(side.classes, sizes.len());
    let against = [Against { columns: columns.as_ref(), own: &own }];
    let problem = Problem::new((run, Stage::Tails), metric, side.rows().among_themselves(), &against, sizes);
    let found = execute(&problem.plan_without_device(), &problem, |_, tail, (): &mut ()| tail.to_vec())?;
    Ok(Found::of(&found))
}

/// What the rows of two blocks find in each other; each distance is measured once.
pub(crate) fn between(
    run: &Run<'_>,
    metric: &Metric,
    first: &Side<'_>,
    second: &Side<'_>,
    sizes: &[usize],
) -> Result<(Found, Found), RunError> {
    let columns = distance::columns(metric, second.points, second.indices);
    let own = own_columns(second.classes, sizes.len());
    let against = [Against { columns: columns.as_ref(), own: &own }];
    let open;
    let bounds = if let Some(bounds) = second.bounds {
        bounds
    } else {
        open = vec![f32::INFINITY; second.classes.len()];
        &open
    };
    let problem = Problem::new((run, Stage::Tails), metric, first.rows(), &against, sizes)
        .with_other_block(OtherEnd { classes: second.classes, bounds });
    let mut found = execute(&problem.plan_without_device(), &problem, |_, tail, (): &mut ()| tail.to_vec())?;
    let second = found.split_off(first.indices.len());
    Ok((Found::of(&found), Found::of(&second)))
}

/// What rows find among columns that are others, or are all rows, which want nothing.
pub(crate) fn gather(
    run: &Run<'_>,
    metric: &Metric,
    rows: &Side<'_>,
    columns: &Side<'_>,
    sizes: &[usize],
) -> Result<Found, RunError> {
    let own = own_columns(columns.classes, sizes.len());
    let laid_out = distance::columns(metric, columns.points, columns.indices);
    let against = [Against { columns: laid_out.as_ref(), own: &own }];
    let problem = Problem::new((run, Stage::Tails), metric, rows.rows(), &against, sizes);
    let found = execute(&problem.plan_without_device(), &problem, |_, tail, (): &mut ()| tail.to_vec())?;
    Ok(Found::of(&found))
}
