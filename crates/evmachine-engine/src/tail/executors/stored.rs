//! Fits of tails that were found in blocks: kept in the scratch, so that a run that finds them does not do them again.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::blocks::Blocks;
use crate::error::RunError;
use crate::plan::Plan;
use crate::psi::FitRule;
use crate::psi::weibull::{Workspace, fit_tail};
use crate::psi::{FitStatus, PsiModel};
use crate::scratch::{self, Scratch};
use crate::tail::Problem;
use crate::tail::meeting::Found;
use crate::tail::memory::OPEN_TAIL;
use crate::tail::memory::TailMemory;

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
        let blocks = Blocks::of(plan, self.problem, Some(self.scratch))?;
        let rows = self.problem.rows.indices.len();
        let mut stored = Stored { fits: Vec::with_capacity(rows), counts: Vec::new(), blocks: Vec::new() };
        blocks.find(
            |block| self.found_before(&blocks.rows, block),
            |block, found| self.fit(block, &blocks.rows, found),
            |block, fits| self.take(&fits, &blocks.rows[block], &mut stored),
        )?;
        stored.blocks = blocks.rows;
        Ok(stored)
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

/// What is kept of a block, of so many.
fn of_block(what: &str, count: usize, block: usize) -> String {
    format!("{what}-{count}-{block}")
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
