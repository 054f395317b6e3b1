//! Rows against columns: blocks of rows pass over tiles of columns, and each keeps the smallest of what it meets.

use std::ops::Range;

use rayon::prelude::*;

use crate::distance::{RowBlock, Tile};
use crate::error::RunError;
use crate::plan::Plan;
use crate::run::Meter;
use crate::tail::bounds::SampledColumns;
use crate::tail::smallest::Smallest;
use crate::tail::{Against, Problem, distances};

pub(super) fn execute<W: Default, R: Send>(
    plan: &Plan,
    problem: &Problem<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, RunError> {
    let count = problem.rows.indices.len();
    let sample = SampledColumns::new(plan, problem);
    let meter = problem.run.meter(problem.stage, count);
    let block_rows = problem.run.block_rows(count);
    let blocks: Result<Vec<Vec<R>>, RunError> = (0..count)
        .into_par_iter()
        .step_by(block_rows)
        .map(|first| {
            let positions: Vec<usize> = (first..(first + block_rows).min(count)).collect();
            let mut smallest = gather(problem, &meter, &positions, sample.as_ref())?;
            complete(problem, &meter, sample.as_ref(), first, &mut smallest)?;
            let mut workspace = W::default();
            let results = (0..smallest.rows())
                .map(|row| finish(first + row, distances(problem.metric, &mut smallest, row), &mut workspace))
                .collect();
            meter.advance(positions.len())?;
            Ok(results)
        })
        .collect();
    Ok(blocks?.into_iter().flatten().collect())
}

/// The smallest ranks of the rows at the given positions, those below the bounds of the sample alone if there is one.
fn gather(
    problem: &Problem<'_>,
    meter: &Meter<'_>,
    positions: &[usize],
    sample: Option<&SampledColumns>,
) -> Result<Smallest, RunError> {
    let rows = &problem.rows;
    let indices: Vec<usize> = positions.iter().map(|&position| rows.indices[position]).collect();
    let classes: Vec<u32> = positions.iter().map(|&position| rows.classes[position]).collect();
    let mut tile = Tile::default();
    let mut smallest = None;
    for against in problem.against {
        let block = against.columns.block(rows.points, &indices);
        let smallest = match &mut smallest {
            Some(smallest) => smallest,
            first => first.insert(start(problem, positions, &block, &classes, sample, &mut tile)?),
        };
        for columns in column_ranges(against, &classes, problem.run.tile_columns) {
            meter.check()?;
            against.columns.ranks(&block, columns.clone(), &mut tile)?;
            for (row, &class) in classes.iter().enumerate() {
                for part in against.others(class, &columns) {
                    smallest.offer(row, &tile.row(row)[part]);
                }
            }
        }
    }
    Ok(smallest.unwrap_or_default())
}

/// Tails with nothing in them yet, and the bounds that they start with.
fn start(
    problem: &Problem<'_>,
    positions: &[usize],
    block: &RowBlock,
    classes: &[u32],
    sample: Option<&SampledColumns>,
    tile: &mut Tile,
) -> Result<Smallest, RunError> {
    let bounds = match (sample, problem.rows.bounds) {
        (Some(sample), _) => sample.bounds(block, classes, tile)?,
        (None, Some(bounds)) => positions.iter().map(|&position| bounds[position]).collect(),
        (None, None) => vec![f32::INFINITY; positions.len()],
    };
    Ok(Smallest::new(classes.iter().map(|&class| problem.size(class)).zip(bounds)))
}

/// Gathers again, without a bound, the tails that the sample's bounds left short. They are those of the rows from
/// `first` on.
pub(super) fn complete(
    problem: &Problem<'_>,
    meter: &Meter<'_>,
    sample: Option<&SampledColumns>,
    first: usize,
    smallest: &mut Smallest,
) -> Result<(), RunError> {
    if sample.is_none() {
        return Ok(());
    }
    let is_short = |row: &usize| smallest.count(*row) < problem.size(problem.rows.classes[first + row]);
    let short: Vec<usize> = (0..smallest.rows()).filter(is_short).collect();
    for rows in short.chunks(problem.run.tile_rows) {
        let positions: Vec<usize> = rows.iter().map(|row| first + row).collect();
        let whole = gather(problem, meter, &positions, None)?;
        for (other, &row) in rows.iter().enumerate() {
            smallest.replace(row, &whole, other);
        }
    }
    Ok(())
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
