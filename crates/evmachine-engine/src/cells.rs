//! Points in cells around centres, so that a row meets the points of the cells nearest to it instead of all.
//!
//! The centres are those of a few rounds of k-means on a part of the points, chosen by their positions; so cells are the same for any
//! number of threads. Which pairs are measured depends on them, what is measured of a pair does not.

mod probe;
mod promise;
mod visits;

use std::ops::Range;

use fearless_simd::{Simd, dispatch, prelude::*};
use rayon::prelude::*;

pub use self::probe::{CellChoice, threshold};
pub use self::promise::{lower_bound, lower_bound_of};
pub use self::visits::Visits;
use crate::distance::{self, Columns, PANEL, Tile};
use crate::error::RunError;
use crate::level::level;
use crate::metric::Metric;
use crate::points::Points;
use crate::run::Meter;

/// Cells by the square root of the points.
const DENSITY: f64 = 2.0;
/// Points that a centre is the mean of, on average, and how often it is taken anew.
const SAMPLED: usize = 24;
const ROUNDS: usize = 4;
/// Rows that meet the centres at once, and centres that they meet.
const BLOCK: usize = 120;
const WIDTH: usize = 512;

/// Cells over columns that are laid out cell after cell.
pub struct Cells {
    centres: Box<dyn Columns>,
    columns: Box<dyn Columns>,
    /// For each column, the position of its point; they ascend within a cell. Columns between cells stand for nothing.
    positions: Vec<u32>,
    /// Where each cell begins, at a whole panel, and how many columns it has: one at least.
    starts: Vec<usize>,
    sizes: Vec<usize>,
}

impl Cells {
    /// Cells over the points at `indices`, about twice the square root of their number. The meter is only asked whether to stop.
    pub fn new(
        meter: &Meter<'_>,
        metric: &Metric,
        points: &Points<'_>,
        indices: &[usize],
    ) -> Result<Self, RunError> {
        let count = (DENSITY * (indices.len() as f64).sqrt()).ceil() as usize;
        let (centres, nearest) = divide(meter, metric, points, indices, count.min(indices.len()))?;
        let mut sizes = vec![0usize; centres.len() / points.dimensions()];
        for &cell in &nearest {
            sizes[cell as usize] += 1;
        }
        let kept: Vec<usize> = (0..sizes.len()).filter(|&cell| sizes[cell] > 0).collect();
        let kept = chain(meter, metric, &Points::ready(&centres[..], points.dimensions()), &kept)?;
        let mut next = vec![0; sizes.len()];
        let mut end = 0;
        for &cell in &kept {
            next[cell] = end;
            end += sizes[cell].next_multiple_of(PANEL);
        }
        let starts = kept.iter().map(|&cell| next[cell]).collect();
        let mut positions = vec![0u32; end];
        for (position, &cell) in (0..).zip(&nearest) {
            let place = &mut next[cell as usize];
            positions[*place] = position;
            *place += 1;
        }
        let order: Vec<usize> = positions.iter().map(|&position| indices[position as usize]).collect();
        let centres = Points::ready(centres, points.dimensions());
        Ok(Self {
            centres: distance::columns(metric, &centres, &kept),
            columns: distance::columns(metric, points, &order),
            positions,
            starts,
            sizes: kept.iter().map(|&cell| sizes[cell]).collect(),
        })
    }

    /// Number of cells.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// The centres, one a cell.
    pub fn centres(&self) -> &dyn Columns {
        self.centres.as_ref()
    }

    /// The points, cell after cell.
    pub fn columns(&self) -> &dyn Columns {
        self.columns.as_ref()
    }

    /// The columns of a cell.
    pub fn range(&self, cell: usize) -> Range<usize> {
        self.starts[cell]..self.starts[cell] + self.sizes[cell]
    }

    /// The positions of its points.
    pub fn positions(&self, cell: usize) -> &[u32] {
        &self.positions[self.range(cell)]
    }

    /// The given rows in an order in which neighbours look into the same cells: by the nearest of them.
    pub fn order(
        &self,
        meter: &Meter<'_>,
        points: &Points<'_>,
        rows: &[usize],
    ) -> Result<Vec<usize>, RunError> {
        let nearest = nearest_of(meter, self.centres.as_ref(), points, rows)?;
        let mut order: Vec<(u32, usize)> = nearest.into_iter().zip(rows.iter().copied()).collect();
        order.sort_unstable();
        Ok(order.into_iter().map(|(_, row)| row).collect())
    }

    /// The cell of a column.
    pub(crate) fn cell_of(&self, column: usize) -> usize {
        self.starts.partition_point(|&start| start <= column) - 1
    }
}

/// Centres, row after row, and for each of the points which is nearest. Some may have no point.
fn divide(
    meter: &Meter<'_>,
    metric: &Metric,
    points: &Points<'_>,
    indices: &[usize],
    count: usize,
) -> Result<(Vec<f32>, Vec<u32>), RunError> {
    let part = |size: usize| (0..size).map(|at| indices[at * indices.len() / size]).collect::<Vec<usize>>();
    let mut centres = points.gather(&part(count));
    let sample = part((count * SAMPLED).min(indices.len()));
    // The mean of vectors need not be one for a metric that is not ours.
    let rounds = if matches!(metric, Metric::Custom(_)) { 0 } else { ROUNDS };
    for _ in 0..rounds {
        let nearest = nearest(meter, metric, points, &sample, &centres)?;
        move_to_means(metric, points, &sample, &nearest, &mut centres);
    }
    let nearest = nearest(meter, metric, points, indices, &centres)?;
    Ok((centres, nearest))
}

/// The cells in an order in which each is followed by the nearest of those that are left, so that neighbours look into the same.
fn chain(
    meter: &Meter<'_>,
    metric: &Metric,
    centres: &Points<'_>,
    cells: &[usize],
) -> Result<Vec<usize>, RunError> {
    let columns = distance::columns(metric, centres, cells);
    let mut left: Vec<usize> = (0..cells.len()).collect();
    let (mut order, mut tile, mut at) = (Vec::with_capacity(cells.len()), Tile::default(), 0);
    while !left.is_empty() {
        meter.check()?;
        let cell = left.remove(at);
        order.push(cells[cell]);
        columns.ranks(&columns.block(centres, &[cells[cell]]), 0..columns.len(), &mut tile)?;
        let ranks = tile.row(0);
        at = (0..left.len()).min_by(|&a, &b| ranks[left[a]].total_cmp(&ranks[left[b]])).unwrap_or(0);
    }
    Ok(order)
}

/// Moves each centre to the mean of the points it is nearest to, of unit length for cosine; one without any stays.
fn move_to_means(metric: &Metric, points: &Points<'_>, rows: &[usize], nearest: &[u32], centres: &mut [f32]) {
    let d = points.dimensions();
    let mut sums = vec![0.0f64; centres.len()];
    let mut counts = vec![0u32; centres.len() / d];
    let mut vector = vec![0.0; d];
    for (&row, &centre) in rows.iter().zip(nearest) {
        points.write_row(row, &mut vector);
        counts[centre as usize] += 1;
        let sum = &mut sums[centre as usize * d..][..d];
        sum.iter_mut().zip(&vector).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    for ((centre, sum), &count) in centres.chunks_exact_mut(d).zip(sums.chunks_exact(d)).zip(&counts) {
        let length = match metric {
            Metric::Cosine => sum.iter().map(|value| value * value).sum::<f64>().sqrt(),
            _ => f64::from(count),
        };
        if length > 0.0 {
            centre.iter_mut().zip(sum).for_each(|(value, sum)| *value = (sum / length) as f32);
        }
    }
}

/// For each of the rows, the nearest centre; the first of equals.
fn nearest(
    meter: &Meter<'_>,
    metric: &Metric,
    points: &Points<'_>,
    rows: &[usize],
    centres: &[f32],
) -> Result<Vec<u32>, RunError> {
    let centres = Points::ready(centres, points.dimensions());
    let all: Vec<usize> = (0..centres.len()).collect();
    nearest_of(meter, distance::columns(metric, &centres, &all).as_ref(), points, rows)
}

fn nearest_of(
    meter: &Meter<'_>,
    columns: &dyn Columns,
    points: &Points<'_>,
    rows: &[usize],
) -> Result<Vec<u32>, RunError> {
    let blocks: Result<Vec<Vec<u32>>, RunError> = rows
        .par_chunks(BLOCK)
        .map_init(Tile::default, |tile, rows| {
            meter.check()?;
            let block = columns.block(points, rows);
            let mut best = vec![(f32::INFINITY, 0); rows.len()];
            for first in (0..columns.len()).step_by(WIDTH) {
                columns.ranks(&block, first..(first + WIDTH).min(columns.len()), tile)?;
                for (row, best) in best.iter_mut().enumerate() {
                    let ranks = tile.row(row);
                    let least = dispatch!(level(), simd => least(simd, ranks));
                    if least < best.0 {
                        let at = ranks.iter().position(|&rank| rank == least).unwrap_or(0);
                        *best = (least, (first + at) as u32);
                    }
                }
            }
            Ok(best.into_iter().map(|(_, centre)| centre).collect())
        })
        .collect();
    Ok(blocks?.into_iter().flatten().collect())
}

#[inline(always)]
fn least<S: Simd>(simd: S, values: &[f32]) -> f32 {
    let chunks = values.chunks_exact(S::f32s::LEN);
    let rest = chunks.remainder();
    let mut lanes = S::f32s::splat(simd, f32::INFINITY);
    for chunk in chunks {
        lanes = lanes.min(S::f32s::from_slice(simd, chunk));
    }
    rest.iter().fold(lanes.reduce_min(), |least, &value| least.min(value))
}
