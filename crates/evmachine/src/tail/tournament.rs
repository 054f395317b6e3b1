//! Blocks of points that meet each other, as the players of a tournament do: every two of them once, on many threads, and
//! none in two places at a time.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::smallest::Smallest;
use super::{Work, distances};
use crate::distance::{RowBlock, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::Stage;

/// Rows of a tile; a block has a multiple of them, in whole groups and panels of the kernel.
pub(super) const TILE_ROWS: usize = 96;
const LARGEST_BLOCK: usize = 10 * TILE_ROWS;

/// The tails so far of a block of rows.
pub(super) struct Block {
    pub(super) rows: Range<usize>,
    pub(super) smallest: Smallest,
    /// The rows, `TILE_ROWS` at a time, if they are kept laid out.
    pub(super) packed: Option<Vec<RowBlock>>,
}

/// Lets every two blocks of rows meet, and every block itself, and finishes their tails. Blocks `keep` their rows laid
/// out, or not.
pub(super) fn stream<W: Default, R: Send>(
    work: &Work<'_>,
    stage: Stage,
    metric: &Metric,
    keep: bool,
    meet: impl Fn(&mut Block, Option<&mut Block>) -> Result<(), Halt> + Sync,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, Halt> {
    let count = work.rows.indices.len();
    let threads = rayon::current_num_threads();
    let share = count.div_ceil(8 * threads).next_multiple_of(TILE_ROWS);
    let size = share.clamp(TILE_ROWS, LARGEST_BLOCK);
    let starts: Vec<usize> = (0..count).step_by(size).collect();
    let blocks: Result<Vec<Mutex<Block>>, Halt> = starts
        .into_par_iter()
        .map(|start| Ok(Mutex::new(Block::new(work, start..(start + size).min(count), keep)?)))
        .collect();
    let blocks = blocks?;
    let meter = work.run.meter(stage, count);
    let schedule = Mutex::new(Schedule::new(blocks.len()));
    let schedule = || schedule.lock().unwrap_or_else(PoisonError::into_inner);
    let pairs = schedule().waiting.len();
    // Nobody waits: who finds no pair that is free leaves the rest to those who are still at it.
    let play = || -> Result<(), Halt> {
        loop {
            let Some((number, (a, b))) = schedule().next() else { return Ok(()) };
            let mut first = blocks[a].lock().unwrap_or_else(PoisonError::into_inner);
            let mut second = (a != b).then(|| blocks[b].lock().unwrap_or_else(PoisonError::into_inner));
            let met = meter.check().and_then(|()| meet(&mut first, second.as_deref_mut()));
            drop((first, second));
            schedule().free(a, b);
            let rows = (number + 1) * count / pairs - number * count / pairs;
            met.and_then(|()| meter.advance(rows)).inspect_err(|_| schedule().waiting.clear())?;
        }
    };
    (0..threads).into_par_iter().with_max_len(1).try_for_each(|_| play())?;
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

/// Pairs that have not met, and blocks that are with another.
struct Schedule {
    /// By their number.
    waiting: VecDeque<(usize, (usize, usize))>,
    busy: Vec<bool>,
}

impl Schedule {
    fn new(blocks: usize) -> Self {
        Self { waiting: rounds(blocks).flatten().enumerate().collect(), busy: vec![false; blocks] }
    }

    /// The first pair of which neither is busy. In the order of rounds it is never far.
    fn next(&mut self) -> Option<(usize, (usize, usize))> {
        let is_free = |(_, (a, b)): &(usize, (usize, usize))| !self.busy[*a] && !self.busy[*b];
        let at = self.waiting.iter().position(is_free)?;
        let (number, (a, b)) = self.waiting.remove(at)?;
        (self.busy[a], self.busy[b]) = (true, true);
        Some((number, (a, b)))
    }

    fn free(&mut self, a: usize, b: usize) {
        (self.busy[a], self.busy[b]) = (false, false);
    }
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
