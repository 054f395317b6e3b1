//! Tails of points against each other, each distance computed once and offered to both of its ends.

use super::smallest::{Smallest, offer_both};
use super::tournament::{self, Block, TILE_ROWS};
use super::{Against, Rows, Work};
use crate::distance::Tile;
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::Stage;

/// From so many dimensions on, half the distances cost more than offering values to two tails.
const DIMENSIONS: usize = 8;

/// Whether halves are worth it where they are possible.
pub(super) fn pays(work: &Work<'_>) -> bool {
    is_possible(work) && work.rows.points.dimensions() >= DIMENSIONS
}

/// Whether the rows are the columns, more than two tiles of them, and all tails fit the memory of the run at once.
pub(super) fn is_possible(work: &Work<'_>) -> bool {
    let rows = work.rows;
    rows.are_columns
        && rows.bounds.is_none()
        && rows.indices.len() > 2 * TILE_ROWS
        && memory(work) <= work.run.memory
}

/// Bytes that all tails take.
pub(super) fn memory(work: &Work<'_>) -> usize {
    let bytes = work.rows.classes.iter().map(|&class| Smallest::bytes(work.tails[class as usize].size));
    bytes.fold(0, usize::saturating_add)
}

pub(super) fn stream<W: Default, R: Send>(
    work: &Work<'_>,
    stage: Stage,
    metric: &Metric,
    against: Against<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, Halt> {
    let rows = work.rows;
    let room = memory(work) + rows.indices.len() * rows.points.dimensions() * size_of::<f32>();
    let keep = room <= work.run.memory;
    let meet = |first: &mut Block, second: Option<&mut Block>| meet(rows, against, first, second);
    tournament::stream(work, stage, metric, keep, meet, finish)
}

/// Offers the distances between two blocks to both, or those within one to its rows.
fn meet(
    rows: &Rows<'_>,
    against: Against<'_>,
    first: &mut Block,
    mut second: Option<&mut Block>,
) -> Result<(), Halt> {
    let columns = second.as_ref().map_or(first.rows.clone(), |block| block.rows.clone());
    let mut tile = Tile::default();
    let start = first.rows.start;
    for tile_start in first.rows.clone().step_by(TILE_ROWS) {
        let tile_rows = tile_start..(tile_start + TILE_ROWS).min(first.rows.end);
        let classes = &rows.classes[tile_rows.clone()];
        let own = |class: u32| &against.own[class as usize];
        let alone = classes.first().filter(|first| Some(*first) == classes.last());
        if alone.is_some_and(|&class| own(class).start <= columns.start && columns.end <= own(class).end) {
            continue;
        }
        let laid_out;
        let block = if let Some(packed) = &first.packed {
            &packed[(tile_start - start) / TILE_ROWS]
        } else {
            laid_out = against.columns.block(rows.points, &rows.indices[tile_rows.clone()]);
            &laid_out
        };
        against.columns.ranks(block, columns.clone(), &mut tile)?;
        for (row, &class) in classes.iter().enumerate() {
            let ranks = tile.row(row);
            let at = tile_rows.start - start + row;
            for part in against.others(class, &columns) {
                match &mut second {
                    Some(second) => {
                        offer_both(&mut first.smallest, at, &mut second.smallest, part.start, &ranks[part]);
                    }
                    None => first.smallest.offer(at, &ranks[part]),
                }
            }
        }
    }
    Ok(())
}
