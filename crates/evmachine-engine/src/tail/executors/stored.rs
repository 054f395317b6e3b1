//! Tails of more rows than fit the memory: blocks of rows meet, one pair of blocks at a time, and what they find waits in the scratch.
//!
//! Every meeting is kept under its name before the next one begins, and so are the fits of a block once it has met all others;
//! a run that finds them does not do them again. Where all that is found would take too much of the disk, which long tails do,
//! blocks look at all others one after the other instead, and each pair is measured twice.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::RunError;
use crate::plan::{Executor, Plan};
use crate::points::Points;
use crate::psi::FitRule;
use crate::psi::weibull::{Workspace, fit_tail};
use crate::psi::{FitStatus, PsiModel};
use crate::run::{Meter, Run, Stage};
use crate::scratch::{self, Scratch};
use crate::tail::meeting::{Bounding, Found, Side, among, between, gather};
use crate::tail::memory::OPEN_TAIL;
use crate::tail::memory::TailMemory;
use crate::tail::{Against, Problem, execute};

/// Fits of all rows, with what is remembered of each tail in memory; whole tails are in the scratch.
pub struct Stored {
    pub(crate) fits: Vec<(PsiModel, Arc<[f32]>)>,
    /// By row, the values of its tail.
    pub counts: Vec<u32>,
    blocks: Vec<Range<usize>>,
}

/// What the tails of a batch are found with. The batch is the last of those that `problem` is against.
pub(crate) struct Work<'a> {
    pub(crate) scratch: &'a dyn Scratch,
    pub(crate) problem: &'a Problem<'a>,
    pub(crate) rule: &'a FitRule,
    /// Whole tails are kept in the scratch, and of others the largest value in memory.
    pub(crate) memory: TailMemory,
}

/// Bytes of a fit that is kept: shape, scale, shift, status, largest distance and length of the tail.
const FIT_BYTES: usize = 3 * 8 + 1 + 4 + 4;

impl Work<'_> {
    /// Finds and fits all tails, as a plan of blocks says.
    pub(crate) fn fits(&self, plan: &Plan) -> Result<Stored, RunError> {
        let Executor::Blocks { count, once } = plan.executor else {
            unreachable!("what is in the scratch is planned in blocks")
        };
        let rows = self.problem.rows.indices.len();
        let blocks = crate::tail::steps::blocks(rows, count);
        let meter = self.problem.run.meter(Stage::Tails, rows);
        let quiet = |_: Stage, _: u64, _: u64| match meter.advance(0) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let run = self.problem.run.in_memory().watched_by(&quiet);
        let bounds = self.bounds(&blocks)?;
        let met = Met { work: self, run: &run, meter: &meter, blocks: &blocks, bounds: &bounds };
        let mut stored = Stored { fits: Vec::with_capacity(rows), counts: Vec::new(), blocks: Vec::new() };
        for block in 0..blocks.len() {
            let fits = if let Some(bytes) = self.found_before(&blocks, block)? {
                met.pass_over(block, once)?;
                bytes
            } else {
                let found = if once { met.once(block)? } else { met.twice(block)? };
                self.fit(block, &blocks, &found)?
            };
            if once {
                met.forget(block)?;
            }
            self.take(&fits, &blocks[block], &mut stored);
        }
        stored.blocks = blocks;
        Ok(stored)
    }

    /// By block, where the tails of its rows end, most likely.
    fn bounds(&self, blocks: &[Range<usize>]) -> Result<Vec<Vec<f32>>, RunError> {
        let rows = &self.problem.rows;
        let count = rows.indices.len();
        let sampled = Bounding::size(count, rows.points.dimensions(), self.problem.run.memory);
        let chosen: Vec<usize> = (0..sampled).map(|position| position * count / sampled).collect();
        let indices: Vec<usize> = chosen.iter().map(|&position| rows.indices[position]).collect();
        let classes: Vec<u32> = chosen.iter().map(|&position| rows.classes[position]).collect();
        let own = crate::tail::own_columns(&classes, self.problem.sizes.len());
        let places: Vec<usize> = (0..self.problem.sizes.len())
            .map(|class| {
                let (size, negatives) = (self.problem.size(class as u32), self.problem.negatives(class));
                Bounding::place(sampled, own[class].len(), size, negatives)
            })
            .collect();
        let sample = Points::ready(rows.points.gather(&indices), rows.points.dimensions());
        let bounding = Bounding::new(self.problem.metric, &sample, &classes, &places);
        blocks.iter().map(|block| bounding.bounds(&self.side(block, None))).collect()
    }

    fn side<'b>(&'b self, block: &Range<usize>, bounds: Option<&'b [f32]>) -> Side<'b> {
        let rows = &self.problem.rows;
        Side {
            points: rows.points,
            indices: &rows.indices[block.clone()],
            classes: &rows.classes[block.clone()],
            bounds,
        }
    }

    /// The fits of a block that a run before this one has found, if its tails are still whole as well.
    fn found_before(&self, blocks: &[Range<usize>], block: usize) -> Result<Option<Vec<u8>>, RunError> {
        let Some(fits) = self.load(&of_block("fits", blocks.len(), block))? else { return Ok(None) };
        if fits.len() != blocks[block].len() * FIT_BYTES {
            return Ok(None);
        }
        if self.memory == TailMemory::Full {
            let values: usize = fits.chunks_exact(FIT_BYTES).map(|fit| unpacked(fit).2 as usize).sum();
            let tails = self.load(&of_block("tails", blocks.len(), block))?;
            if tails.is_none_or(|bytes| bytes.len() != values * size_of::<f32>()) {
                return Ok(None);
            }
        }
        Ok(Some(fits))
    }

    /// Fits what a block has found, and keeps it.
    fn fit(&self, block: usize, blocks: &[Range<usize>], found: &Found) -> Result<Vec<u8>, RunError> {
        let tails: Vec<&[f32]> = found.rows().collect();
        let fits: Vec<[u8; FIT_BYTES]> = tails
            .par_iter()
            .map_init(Workspace::default, |workspace, tail| {
                let psi = fit_tail(tail, self.rule, workspace);
                let largest = tail.last().copied().unwrap_or(OPEN_TAIL);
                packed(&psi, largest, tail.len() as u32)
            })
            .collect();
        debug_assert_eq!(fits.len(), blocks[block].len());
        if self.memory == TailMemory::Full {
            self.keep(&of_block("tails", blocks.len(), block), &bytes_of(&found.values))?;
        }
        let fits = fits.concat();
        self.keep(&of_block("fits", blocks.len(), block), &fits)?;
        Ok(fits)
    }

    /// Takes the fits of a block into memory.
    fn take(&self, fits: &[u8], block: &Range<usize>, stored: &mut Stored) {
        let classes = &self.problem.rows.classes[block.clone()];
        for (fit, &class) in fits.chunks_exact(FIT_BYTES).zip(classes) {
            let (psi, largest, count) = unpacked(fit);
            let open = (count as usize) < self.problem.sizes[class as usize];
            let remembered = match self.memory {
                TailMemory::None => Arc::default(),
                TailMemory::Full | TailMemory::Max => Arc::from([if open { OPEN_TAIL } else { largest }]),
            };
            stored.fits.push((psi, remembered));
            stored.counts.push(count);
        }
    }

    fn keep(&self, name: &str, bytes: &[u8]) -> Result<(), RunError> {
        self.scratch.keep(name, bytes).map_err(|error| scratch::failed(self.scratch, &error))
    }

    fn load(&self, name: &str) -> Result<Option<Vec<u8>>, RunError> {
        self.scratch.load(name).map_err(|error| scratch::failed(self.scratch, &error))
    }
}

impl Stored {
    /// The whole tails of some rows, which are in order.
    pub fn tails(&self, scratch: &dyn Scratch, rows: &[usize]) -> Result<Vec<Arc<[f32]>>, RunError> {
        let mut tails = Vec::with_capacity(rows.len());
        let mut rest = rows;
        for (number, block) in self.blocks.iter().enumerate() {
            let (here, behind) = rest.split_at(rest.partition_point(|&row| row < block.end));
            rest = behind;
            if here.is_empty() {
                continue;
            }
            let found = scratch.load(&of_block("tails", self.blocks.len(), number));
            let bytes = found.map_err(|error| scratch::failed(scratch, &error))?.unwrap_or_default();
            let values = values_of(&bytes);
            let mut starts = Vec::with_capacity(block.len() + 1);
            starts.push(0);
            for &count in &self.counts[block.clone()] {
                starts.push(starts[starts.len() - 1] + count as usize);
            }
            let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
            for &row in here {
                let at = row - block.start;
                let tail = values.get(starts[at]..starts[at + 1]);
                tails.push(Arc::from(tail.ok_or_else(|| scratch::failed(scratch, &gone()))?));
            }
        }
        Ok(tails)
    }
}

/// Meetings of the blocks.
struct Met<'a> {
    work: &'a Work<'a>,
    run: &'a Run<'a>,
    meter: &'a Meter<'a>,
    blocks: &'a [Range<usize>],
    bounds: &'a [Vec<f32>],
}

/// What is kept of a block, of so many.
fn of_block(what: &str, count: usize, block: usize) -> String {
    format!("{what}-{count}-{block}")
}

impl Met<'_> {
    /// What is kept of two blocks that have met.
    fn meeting(&self, first: usize, second: usize) -> String {
        format!("meeting-{}-{first}-{second}", self.blocks.len())
    }

    /// What a block has found once it has met all others; those before it have met it already.
    fn once(&self, block: usize) -> Result<Found, RunError> {
        let mut parts = Vec::with_capacity(self.blocks.len());
        for first in 0..block {
            parts.push(self.meet(first, block)?.1);
        }
        for second in block..self.blocks.len() {
            parts.push(self.meet(block, second)?.0);
        }
        self.complete(block, parts)
    }

    /// What a block finds among all others, which find nothing.
    fn twice(&self, block: usize) -> Result<Found, RunError> {
        let side = self.side(block);
        let mut merged: Found = Found::default();
        for columns in 0..self.blocks.len() {
            let columns = self.work.side(&self.blocks[columns], None);
            let part = gather(self.run, self.work.problem.metric, &side, &columns, self.work.problem.sizes)?;
            let parts = if merged.counts.is_empty() { vec![part] } else { vec![merged, part] };
            merged = self.merge(&side, &parts);
            self.advance(side.indices.len() * columns.indices.len(), 1)?;
        }
        self.complete(block, vec![merged])
    }

    fn side(&self, block: usize) -> Side<'_> {
        self.work.side(&self.blocks[block], Some(&self.bounds[block]))
    }

    /// What two blocks find in each other; found before, or now.
    fn meet(&self, first: usize, second: usize) -> Result<(Found, Found), RunError> {
        let name = self.meeting(first, second);
        if let Some(bytes) = self.work.load(&name)?
            && let Some(found) = both_of(&bytes, self.blocks[first].len(), self.blocks[second].len())
        {
            return Ok(found);
        }
        let problem = self.work.problem;
        let (one, other) = (self.side(first), self.side(second));
        let found = if first == second {
            (among(self.run, problem.metric, &one, problem.sizes)?, Found::default())
        } else {
            between(self.run, problem.metric, &one, &other, problem.sizes)?
        };
        self.work.keep(&name, &bytes_of_both(&found))?;
        let share = if first == second { 1 } else { 2 };
        self.advance(one.indices.len() * other.indices.len(), share)?;
        Ok(found)
    }

    /// Counts what a run before this one has done.
    fn pass_over(&self, block: usize, once: bool) -> Result<(), RunError> {
        let rows = self.blocks[block].len();
        let others = if once { &self.blocks[block..] } else { self.blocks };
        for (at, other) in others.iter().enumerate() {
            self.advance(rows * other.len(), if once && at > 0 { 2 } else { 1 })?;
        }
        Ok(())
    }

    /// Tells of pairs that were measured, for so many ends.
    fn advance(&self, pairs: usize, ends: usize) -> Result<(), RunError> {
        let all = self.work.problem.rows.indices.len().max(1);
        self.meter.advance(pairs / all * ends)
    }

    /// Lets go of meetings that both sides have taken in.
    fn forget(&self, block: usize) -> Result<(), RunError> {
        for first in 0..=block {
            let removed = self.work.scratch.remove(&self.meeting(first, block));
            removed.map_err(|error| scratch::failed(self.work.scratch, &error))?;
        }
        Ok(())
    }

    /// The smallest of all parts, with those of rows whose bounds proved too low found once more.
    fn complete(&self, block: usize, mut parts: Vec<Found>) -> Result<Found, RunError> {
        let problem = self.work.problem;
        let side = self.side(block);
        let (_, others) = problem.against.split_last().expect("the batch is there");
        if !others.is_empty() {
            parts.push(self.among_others(&side, others)?);
        }
        let found = self.merge(&side, &parts);
        drop(parts);
        let is_short = |row: &usize| (found.counts[*row] as usize) < problem.size(side.classes[*row]);
        let short: Vec<usize> = (0..found.counts.len()).filter(is_short).collect();
        if short.is_empty() {
            return Ok(found);
        }
        let indices: Vec<usize> = short.iter().map(|&row| side.indices[row]).collect();
        let classes: Vec<u32> = short.iter().map(|&row| side.classes[row]).collect();
        let some = Side { points: side.points, indices: &indices, classes: &classes, bounds: None };
        let mut parts = Vec::new();
        if !others.is_empty() {
            parts.push(self.among_others(&some, others)?);
        }
        for columns in self.blocks {
            let columns = self.work.side(columns, None);
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
        let problem = self.work.problem;
        let problem =
            Problem::new((self.run, Stage::Tails), problem.metric, side.rows(), others, problem.sizes);
        let found = execute(&problem.plan_without_device(), &problem, |_, tail, (): &mut ()| tail.to_vec())?;
        Ok(Found::of(&found))
    }

    fn merge(&self, side: &Side<'_>, parts: &[Found]) -> Found {
        Found::smallest(&parts.iter().collect::<Vec<_>>(), side.classes.len(), |row| {
            self.work.problem.size(side.classes[row])
        })
    }
}

fn packed(psi: &PsiModel, largest: f32, count: u32) -> [u8; FIT_BYTES] {
    let mut bytes = [0; FIT_BYTES];
    for (at, value) in [psi.shape, psi.scale, psi.shift].into_iter().enumerate() {
        bytes[8 * at..8 * at + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes[24] = psi.status as u8;
    bytes[25..29].copy_from_slice(&largest.to_le_bytes());
    bytes[29..].copy_from_slice(&count.to_le_bytes());
    bytes
}

fn unpacked(bytes: &[u8]) -> (PsiModel, f32, u32) {
    let eight = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let four = |at: usize| bytes[at..at + 4].try_into().expect("four bytes");
    let status = FitStatus::ALL.get(usize::from(bytes[24])).copied().unwrap_or(FitStatus::NotConverged);
    let psi = PsiModel { shape: eight(0), scale: eight(8), shift: eight(16), status };
    (psi, f32::from_le_bytes(four(25)), u32::from_le_bytes(four(29)))
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn values_of(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
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
