//! Tails of points against each other, each distance computed once and offered to both of its ends.
//!
//! Blocks of points meet in rounds, as the players of a tournament do: in a round every block meets one other, so
//! that the pairs of a round run on many threads and none shares a block.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::smallest::{Smallest, offer_both};
use super::{Against, Rows, Work, distances};
use crate::distance::{RowBlock, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::Stage;

/// Rows of a tile; a block has a multiple of them, in whole groups and panels of the kernel.
pub(super) const TILE_ROWS: usize = 96;
const LARGEST_BLOCK: usize = 10 * TILE_ROWS;

/// From so many dimensions on, half the distances cost more than offering values to two tails.
const DIMENSIONS: usize = 8;

/// Whether the rows are the columns, halves are worth it, and all tails fit the memory of the run at once.
pub(super) fn pays(work: &Work<'_>) -> bool {
    let rows = work.rows;
    rows.are_columns
        && rows.bounds.is_none()
        && rows.points.dimensions() >= DIMENSIONS
        && rows.indices.len() > 2 * TILE_ROWS
        && memory(work) <= work.run.memory
}

/// Bytes that all tails take.
pub(super) fn memory(work: &Work<'_>) -> usize {
    let bytes = work.rows.classes.iter().map(|&class| Smallest::bytes(work.tails[class as usize].size));
    bytes.fold(0, usize::saturating_add)
}

/// The tails so far of a block of rows.
pub(super) struct Block {
    pub(super) rows: Range<usize>,
    pub(super) smallest: Smallest,
    /// The rows, `TILE_ROWS` at a time, if they are kept laid out.
    pub(super) packed: Option<Vec<RowBlock>>,
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
    tournament(work, stage, metric, keep, meet, finish)
}

/// Lets every two blocks of rows meet, and every block itself, and finishes their tails. Blocks `keep` their rows laid
/// out, or not.
pub(super) fn tournament<W: Default, R: Send>(
    work: &Work<'_>,
    stage: Stage,
    metric: &Metric,
    keep: bool,
    meet: impl Fn(&mut Block, Option<&mut Block>) -> Result<(), Halt> + Sync,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, Halt> {
    let count = work.rows.indices.len();
    let share = count.div_ceil(8 * rayon::current_num_threads()).next_multiple_of(TILE_ROWS);
    let size = share.clamp(TILE_ROWS, LARGEST_BLOCK);
    let starts: Vec<usize> = (0..count).step_by(size).collect();
    let blocks: Result<Vec<Mutex<Block>>, Halt> = starts
        .into_par_iter()
        .map(|start| Ok(Mutex::new(Block::new(work, start..(start + size).min(count), keep)?)))
        .collect();
    let blocks = blocks?;
    let meter = work.run.meter(stage, count);
    for (round, pairs) in rounds(blocks.len()).enumerate() {
        pairs.into_par_iter().try_for_each(|(a, b)| {
            // A block is met by one other in a round, so nobody waits here.
            let mut first = blocks[a].lock().unwrap_or_else(PoisonError::into_inner);
            let mut second = (a != b).then(|| blocks[b].lock().unwrap_or_else(PoisonError::into_inner));
            meter.check()?;
            meet(&mut first, second.as_deref_mut())
        })?;
        let before = (round * size).min(count);
        meter.advance(((round + 1) * size).min(count) - before)?;
    }
    let finished: Result<Vec<Vec<R>>, Halt> = blocks
        .into_par_iter()
        .map_init(W::default, |workspace, block| {
            let mut block = block.into_inner().unwrap_or_else(PoisonError::into_inner);
            work.complete(&meter, block.rows.start, &mut block.smallest)?;
            let tails = block.rows.enumerate();
            Ok(tails
                .map(|(at, row)| finish(row, distances(metric, &mut block.smallest, at), workspace))
                .collect())
        })
        .collect();
    Ok(finished?.into_iter().flatten().collect())
}

/// Every pair of `count` blocks, once, and every block with itself, in rounds of pairs without a common block.
fn rounds(count: usize) -> impl Iterator<Item = Vec<(usize, usize)>> {
    // The circle method: the last seat stays, the others move on by one. With an odd number, it is empty.
    let seats = count.next_multiple_of(2);
    let itself = std::iter::once((0..count).map(|block| (block, block)).collect());
    itself.chain((0..seats.saturating_sub(1)).map(move |round| {
        let seat = |position: usize| match position {
            0 => seats - 1,
            _ => (round + position - 1) % (seats - 1),
        };
        let pairs = (0..seats / 2).map(|position| {
            let (a, b) = (seat(position), seat(seats - 1 - position));
            (a.min(b), a.max(b))
        });
        pairs.filter(|&(_, larger)| larger < count).collect()
    }))
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

impl Block {
    fn new(work: &Work<'_>, rows: Range<usize>, keep: bool) -> Result<Self, Halt> {
        let mut bounds = vec![f32::INFINITY; rows.len()];
        let mut packed = keep.then(Vec::new);
        let mut tile = Tile::default();
        for (start, bounds) in rows.clone().step_by(TILE_ROWS).zip(bounds.chunks_mut(TILE_ROWS)) {
            let part = start..start + bounds.len();
            if work.sample.is_none() && !keep {
                break;
            }
            let columns = work.against[0].columns;
            let block = columns.block(work.rows.points, &work.rows.indices[part.clone()]);
            if let Some(sample) = work.sample {
                bounds.copy_from_slice(&sample.bounds(&block, &work.rows.classes[part], &mut tile)?);
            }
            if let Some(packed) = &mut packed {
                packed.push(block);
            }
        }
        let tails = rows.clone().zip(bounds).map(|(row, bound)| (work.tail(row).size, bound));
        Ok(Self { smallest: Smallest::new(tails), rows, packed })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_two_blocks_meet_once_and_none_is_in_two_places() {
        for count in 1..20 {
            let mut met = HashSet::new();
            for pairs in rounds(count) {
                let mut busy = HashSet::new();
                for (a, b) in pairs {
                    assert!(a <= b && b < count && met.insert((a, b)), "{a} and {b} of {count} meet again");
                    assert!(busy.insert(a) && (a == b || busy.insert(b)), "in two places");
                }
            }
            assert_eq!(met.len(), count * (count + 1) / 2);
        }
    }
}
