//! The way over all extreme vectors for each query, or over those near it.

#[cfg(test)]
mod laws;
mod near;

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::denied::Loss;
use crate::machine::ignored;
use crate::machine::lookup::Lookup;
use crate::machine::reach::Reach;
use crate::machine::support::{Best, QueryMemory, SupportSearch};
use evmachine_engine::device::{Device, DeviceError, SupportWork, Supports, WorkKind, unless_given_way};
use evmachine_engine::distance::{RowBlock, Tile};
use evmachine_engine::features::Features;
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::{Meter, Run, Stage};

pub use self::near::DecisionRecall;
pub(crate) use self::near::{Caller, NearVectors};

/// The extreme vectors in cells, if queries meet those of near cells alone; asked for if no device takes the queries.
pub(crate) type Near<'a> = dyn Fn() -> Result<Option<&'a NearVectors>, RunError> + Sync + 'a;

/// Extreme vectors on the way: all of them, or those of a cell.
pub(crate) struct SweptVectors<'a> {
    search: SupportSearch<'a>,
    /// The class of each of its ranges; `None` where they are the classes.
    classes: Option<&'a [u32]>,
}

impl<'a> SweptVectors<'a> {
    /// All of them, the `fused` largest supports of each class being wanted.
    pub(crate) fn all(lookup: &'a Lookup, fused: usize) -> Self {
        Self { search: lookup.search(fused), classes: None }
    }
}

impl SweptVectors<'_> {
    /// As [`SupportSearch::offer`].
    pub(crate) fn offer(
        &self,
        first: usize,
        ranks: &[f32],
        metric: &Metric,
        best: &mut [f64],
        scratch: &mut QueryMemory,
    ) {
        let distance_of = |rank| metric.distance_of_rank(rank);
        let Some(classes) = self.classes else {
            return self.search.offer(first, ranks, distance_of, best, scratch);
        };
        let fused = self.search.fused;
        let of = |class: u32| class as usize * fused..(class as usize + 1) * fused;
        let mut here: Vec<f64> = classes.iter().flat_map(|&class| &best[of(class)]).copied().collect();
        self.search.offer(first, ranks, distance_of, &mut here, scratch);
        for (&class, here) in classes.iter().zip(here.chunks_exact(fused)) {
            best[of(class)].copy_from_slice(here);
        }
    }

    /// As [`SupportSearch::offer_best`].
    pub(crate) fn offer_best(
        &self,
        first: usize,
        ranks: &[f32],
        metric: &Metric,
        best: &mut Best,
        scratch: &mut QueryMemory,
    ) {
        let distance_of = |rank| metric.distance_of_rank(rank);
        let Some(classes) = self.classes else {
            return self.search.offer_best(first, ranks, distance_of, best, scratch);
        };
        // Cells come in no order of classes, so what is equal may be of an earlier one.
        let mut here = Best { support: best.support.next_down(), ..*best };
        self.search.offer_best(first, ranks, distance_of, &mut here, scratch);
        if here.support >= best.support {
            best.take(Best { class: classes[here.class] as usize, ..here });
        }
    }
}

/// What is gathered for a query on the way over the extreme vectors.
pub(crate) struct Sweep<A, O, M, D> {
    /// Before the first of them.
    pub(crate) start: A,
    /// Takes in extreme vectors of a part, from a first one on, at the given ranks.
    pub(crate) offer: O,
    /// Takes in what was gathered over later ones. What comes out does not depend on where they were divided.
    pub(crate) merge: M,
    /// How many of each class a device is asked for, or for the one largest of all; and what was gathered for a query, from
    /// what it found.
    pub(crate) fused: Option<usize>,
    pub(crate) found: D,
}

impl<A, O, M, D> Sweep<A, O, M, D>
where
    A: Clone + Send + Sync,
    O: Fn(&SweptVectors<'_>, usize, &[f32], &mut A, &mut QueryMemory) + Sync,
    M: Fn(&mut A, &A) + Sync,
    D: Sync,
{
    /// For each row of the block, with the extreme vectors in so many parts, one for a thread; with the rank of the nearest
    /// of them where there are ignored samples to compare it with.
    fn block(
        &self,
        run: &Run<'_>,
        lookup: &Lookup,
        block: &RowBlock,
        rows: usize,
        parts: usize,
    ) -> Result<Vec<(A, f32)>, RunError> {
        let count = lookup.columns.len();
        let compares = lookup.ignored.is_some() || !lookup.denied.is_empty();
        let whole = SweptVectors::all(lookup, self.kept());
        let width = count.div_ceil(parts).next_multiple_of(run.tile_columns());
        let starts: Vec<usize> = (0..count).step_by(width).collect();
        let part = |part: usize| -> Result<Vec<(A, f32)>, RunError> {
            let end = (part + width).min(count);
            let mut gathered = vec![(self.start.clone(), f32::INFINITY); rows];
            let (mut tile, mut scratch) = (Tile::default(), QueryMemory::default());
            for start in (part..end).step_by(run.tile_columns()) {
                let columns = start..(start + run.tile_columns()).min(end);
                lookup.columns.ranks(block, columns, &mut tile)?;
                for (row, (gathered, nearest)) in gathered.iter_mut().enumerate() {
                    (self.offer)(&whole, start, tile.row(row), gathered, &mut scratch);
                    if compares {
                        *nearest = tile.row(row).iter().copied().fold(*nearest, f32::min);
                    }
                }
            }
            Ok(gathered)
        };
        let found: Result<Vec<Vec<(A, f32)>>, RunError> = starts.into_par_iter().map(part).collect();
        let merged = found?.into_iter().reduce(|mut all, later| {
            for ((all, nearest), (later, other)) in all.iter_mut().zip(&later) {
                (self.merge)(all, later);
                *nearest = nearest.min(*other);
            }
            all
        });
        Ok(merged.unwrap_or_else(|| vec![(self.start.clone(), f32::INFINITY); rows]))
    }

    /// As [`block`](Self::block), for the extreme vectors near each row.
    fn near_block(
        &self,
        run: &Run<'_>,
        near: &NearVectors,
        points: &Points<'_>,
        rows: &[usize],
    ) -> Result<Vec<(A, f32)>, RunError> {
        let mut gathered = vec![(self.start.clone(), f32::INFINITY); rows.len()];
        near.meet(run, (points, rows), self.kept(), |row, part, first, ranks, scratch| {
            let (gathered, nearest) = &mut gathered[row];
            (self.offer)(part, first, ranks, gathered, scratch);
            *nearest = ranks.iter().copied().fold(*nearest, f32::min);
        })?;
        Ok(gathered)
    }

    /// How many of each class are kept.
    fn kept(&self) -> usize {
        self.fused.unwrap_or(1)
    }
}

impl Machine {
    /// Sweeps over all extreme vectors for each query, on many threads or on a device, and collects what `each` makes of a
    /// query's number, what it loses, and what was gathered.
    pub(crate) fn sweep<A, R, O, M, D>(
        &self,
        run: &Run<'_>,
        (queries, near): (&Features<'_>, &Near<'_>),
        sweep: &Sweep<A, O, M, D>,
        each: impl Fn(usize, &Loss, &A) -> R + Sync,
    ) -> Result<Vec<R>, RunError>
    where
        A: Clone + Send + Sync,
        R: Send,
        O: Fn(&SweptVectors<'_>, usize, &[f32], &mut A, &mut QueryMemory) + Sync,
        M: Fn(&mut A, &A) + Sync,
        D: Fn(&Supports, usize) -> A + Sync,
    {
        let points = self.query_points(queries)?;
        let lookup = self.lookup();
        let swept = Swept { evm: self, run, points: &points, reach: lookup.reach()? };
        let all: Vec<usize> = (0..points.len()).collect();
        let meter = run.meter(Stage::Predict, all.len());
        let pairs = (all.len() as u64).saturating_mul(lookup.columns.len() as u64);
        let device = run.device_for(WorkKind::Supports, pairs.saturating_mul(self.dimensions as u64));
        if let Some(device) = device.filter(|_| !matches!(self.params.metric, Metric::Custom(_))) {
            let found = swept.by_device(device, &meter, sweep, &each)?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        lookup.columns.prepare();
        let block_rows = run.block_rows(all.len());
        if let Some(near) = near()? {
            let order = near.order(&meter, &points, &all)?;
            let blocks: Result<Vec<Vec<(usize, R)>>, RunError> = order
                .par_chunks(block_rows)
                .map(|rows| {
                    meter.check()?;
                    let found = sweep.near_block(run, near, &points, rows)?;
                    let results = swept
                        .finish(rows, &found, |row, loss: &Loss, found: &A| (row, each(row, loss, found)))?;
                    meter.advance(rows.len())?;
                    Ok(results)
                })
                .collect();
            let mut results: Vec<(usize, R)> = blocks?.into_iter().flatten().collect();
            results.sort_unstable_by_key(|(row, _)| *row);
            return Ok(results.into_iter().map(|(_, result)| result).collect());
        }
        // A block that is alone is shared by all threads.
        let parts = if all.len() <= block_rows { rayon::current_num_threads() } else { 1 };
        let blocks: Result<Vec<Vec<R>>, RunError> = all
            .par_chunks(block_rows)
            .map(|rows| {
                meter.check()?;
                let block = lookup.columns.block(&points, rows);
                let found = sweep.block(run, lookup, &block, rows.len(), parts)?;
                let results = swept.finish(rows, &found, &each)?;
                meter.advance(rows.len())?;
                Ok(results)
            })
            .collect();
        Ok(blocks?.into_iter().flatten().collect())
    }
}

/// Queries on their way.
struct Swept<'a> {
    evm: &'a Machine,
    run: &'a Run<'a>,
    points: &'a Points<'a>,
    reach: Option<&'a Reach>,
}

impl Swept<'_> {
    /// Takes off what lies beyond reach or nearer to an ignored sample or a denial, and hands the rest on.
    fn finish<A, R>(
        &self,
        rows: &[usize],
        found: &[(A, f32)],
        each: impl Fn(usize, &Loss, &A) -> R,
    ) -> Result<Vec<R>, RunError> {
        let mut falls = match self.reach {
            Some(reach) => reach.falls(&self.evm.params.metric, self.points, rows)?,
            None => vec![0.0; rows.len()],
        };
        if let Some(strangers) = self.evm.nearest_ignored(self.points, rows, self.run.tile_columns())? {
            for ((fall, (stranger, _)), (_, nearest)) in falls.iter_mut().zip(strangers).zip(found) {
                *fall += if stranger <= *nearest { ignored::FALL } else { 0.0 };
            }
        }
        let mut losses: Vec<Loss> = falls.into_iter().map(|fall| Loss { fall, denied: Vec::new() }).collect();
        for (class, denials) in self.evm.nearest_denied(self.points, rows, self.run.tile_columns())? {
            for ((loss, (denial, _)), (_, nearest)) in losses.iter_mut().zip(denials).zip(found) {
                if denial <= *nearest {
                    loss.denied.push(class);
                }
            }
        }
        Ok(rows
            .iter()
            .zip(&losses)
            .zip(found)
            .map(|((&row, loss), (found, _))| each(row, loss, found))
            .collect())
    }

    /// As [`Machine::sweep`], where a device gathers; `None` where it gave way.
    fn by_device<A, R, O, M, D>(
        &self,
        device: &dyn Device,
        meter: &Meter<'_>,
        sweep: &Sweep<A, O, M, D>,
        each: impl Fn(usize, &Loss, &A) -> R + Sync,
    ) -> Result<Option<Vec<R>>, RunError>
    where
        A: Send + Sync,
        R: Send,
        O: Sync,
        M: Sync,
        D: Fn(&Supports, usize) -> A + Sync,
    {
        let evm = self.evm;
        let all: Vec<usize> = (0..self.points.len()).collect();
        let watch = |rows| {
            if meter.advance(rows).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let work = SupportWork {
            metric: &evm.params.metric,
            dimensions: evm.dimensions,
            queries: self.points,
            model: evm.support_model(),
            fused: sweep.fused,
            watch: &watch,
        };
        let mut results: Vec<R> = Vec::with_capacity(all.len());
        let mut halted = None;
        let mut deliver = |supports: &Supports| {
            let first = results.len();
            let rows = &all[first..first + supports.nearest.len()];
            let block = self.run.block_rows(rows.len());
            let blocks: Result<Vec<Vec<R>>, RunError> = rows
                .par_chunks(block)
                .map(|rows| {
                    let rank =
                        |row: usize| evm.params.metric.largest_rank_within(supports.nearest[row - first]);
                    let found: Vec<(A, f32)> =
                        rows.iter().map(|&row| ((sweep.found)(supports, row - first), rank(row))).collect();
                    self.finish(rows, &found, &each)
                })
                .collect();
            match blocks {
                Ok(blocks) => {
                    results.extend(blocks.into_iter().flatten());
                    Ok(())
                }
                Err(halt) => {
                    halted = Some(halt);
                    Err(DeviceError::Stopped)
                }
            }
        };
        let ended = device.supports(&work, &mut deliver);
        match halted {
            Some(halt) => Err(halt),
            None => Ok(unless_given_way(device, ended)?.map(|()| results)),
        }
    }
}
