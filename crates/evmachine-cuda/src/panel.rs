//! A panel of rows: the smallest of their ranks, and the fits of these.
#![allow(unsafe_code)]

use cudarc::driver::CudaSlice;
use evmachine_engine::device::{FitRule, Tails};
use evmachine_engine::{FitStatus, PsiModel, SHAPE_CAP, TailModel};
use rayon::prelude::*;

use crate::address::Address;
use crate::engine::Engine;
use crate::error::Failure;
use crate::kernels::{FitTails, SelectSmallest};

/// Threads that fit a tail together.
const THREADS: u32 = 256;
/// Blocks of them on a multiprocessor.
const BLOCKS: u32 = 8;
/// Bytes of the tails of a panel.
const BYTES: usize = 2 << 30;

/// Room for the tails of so many rows at once.
pub(crate) struct Panel<'a> {
    engine: &'a Engine,
    fit: Option<FitRule>,
    keep: bool,
    squares: bool,
    /// Values of the longest tail.
    length: usize,
    rows: usize,
    tails: CudaSlice<f32>,
    pub(crate) counts: CudaSlice<u32>,
    pub(crate) largest: CudaSlice<f32>,
    scratch: CudaSlice<f64>,
    parameters: [CudaSlice<f64>; 3],
    statuses: CudaSlice<u32>,
}

/// Ranks of rows, `stride` apart, of which each wants some.
#[derive(Clone, Copy)]
pub(crate) struct Ranks<'a> {
    /// Where the first of the panel lies.
    pub(crate) address: Address<f32>,
    pub(crate) stride: usize,
    pub(crate) columns: usize,
    /// By row, and where the first of the panel is among them.
    pub(crate) wanted: &'a CudaSlice<u32>,
    pub(crate) first: usize,
}

impl<'a> Panel<'a> {
    /// For up to `rows` rows, fewer if tails are long.
    pub(crate) fn new(
        engine: &'a Engine,
        (fit, keep): (Option<FitRule>, bool),
        squares: bool,
        length: usize,
        rows: usize,
    ) -> Result<Self, Failure> {
        let rows = rows.min(BYTES / (4 * length.max(1))).max(1);
        let blocks = (engine.processors * BLOCKS) as usize;
        let scratch = if fit.is_some() { blocks * length } else { 0 };
        Ok(Self {
            engine,
            fit,
            keep,
            squares,
            length,
            rows,
            tails: engine.room(rows * length)?,
            counts: engine.room(rows)?,
            largest: engine.room(rows)?,
            scratch: engine.room(scratch)?,
            parameters: [engine.room(rows)?, engine.room(rows)?, engine.room(rows)?],
            statuses: engine.room(rows)?,
        })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Selects the smallest ranks of so many rows.
    pub(crate) fn select(&self, ranks: Ranks<'_>, rows: usize) -> Result<(), Failure> {
        let engine = self.engine;
        let select = SelectSmallest {
            values: ranks.address,
            stride: ranks.stride as u64,
            columns: ranks.columns as u32,
            wanted: engine.address(ranks.wanted, ranks.first),
            ranks_are_squares: u32::from(self.squares),
            tails: engine.address(&self.tails, 0),
            tail_stride: self.length as u64,
            counts: engine.address(&self.counts, 0),
            largest: engine.address(&self.largest, 0),
        };
        // SAFETY: `rows` rows of ranks lie at the address, and the panel has room for their tails, none of which is longer than
        // `length`.
        unsafe { engine.launch(((rows as u32, 1), (512, 1), 0), &select) }
    }

    /// Fits what was selected, and hands over what was asked for.
    pub(crate) fn finish(&self, rows: usize, out: &mut Tails) -> Result<(), Failure> {
        let engine = self.engine;
        if let Some(rule) = self.fit {
            let [shapes, scales, shifts] = &self.parameters;
            let fit = FitTails {
                tails: engine.address(&self.tails, 0),
                stride: self.length as u64,
                counts: engine.address(&self.counts, 0),
                rows: rows as u32,
                multiplier: rule.multiplier,
                model: number(rule.model),
                fixed_shape: rule.fixed_shape.unwrap_or(0.0),
                shape_cap: SHAPE_CAP,
                scratch: engine.address(&self.scratch, 0),
                shapes: engine.address(shapes, 0),
                scales: engine.address(scales, 0),
                shifts: engine.address(shifts, 0),
                statuses: engine.address(&self.statuses, 0),
            };
            let blocks = (rows as u32).min(engine.processors * BLOCKS);
            // SAFETY: tails and counts are those of `rows` rows; every block has `length` values of scratch.
            unsafe { engine.launch(((blocks, 1), (THREADS, 1), 0), &fit) }?;
            let (shapes, scales) = (engine.download(shapes, rows)?, engine.download(scales, rows)?);
            let (shifts, statuses) = (engine.download(shifts, rows)?, engine.download(&self.statuses, rows)?);
            let fits = shapes.into_iter().zip(scales).zip(shifts).zip(statuses);
            out.psi.extend(fits.map(|(((shape, scale), shift), status)| {
                let status = *FitStatus::ALL.get(status as usize)?;
                Some(PsiModel { shape, scale, shift, status })
            }));
        }
        let counts = engine.download(&self.counts, rows)?;
        let largest = engine.download(&self.largest, rows)?;
        out.largest.extend(largest.iter().map(|&rank| if self.squares { rank.sqrt() } else { rank }));
        if self.keep {
            let mut tails = engine.download(&self.tails, rows * self.length)?;
            let rows = tails.par_chunks_exact_mut(self.length.max(1)).zip(&counts);
            rows.for_each(|(tail, &count)| tail[..count as usize].sort_unstable_by(f32::total_cmp));
            let sorted = tails.chunks_exact(self.length.max(1)).zip(&counts);
            sorted.for_each(|(tail, &count)| out.values.extend_from_slice(&tail[..count as usize]));
        }
        out.counts.extend(counts);
        Ok(())
    }
}

/// The number of a model among the kernels.
pub(crate) fn number(model: TailModel) -> u32 {
    match model {
        TailModel::Weibull => 0,
        TailModel::Libmr => 1,
        TailModel::Gumbel => 2,
    }
}
