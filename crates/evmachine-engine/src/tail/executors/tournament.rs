//! Blocks of points that meet, as the players of a tournament do: each distance is measured once and offered to both of its
//! ends.
//!
//! Among themselves, every two blocks meet once, on many threads, and none is in two places at a time. In an exchange, threads
//! take tiles of columns in turn; each keeps tails of its own for the rows, which are merged at the end.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::stream::complete;
use crate::distance::{RowBlock, Tile};
use crate::error::RunError;
use crate::plan::{Executor, Plan, TILE_ROWS};
use crate::run::Meter;
use crate::tail::bounds::SampledColumns;
use crate::tail::smallest::{Smallest, offer_both};
use crate::tail::{OtherEnd, Problem, distances};

const LARGEST_BLOCK: usize = 10 * TILE_ROWS;

/// The tails so far of a block of rows.
pub(super) struct Block {
    pub(super) rows: Range<usize>,
    pub(super) smallest: Smallest,
    /// The rows, [`TILE_ROWS`] at a time, if they are kept laid out.
    pub(super) packed: Option<Vec<RowBlock>>,
}

/// The rows are the columns of the problem.
pub(super) fn execute<W: Default, R: Send>(
    plan: &Plan,
    problem: &Problem<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, RunError> {
    let sample = SampledColumns::new(plan, problem);
    let keep = matches!(plan.executor, Executor::Tournament { keep: true });
    let meet = |first: &mut Block, second: Option<&mut Block>| {
        let columns = second.as_ref().map_or(first.rows.clone(), |block| block.rows.clone());
        let rows = (first.rows.clone(), first.packed.as_deref());
        let other = second.map(|block| &mut block.smallest);
        meet(problem, rows, &mut first.smallest, columns, other)
    };
    play(problem, sample.as_ref(), keep, meet, finish)
}

/// Lets every two blocks of rows `meet`, and every block itself, and finishes their tails. Blocks `keep` their rows laid out,
/// or not.
pub(super) fn play<W: Default, R: Send>(
    problem: &Problem<'_>,
    sample: Option<&SampledColumns>,
    keep: bool,
    meet: impl Fn(&mut Block, Option<&mut Block>) -> Result<(), RunError> + Sync,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, RunError> {
    let count = problem.rows.indices.len();
    let threads = rayon::current_num_threads();
    let share = count.div_ceil(8 * threads).next_multiple_of(TILE_ROWS);
    let size = share.clamp(TILE_ROWS, LARGEST_BLOCK);
    let starts: Vec<usize> = (0..count).step_by(size).collect();
    let blocks: Result<Vec<Mutex<Block>>, RunError> = starts
        .into_par_iter()
        .map(|start| Ok(Mutex::new(Block::new(problem, sample, start..(start + size).min(count), keep)?)))
        .collect();
    let blocks = blocks?;
    let meter = problem.run.meter(problem.stage, count);
    let schedule = Mutex::new(Schedule::new(blocks.len()));
    let schedule = || schedule.lock().unwrap_or_else(PoisonError::into_inner);
    let pairs = schedule().waiting.len();
    // Nobody waits: who finds no pair that is free leaves the rest to those who are still at it.
    let take_part = || -> Result<(), RunError> {
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
    (0..threads).into_par_iter().with_max_len(1).try_for_each(|_| take_part())?;
    let finished: Result<Vec<Vec<R>>, RunError> = blocks
        .into_par_iter()
        .map_init(W::default, |workspace, block| {
            let mut block = block.into_inner().unwrap_or_else(PoisonError::into_inner);
            complete(problem, &meter, sample, block.rows.start, &mut block.smallest)?;
            let tails = block.rows.enumerate();
            Ok(tails
                .map(|(at, row)| finish(row, distances(problem.metric, &mut block.smallest, at), workspace))
                .collect())
        })
        .collect();
    Ok(finished?.into_iter().flatten().collect())
}

/// Offers the distances of rows to columns, whose other end is `other`, or is the rows themselves.
fn meet(
    problem: &Problem<'_>,
    (rows, packed): (Range<usize>, Option<&[RowBlock]>),
    smallest: &mut Smallest,
    columns: Range<usize>,
    mut other: Option<&mut Smallest>,
) -> Result<(), RunError> {
    let against = problem.against[0];
    let mut tile = Tile::default();
    for (number, start) in rows.clone().step_by(TILE_ROWS).enumerate() {
        let tile_rows = start..(start + TILE_ROWS).min(rows.end);
        let classes = &problem.rows.classes[tile_rows.clone()];
        let own = |class: u32| &against.own[class as usize];
        let alone = classes.first().filter(|first| Some(*first) == classes.last());
        if alone.is_some_and(|&class| own(class).start <= columns.start && columns.end <= own(class).end) {
            continue;
        }
        let laid_out;
        let block = if let Some(packed) = packed {
            &packed[number]
        } else {
            laid_out = against.columns.block(problem.rows.points, &problem.rows.indices[tile_rows]);
            &laid_out
        };
        against.columns.ranks(block, columns.clone(), &mut tile)?;
        for (row, &class) in classes.iter().enumerate() {
            let ranks = tile.row(row);
            let at = start - rows.start + row;
            for part in against.others(class, &columns) {
                match &mut other {
                    Some(other) => offer_both(smallest, at, other, part.start, &ranks[part]),
                    None => smallest.offer(at, &ranks[part]),
                }
            }
        }
    }
    Ok(())
}

/// Rows and columns are others. Results are those of all rows, then those of all columns.
pub(in crate::tail) fn exchange<W: Default, R: Send>(
    _: &Plan,
    problem: &Problem<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, RunError> {
    let (columns, rows) = (problem.against[0].columns, &problem.rows);
    let end = problem.other_end.expect("an exchange is planned where columns want tails too");
    let packed: Vec<RowBlock> =
        rows.indices.chunks(TILE_ROWS).map(|indices| columns.block(rows.points, indices)).collect();
    let meter = problem.run.meter(problem.stage, columns.len());
    let next = AtomicUsize::new(0);
    let finish_column =
        |row: usize, tail: &[f32], workspace: &mut W| finish(rows.indices.len() + row, tail, workspace);
    let parts: Result<Vec<ThreadTails<R>>, RunError> = (0..rayon::current_num_threads())
        .into_par_iter()
        .with_max_len(1)
        .map(|_| exchange_part(problem, &end, &packed, &next, &meter, finish_column))
        .collect();
    let mut parts = parts?.into_iter();
    let (mut smallest, mut found) = parts.next().expect("a pool has a thread");
    for (mut other, more) in parts {
        found.extend(more);
        for row in 0..smallest.rows() {
            smallest.offer(row, other.sorted(row));
        }
    }
    found.sort_unstable_by_key(|(start, _)| *start);
    let mut workspace = W::default();
    let rows = (0..smallest.rows())
        .map(|row| finish(row, distances(problem.metric, &mut smallest, row), &mut workspace))
        .collect::<Vec<R>>();
    Ok(rows.into_iter().chain(found.into_iter().flat_map(|(_, results)| results)).collect())
}

/// Bytes that an exchange may take: tails of the rows for each thread, and all that columns may find.
pub(in crate::tail) fn exchange_bytes(problem: &Problem<'_>, end: &OtherEnd<'_>) -> usize {
    let threads = rayon::current_num_threads();
    let rows = problem.rows.classes.iter().map(|&class| Smallest::bytes(problem.size(class)) * threads);
    let columns = end.classes.iter().map(|&class| size_of::<f32>() * problem.column_size(class));
    rows.chain(columns).fold(0, usize::saturating_add)
}

/// What a thread has of an exchange: the tails of all rows among the columns that it met; and by the first column of a tile, what
/// became of its columns.
type ThreadTails<R> = (Smallest, Vec<(usize, Vec<R>)>);

/// Takes part in an exchange: one tile of columns after the other, while there are any.
fn exchange_part<W: Default, R>(
    problem: &Problem<'_>,
    end: &OtherEnd<'_>,
    packed: &[RowBlock],
    next: &AtomicUsize,
    meter: &Meter<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R,
) -> Result<ThreadTails<R>, RunError> {
    let (rows, count) = (problem.rows.indices.len(), problem.against[0].columns.len());
    let bound = |row: usize| problem.rows.bounds.map_or(f32::INFINITY, |bounds| bounds[row]);
    let wanted = problem.rows.classes.iter().enumerate();
    let mut smallest = Smallest::with_few(wanted.map(|(row, &class)| (problem.size(class), bound(row))));
    let (mut other, mut found, mut workspace) = (Smallest::default(), Vec::new(), W::default());
    loop {
        let start = next.fetch_add(problem.run.tile_columns, Ordering::Relaxed);
        if start >= count {
            return Ok((smallest, found));
        }
        meter.check()?;
        let columns = start..(start + problem.run.tile_columns).min(count);
        let wanted = |column: usize| (problem.column_size(end.classes[column]), end.bounds[column]);
        other.restart_with_few(columns.clone().map(wanted));
        meet(problem, (0..rows, Some(packed)), &mut smallest, columns.clone(), Some(&mut other))?;
        let tails = columns.clone().enumerate();
        let results = tails
            .map(|(at, column)| finish(column, distances(problem.metric, &mut other, at), &mut workspace))
            .collect();
        found.push((start, results));
        meter.advance(columns.len())?;
    }
}

impl Problem<'_> {
    /// Values that a column of that class may find among the rows.
    fn column_size(&self, class: u32) -> usize {
        self.sizes[class as usize].min(self.rows.indices.len())
    }
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
    fn new(
        problem: &Problem<'_>,
        sample: Option<&SampledColumns>,
        rows: Range<usize>,
        keep: bool,
    ) -> Result<Self, RunError> {
        let given = problem.rows.bounds.map(|bounds| bounds[rows.clone()].to_vec());
        let mut bounds = given.unwrap_or_else(|| vec![f32::INFINITY; rows.len()]);
        let mut packed = keep.then(Vec::new);
        let mut tile = Tile::default();
        for (start, bounds) in rows.clone().step_by(TILE_ROWS).zip(bounds.chunks_mut(TILE_ROWS)) {
            let part = start..start + bounds.len();
            if sample.is_none() && !keep {
                break;
            }
            let columns = problem.against[0].columns;
            let block = columns.block(problem.rows.points, &problem.rows.indices[part.clone()]);
            if let Some(sample) = sample {
                bounds.copy_from_slice(&sample.bounds(&block, &problem.rows.classes[part], &mut tile)?);
            }
            if let Some(packed) = &mut packed {
                packed.push(block);
            }
        }
        let sizes = problem.rows.classes[rows.clone()].iter().map(|&class| problem.size(class));
        Ok(Self { smallest: Smallest::new(sizes.zip(bounds)), rows, packed })
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
