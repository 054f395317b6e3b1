//! The largest supports of queries.
#![allow(unsafe_code)]

use std::ops::ControlFlow;

use cudarc::driver::CudaSlice;
use evmachine::TailModel;
use evmachine::device::{CurveValues, Deliver, DeviceError, SupportWork, Supports};

use crate::engine::Argument::{Address, Count, Long};
use crate::engine::Engine;
use crate::error::Failure;
use crate::panel::number;
use crate::ranks::{Kind, Pairs, Points};

/// Of the memory, the share that ranks may take.
const SHARE: usize = 2;
/// Bytes of ranks beyond which nothing gets faster, and queries of a part.
const RANKS: usize = 4 << 30;
const QUERIES: usize = 1 << 16;
/// Queries for which a block looks up curves once, as the kernel has it.
const TOGETHER: u32 = 4;

pub(crate) fn supports(
    engine: &Engine,
    work: &SupportWork<'_>,
    deliver: &mut Deliver<'_>,
) -> Result<(), Failure> {
    let count = work.queries.len() / work.dimensions;
    if count == 0 {
        return Ok(());
    }
    let vectors = Points::new(engine, &[work.vectors], work.dimensions)?;
    let curves = Curves::new(engine, work)?;
    let bytes = (engine.memory()? / SHARE).min(RANKS);
    let height = (bytes / (size_of::<f32>() * vectors.count)).clamp(1, QUERIES.min(count));
    let ranks = engine.room::<f32>(height * vectors.count)?;
    let kind = Kind::new(work.metric, work.dimensions);
    for part in work.queries.chunks(height * work.dimensions) {
        let queries = Points::new(engine, &[part], work.dimensions)?;
        let pairs = Pairs {
            engine,
            kind,
            rows: &queries,
            columns: &vectors,
            row_classes: None,
            column_classes: None,
            bounds: None,
        };
        let mut found = match work.fused {
            None => curves.best(work, &pairs, &ranks)?,
            Some(fused) => curves.largest(work, fused, &pairs, &ranks)?,
        };
        if kind.ranks_are_squares() {
            found.nearest.iter_mut().for_each(|rank| *rank = rank.sqrt());
        }
        deliver(&found)?;
        if (work.watch)(queries.count) == ControlFlow::Break(()) {
            return Err(DeviceError::Stopped.into());
        }
    }
    Ok(())
}

/// The curves of the extreme vectors.
struct Curves<'a> {
    engine: &'a Engine,
    count: usize,
    /// Three values each.
    exact: CudaSlice<f64>,
    /// Four values each.
    rough: CudaSlice<f32>,
    /// Where each class begins, and where the last one ends.
    first: CudaSlice<u32>,
}

impl<'a> Curves<'a> {
    fn new(engine: &'a Engine, work: &SupportWork<'_>) -> Result<Self, Failure> {
        let exact: Vec<f64> =
            work.curves.iter().flat_map(|curve| [curve.shape, curve.inverse_scale, curve.end]).collect();
        let rough: Vec<f32> = work.curves.iter().flat_map(|curve| rough(work.model, curve)).collect();
        let ends = work.classes.iter().map(|class| class.end as u32);
        let first: Vec<u32> = std::iter::once(0).chain(ends).collect();
        Ok(Self {
            engine,
            count: work.curves.len(),
            exact: engine.upload(&[&exact[..]])?,
            rough: engine.upload(&[&rough[..]])?,
            first: engine.upload(&[&first[..]])?,
        })
    }

    /// The one largest support of each query, and the rank of its nearest extreme vector.
    fn best(
        &self,
        work: &SupportWork<'_>,
        pairs: &Pairs<'_>,
        values: &CudaSlice<f32>,
    ) -> Result<Supports, Failure> {
        let (engine, queries) = (self.engine, pairs.rows.count);
        pairs.raw_stripe((0, queries), values)?;
        let (supports, places) = (engine.room::<f64>(queries)?, engine.room::<u32>(queries)?);
        let nearest = engine.room::<f32>(queries)?;
        let arguments = [
            Address(engine.address(values, 0)),
            Long(self.count as u64),
            Count(u32::from(pairs.kind.ranks_are_squares())),
            Count(number(work.model)),
            Count(pairs.kind.number()),
            Address(pairs.rows.at(engine, 0)),
            Address(engine.address(&pairs.rows.lengths, 0)),
            Address(pairs.columns.at(engine, 0)),
            Address(engine.address(&pairs.columns.lengths, 0)),
            Count(work.dimensions as u32),
            Count(queries as u32),
            Address(engine.address(&self.exact, 0)),
            Address(engine.address(&self.rough, 0)),
            Address(engine.address(&supports, 0)),
            Address(engine.address(&places, 0)),
            Address(engine.address(&nearest, 0)),
        ];
        let blocks = (queries as u32).div_ceil(TOGETHER);
        // SAFETY: a value for each query and curve, and a place for each query's results.
        unsafe { engine.launch(&engine.kernels.best_support, ((blocks, 1), (256, 1), 0), &arguments) }?;
        Ok(Supports {
            values: engine.download(&supports, queries)?,
            places: engine.download(&places, queries)?,
            nearest: engine.download(&nearest, queries)?,
        })
    }

    /// The largest supports of each class of each query, and the rank of its nearest extreme vector.
    fn largest(
        &self,
        work: &SupportWork<'_>,
        fused: usize,
        pairs: &Pairs<'_>,
        ranks: &CudaSlice<f32>,
    ) -> Result<Supports, Failure> {
        let (engine, queries) = (self.engine, pairs.rows.count);
        pairs.stripe((0, queries), ranks)?;
        let count = queries * work.classes.len() * fused;
        let (values, nearest) = (engine.room::<f64>(count)?, engine.room::<f32>(queries)?);
        let arguments = [
            Address(engine.address(ranks, 0)),
            Long(self.count as u64),
            Count(u32::from(pairs.kind.ranks_are_squares())),
            Count(number(work.model)),
            Address(engine.address(&self.exact, 0)),
            Address(engine.address(&self.first, 0)),
            Count(work.classes.len() as u32),
            Count(fused as u32),
            Address(engine.address(&values, 0)),
            Address(engine.address(&nearest, 0)),
        ];
        // SAFETY: a rank for each query and curve, and `fused` values for each class of each query.
        unsafe { engine.launch(&engine.kernels.supports, ((queries as u32, 1), (256, 1), 0), &arguments) }?;
        Ok(Supports {
            values: engine.download(&values, count)?,
            places: Vec::new(),
            nearest: engine.download(&nearest, queries)?,
        })
    }
}

/// A curve in `f32`, as `rough_support` of the kernels takes it.
fn rough(model: TailModel, curve: &CurveValues) -> [f32; 4] {
    /// What rounding does to a logarithm and to its sum with another.
    const ROUNDING: f64 = 1e-6;
    let values = match model {
        TailModel::Weibull | TailModel::Libmr => {
            let shape = curve.shape * std::f64::consts::LN_2;
            let scale = curve.inverse_scale.log2();
            let level = if model == TailModel::Weibull { -scale } else { scale };
            [shape, level, curve.end, shape * ROUNDING * (4.0 + level.abs())]
        }
        TailModel::Gumbel => [curve.shape, curve.inverse_scale, 0.0, curve.shape * ROUNDING],
    };
    values.map(|value| value as f32)
}
