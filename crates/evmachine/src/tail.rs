//! The tau smallest distances of each point to other classes (Alg. 2), streamed over tiles.
//!
//! Memory is a tile and twice the tail for each row in flight, whatever the number of points. Two ways save work where
//! they can: with room for twice the tail of every row, each distance is computed once instead of twice; in few
//! dimensions, most pairs are never measured. The tails are the same, bit for bit.

mod leaves;
mod smallest;
mod symmetric;

use std::ops::Range;

use rayon::prelude::*;

use crate::distance::{Columns, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::points::Points;
use crate::progress::{Run, Stage};

use self::leaves::Leaves;
use self::smallest::Smallest;

/// Columns to measure against, and which of them belong to each class.
#[derive(Clone, Copy)]
pub(crate) struct Against<'a> {
    pub(crate) columns: &'a dyn Columns,
    /// By class, the columns of that class; they lie together.
    pub(crate) own: &'a [Range<usize>],
}

/// The points whose tails are wanted.
pub(crate) struct Rows<'a> {
    /// Whether these very points, in this order, are also the columns.
    pub(crate) are_columns: bool,
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
    if run.leaves
        && rows.are_columns
        && against.len() == 1
        && let Some(leaves) = Leaves::new(metric, rows, sizes)
    {
        return leaves.stream(run, stage, rows, sizes, finish);
    }
    if let [columns] = against
        && symmetric::pays(run, rows, sizes)
    {
        return symmetric::stream(run, stage, metric, rows, *columns, sizes, finish);
    }
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
                .map(|(row, smallest)| finish(first + row, &distances(metric, smallest), &mut workspace))
                .collect();
            meter.advance(indices.len())?;
            Ok(results)
        })
        .collect();
    Ok(blocks?.into_iter().flatten().collect())
}

/// The values kept, as distances, sorted.
fn distances(metric: &Metric, smallest: Smallest) -> Vec<f32> {
    let mut tail = smallest.sorted();
    for value in &mut tail {
        *value = metric.distance_of_rank(*value);
    }
    tail
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
