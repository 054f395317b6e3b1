//! Tails of more rows than fit the memory: blocks of rows meet, one pair of blocks at a time, and what they find waits in the scratch.
//!
//! Every meeting is kept under its name before the next one begins; a run that finds it does not do it again. If all that is
//! found would take too much of the disk, which long tails do, blocks look at all others one after the other instead, and each
//! pair is measured twice.

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use crate::error::RunError;
use crate::plan::{Executor, Plan};
use crate::points::Points;
use crate::run::{Meter, Run, Stage};
use crate::scratch::{self, Scratch, Within};
use crate::tail::meeting::{Bounding, Found, Side, among, between, gather};
use crate::tail::{Against, Problem, own_columns, steps};

pub(super) fn execute<W: Default, R: Send>(
    plan: &Plan,
    problem: &Problem<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, RunError> {
    // Where tails are fitted block by block, meetings have the plain names.
    let within = problem.run.store().map(|scratch| Within::new(scratch, "unfitted"));
    let blocks = Blocks::of(plan, problem, within.as_ref().map(|within| within as &dyn Scratch))?;
    let finished = |rows: &Range<usize>, found: &Found| {
        let tails: Vec<&[f32]> = found.rows().collect();
        let finish =
            |workspace: &mut W, (at, tail): (usize, &&[f32])| finish(rows.start + at, tail, workspace);
        Ok(tails.par_iter().enumerate().map_init(W::default, finish).collect::<Vec<R>>())
    };
    let mut results = Vec::with_capacity(problem.rows.indices.len());
    blocks.find(
        |_| Ok(None),
        |block, found| finished(&blocks.rows[block], found),
        |_, part| results.extend(part),
    )?;
    Ok(results)
}

/// The rows of a problem in blocks. The rows are the last that the problem is against.
pub(super) struct Blocks<'a> {
    problem: &'a Problem<'a>,
    /// Where meetings are kept; without it they are held once more for the other side.
    scratch: Option<&'a dyn Scratch>,
    /// By block, the positions of its rows.
    pub(super) rows: Vec<Range<usize>>,
    /// Whether two blocks meet once, for both.
    once: bool,
    /// By block, where the tails of its rows end, most likely.
    bounds: Vec<Vec<f32>>,
}

impl<'a> Blocks<'a> {
    /// Blocks as planned.
    pub(super) fn of(
        plan: &Plan,
        problem: &'a Problem<'a>,
        scratch: Option<&'a dyn Scratch>,
    ) -> Result<Self, RunError> {
        let (count, once) = match plan.executor {
            Executor::Blocks { count, once } => (count, once),
            _ => (1, true),
        };
        let rows = steps::blocks(problem.rows.indices.len(), count);
        let bounds = bounds(problem, &rows)?;
        Ok(Self { problem, scratch, rows, once, bounds })
    }

    /// Goes over the blocks in order. `known` is what a run before this one made of a block, which is then passed over; `made` makes it of
    /// the tails of the rows of the block, before the meetings of which they come are let go; `take` gets it either way.
    pub(super) fn find<T>(
        &self,
        known: impl Fn(usize) -> Result<Option<T>, RunError>,
        made: impl Fn(usize, &Found) -> Result<T, RunError>,
        mut take: impl FnMut(usize, T),
    ) -> Result<(), RunError> {
        let meter = self.problem.run.meter(self.problem.stage, self.problem.rows.indices.len());
        let quiet = |_: Stage, _: u64, _: u64| match meter.advance(0) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let run = self.problem.run.in_memory().watched_by(&quiet);
        let met = Met { blocks: self, run: &run, meter: &meter };
        for block in 0..self.rows.len() {
            let part = if let Some(part) = known(block)? {
                met.pass_over(block)?;
                part
            } else {
                made(block, &if self.once { met.once(block)? } else { met.twice(block)? })?
            };
            if self.once {
                met.forget(block)?;
            }
            take(block, part);
        }
        Ok(())
    }

    fn side(&self, block: usize) -> Side<'_> {
        side(self.problem, &self.rows[block], Some(&self.bounds[block]))
    }
}

fn side<'a>(problem: &Problem<'a>, block: &Range<usize>, bounds: Option<&'a [f32]>) -> Side<'a> {
    let rows = &problem.rows;
    Side {
        points: rows.points,
        indices: &rows.indices[block.clone()],
        classes: &rows.classes[block.clone()],
        bounds,
    }
}

/// By block, where the tails of its rows end, most likely.
fn bounds(problem: &Problem<'_>, blocks: &[Range<usize>]) -> Result<Vec<Vec<f32>>, RunError> {
    let rows = &problem.rows;
    let count = rows.indices.len();
    let sampled = Bounding::size(count, rows.points.dimensions(), problem.run.memory);
    let chosen: Vec<usize> = (0..sampled).map(|position| position * count / sampled).collect();
    let indices: Vec<usize> = chosen.iter().map(|&position| rows.indices[position]).collect();
    let classes: Vec<u32> = chosen.iter().map(|&position| rows.classes[position]).collect();
    let own = own_columns(&classes, problem.sizes.len());
    let places: Vec<usize> = (0..problem.sizes.len())
        .map(|class| {
            let (size, negatives) = (problem.size(class as u32), problem.negatives(class));
            Bounding::place(sampled, own[class].len(), size, negatives)
        })
        .collect();
    let sample = Points::ready(rows.points.gather(&indices), rows.points.dimensions());
    let bounding = Bounding::new(problem.metric, &sample, &classes, &places);
    blocks.iter().map(|block| bounding.bounds(&side(problem, block, None))).collect()
}

/// Meetings of the blocks.
struct Met<'a> {
    blocks: &'a Blocks<'a>,
    run: &'a Run<'a>,
    meter: &'a Meter<'a>,
}

impl Met<'_> {
    /// What is kept of two blocks that have met.
    fn meeting(&self, first: usize, second: usize) -> String {
        format!("meeting-{}-{first}-{second}", self.blocks.rows.len())
    }

    /// What a block has found once it has met all others; those before it have met it already.
    fn once(&self, block: usize) -> Result<Found, RunError> {
        let mut parts = Vec::with_capacity(self.blocks.rows.len());
        for first in 0..block {
            parts.push(self.meet(first, block)?.1);
        }
        for second in block..self.blocks.rows.len() {
            parts.push(self.meet(block, second)?.0);
        }
        self.complete(block, parts)
    }

    /// What a block finds among all others, which find nothing.
    fn twice(&self, block: usize) -> Result<Found, RunError> {
        let (side_of_block, problem) = (self.blocks.side(block), self.blocks.problem);
        let mut merged: Found = Found::default();
        for columns in &self.blocks.rows {
            let columns = side(problem, columns, None);
            let part = gather(self.run, problem.metric, &side_of_block, &columns, problem.sizes)?;
            let parts = if merged.counts.is_empty() { vec![part] } else { vec![merged, part] };
            merged = self.merge(&side_of_block, &parts);
            self.advance(side_of_block.indices.len() * columns.indices.len(), 1)?;
        }
        self.complete(block, vec![merged])
    }

    /// What two blocks find in each other; found before, or now.
    fn meet(&self, first: usize, second: usize) -> Result<(Found, Found), RunError> {
        let name = self.meeting(first, second);
        let (rows, problem) = (&self.blocks.rows, self.blocks.problem);
        if let Some(scratch) = self.blocks.scratch
            && let Some(bytes) = scratch.load(&name).map_err(|error| scratch::failed(scratch, &error))?
            && let Some(found) = both_of(&bytes, rows[first].len(), rows[second].len())
        {
            return Ok(found);
        }
        let (one, other) = (self.blocks.side(first), self.blocks.side(second));
        let found = if first == second {
            (among(self.run, problem.metric, &one, problem.sizes)?, Found::default())
        } else {
            between(self.run, problem.metric, &one, &other, problem.sizes)?
        };
        if let Some(scratch) = self.blocks.scratch {
            let kept = scratch.keep(&name, &bytes_of_both(&found));
            kept.map_err(|error| scratch::failed(scratch, &error))?;
        }
        let share = if first == second { 1 } else { 2 };
        self.advance(one.indices.len() * other.indices.len(), share)?;
        Ok(found)
    }

    /// Counts what a run before this one has done.
    fn pass_over(&self, block: usize) -> Result<(), RunError> {
        let once = self.blocks.once;
        let rows = self.blocks.rows[block].len();
        let others = if once { &self.blocks.rows[block..] } else { &self.blocks.rows[..] };
        for (at, other) in others.iter().enumerate() {
            self.advance(rows * other.len(), if once && at > 0 { 2 } else { 1 })?;
        }
        Ok(())
    }

    /// Tells of pairs that were measured, for so many ends.
    fn advance(&self, pairs: usize, ends: usize) -> Result<(), RunError> {
        let all = self.blocks.problem.rows.indices.len().max(1);
        self.meter.advance(pairs / all * ends)
    }

    /// Frees meetings that both sides have taken in.
    fn forget(&self, block: usize) -> Result<(), RunError> {
        let Some(scratch) = self.blocks.scratch else { return Ok(()) };
        for first in 0..=block {
            let removed = scratch.remove(&self.meeting(first, block));
            removed.map_err(|error| scratch::failed(scratch, &error))?;
        }
        Ok(())
    }

    /// The smallest of all parts, with those of rows whose bounds proved too low found once more.
    fn complete(&self, block: usize, mut parts: Vec<Found>) -> Result<Found, RunError> {
        let problem = self.blocks.problem;
        let side_of_block = self.blocks.side(block);
        let others = problem.against.split_last().map_or(&[][..], |(_, others)| others);
        if !others.is_empty() {
            parts.push(self.among_others(&side_of_block, others)?);
        }
        let found = self.merge(&side_of_block, &parts);
        drop(parts);
        let classes = side_of_block.classes;
        let is_short = |row: &usize| (found.counts[*row] as usize) < problem.size(classes[*row]);
        let short: Vec<usize> = (0..found.counts.len()).filter(is_short).collect();
        if short.is_empty() {
            return Ok(found);
        }
        let indices: Vec<usize> = short.iter().map(|&row| side_of_block.indices[row]).collect();
        let classes: Vec<u32> = short.iter().map(|&row| classes[row]).collect();
        let some = Side { points: side_of_block.points, indices: &indices, classes: &classes, bounds: None };
        let mut parts = Vec::new();
        if !others.is_empty() {
            parts.push(self.among_others(&some, others)?);
        }
        for columns in &self.blocks.rows {
            let columns = side(problem, columns, None);
            parts.push(gather(self.run, problem.metric, &some, &columns, problem.sizes)?);
        }
        let whole = self.merge(&some, &parts);
        let mut again = short.iter().zip(whole.rows()).peekable();
        let mut values = Vec::with_capacity(found.values.len());
        let mut counts = Vec::with_capacity(found.counts.len());
        for (row, tail) in found.rows().enumerate() {
            let tail = again.next_if(|(short, _)| **short == row).map_or(tail, |(_, whole)| whole);
            counts.push(tail.len() as u32);
            values.extend_from_slice(tail);
        }
        Ok(Found { counts, values })
    }

    /// What rows find among what is no row of the batch.
    fn among_others(&self, side: &Side<'_>, others: &[Against<'_>]) -> Result<Found, RunError> {
        let problem = self.blocks.problem;
        let problem =
            Problem::new((self.run, Stage::Tails), problem.metric, side.rows(), others, problem.sizes);
        let plan = problem.plan_without_device();
        let found = super::execute(&plan, &problem, |_, tail, (): &mut ()| tail.to_vec())?;
        Ok(Found::of(&found))
    }

    fn merge(&self, side: &Side<'_>, parts: &[Found]) -> Found {
        Found::smallest(&parts.iter().collect::<Vec<_>>(), side.classes.len(), |row| {
            self.blocks.problem.size(side.classes[row])
        })
    }
}

/// Counts and values of both sides of a meeting.
fn bytes_of_both((first, second): &(Found, Found)) -> Vec<u8> {
    let counts = first.counts.iter().chain(&second.counts);
    let mut bytes: Vec<u8> = (second.counts.len() as u64).to_le_bytes().to_vec();
    bytes.extend(counts.flat_map(|count| count.to_le_bytes()));
    bytes.extend(first.values.iter().chain(&second.values).flat_map(|value| value.to_le_bytes()));
    bytes
}

/// `None` where the bytes are not those of a meeting of so many rows.
fn both_of(bytes: &[u8], first: usize, second: usize) -> Option<(Found, Found)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let of_second = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    if of_second != 0 && of_second != second {
        return None;
    }
    let words = rest.as_chunks::<4>().0;
    let (counts, values) = words.split_at_checked(first + of_second)?;
    let counts: Vec<u32> = counts.iter().map(|count| u32::from_le_bytes(*count)).collect();
    let values: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    let (of_first, of_second) = counts.split_at(first);
    let sum = |counts: &[u32]| counts.iter().map(|&count| count as usize).sum::<usize>();
    if sum(&counts) != values.len() {
        return None;
    }
    let (left, right) = values.split_at(sum(of_first));
    let found = |counts: &[u32], values: &[f32]| Found { counts: counts.to_vec(), values: values.to_vec() };
    Some((found(of_first, left), found(of_second, right)))
}
