//! The largest supports of queries.
#![allow(unsafe_code)]

use std::ops::ControlFlow;

use cudarc::driver::{CudaEvent, CudaSlice};
use evmachine_engine::TailModel;
use evmachine_engine::device::{
    CurveValues, Deliver, DeviceError, Part, SupportModel, SupportWork, Supports,
};

use crate::engine::Engine;
use crate::error::Failure;
use crate::kernels::{BestSupport, Curve, LargestSupports, RoughCurve};
use crate::panel::number;
use crate::ranks::{Pairs, Points, RankKind};

/// Of the memory, the share that ranks and results may take.
const SHARE: usize = 2;
/// Bytes of ranks beyond which nothing gets faster, and queries of a part.
const RANKS: usize = 4 << 30;
const QUERIES: usize = 1 << 16;
/// Queries for which a block looks up curves once, as the kernel has it.
const TOGETHER: u32 = 4;

/// While the device works on a part, the processor finishes the part before it and prepares the part behind it.
pub(crate) fn supports(
    engine: &Engine,
    work: &SupportWork<'_>,
    deliver: &mut Deliver<'_>,
) -> Result<(), Failure> {
    let count = work.queries.count();
    let model = engine.models.get(engine, work)?;
    if count == 0 {
        return Ok(());
    }
    let (vectors, curves) = (&model.points, &model.curves);
    let bytes = (engine.memory()? / SHARE).min(RANKS);
    let results = work.fused.map_or(1, |fused| fused * work.model.classes.len());
    let each = size_of::<f32>() * vectors.count + 2 * size_of::<f64>() * results;
    let height = (bytes / each).clamp(1, QUERIES.min(count));
    let ranks = engine.room::<f32>(height * vectors.count)?;
    let kind = RankKind::new(work.metric, work.dimensions);
    let found = [FoundSupports::new(engine, height, results)?, FoundSupports::new(engine, height, results)?];
    let mut waiting: Option<(&FoundSupports, usize, CudaEvent)> = None;
    let mut hand_over = |(found, queries, ready): (&FoundSupports, usize, CudaEvent)| -> Result<(), Failure> {
        let mut supports = found.fetch(engine, queries, work.fused.is_none(), &ready)?;
        if kind.ranks_are_squares() {
            supports.nearest.iter_mut().for_each(|rank| *rank = rank.sqrt());
        }
        deliver(&supports)?;
        match (work.watch)(queries) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(DeviceError::Stopped.into()),
        }
    };
    for (first, found) in (0..count).step_by(height).zip(found.iter().cycle()) {
        let part = Part { source: work.queries, range: first..(first + height).min(count) };
        let queries = Points::new(engine, &[&part], work.dimensions)?;
        let pairs = Pairs {
            engine,
            kind,
            rows: &queries,
            columns: vectors,
            row_classes: None,
            column_classes: None,
            bounds: None,
        };
        match work.fused {
            None => curves.best(work, &pairs, &ranks, found)?,
            Some(fused) => curves.largest(work, fused, &pairs, &ranks, found)?,
        }
        if let Some(before) = waiting.replace((found, queries.count, engine.mark()?)) {
            hand_over(before)?;
        }
    }
    waiting.map_or(Ok(()), hand_over)
}

/// Room for what is found for the queries of a part.
struct FoundSupports {
    /// Supports of a query.
    each: usize,
    supports: CudaSlice<f64>,
    places: CudaSlice<u32>,
    nearest: CudaSlice<f32>,
}

impl FoundSupports {
    fn new(engine: &Engine, queries: usize, each: usize) -> Result<Self, Failure> {
        let (supports, places) = (engine.room(queries * each)?, engine.room(queries)?);
        Ok(Self { each, supports, places, nearest: engine.room(queries)? })
    }

    fn fetch(
        &self,
        engine: &Engine,
        queries: usize,
        places: bool,
        ready: &CudaEvent,
    ) -> Result<Supports, Failure> {
        Ok(Supports {
            values: engine.fetch(&self.supports, queries * self.each, ready)?,
            places: engine.fetch(&self.places, if places { queries } else { 0 }, ready)?,
            nearest: engine.fetch(&self.nearest, queries, ready)?,
        })
    }
}

/// The curves of the extreme vectors.
pub(crate) struct Curves {
    count: usize,
    exact: CudaSlice<Curve>,
    rough: CudaSlice<RoughCurve>,
    /// Where each class begins, and where the last one ends.
    first: CudaSlice<u32>,
}

impl Curves {
    pub(crate) fn new(engine: &Engine, model: &SupportModel) -> Result<Self, Failure> {
        let exact: Vec<Curve> =
            model.curves.iter().map(|curve| [curve.shape, curve.inverse_scale, curve.end]).collect();
        let rough: Vec<RoughCurve> =
            model.curves.iter().map(|curve| rough(model.tail_model, curve)).collect();
        let ends = model.classes.iter().map(|class| class.end as u32);
        let first: Vec<u32> = std::iter::once(0).chain(ends).collect();
        Ok(Self {
            count: model.curves.len(),
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
        found: &FoundSupports,
    ) -> Result<(), Failure> {
        let (engine, queries) = (pairs.engine, pairs.rows.count);
        pairs.raw_stripe((0, queries), values)?;
        let best = BestSupport {
            values: engine.address(values, 0),
            vectors: self.count as u64,
            ranks_are_squares: u32::from(pairs.kind.ranks_are_squares()),
            model: number(work.model.tail_model),
            kind: pairs.kind.number(),
            queries: pairs.rows.at(engine, 0),
            query_lengths: engine.address(&pairs.rows.lengths, 0),
            points: pairs.columns.at(engine, 0),
            lengths: engine.address(&pairs.columns.lengths, 0),
            dimensions: work.dimensions as u32,
            query_count: queries as u32,
            curves: engine.address(&self.exact, 0),
            rough: engine.address(&self.rough, 0),
            support: engine.address(&found.supports, 0),
            places: engine.address(&found.places, 0),
            nearest: engine.address(&found.nearest, 0),
        };
        let blocks = (queries as u32).div_ceil(TOGETHER);
        // SAFETY: a value for each query and curve, and a place for each query's results.
        unsafe { engine.launch(((blocks, 1), (256, 1), 0), &best) }
    }

    /// The largest supports of each class of each query, and the rank of its nearest extreme vector.
    fn largest(
        &self,
        work: &SupportWork<'_>,
        fused: usize,
        pairs: &Pairs<'_>,
        ranks: &CudaSlice<f32>,
        found: &FoundSupports,
    ) -> Result<(), Failure> {
        let (engine, queries) = (pairs.engine, pairs.rows.count);
        pairs.stripe((0, queries), ranks)?;
        let largest = LargestSupports {
            ranks: engine.address(ranks, 0),
            vectors: self.count as u64,
            ranks_are_squares: u32::from(pairs.kind.ranks_are_squares()),
            model: number(work.model.tail_model),
            curves: engine.address(&self.exact, 0),
            first: engine.address(&self.first, 0),
            classes: work.model.classes.len() as u32,
            fused: fused as u32,
            out: engine.address(&found.supports, 0),
            nearest: engine.address(&found.nearest, 0),
        };
        // SAFETY: a rank for each query and curve, and `fused` values for each class of each query.
        unsafe { engine.launch(((queries as u32, 1), (256, 1), 0), &largest) }
    }
}

/// A curve in `f32`, as `rough_support` of the kernels takes it.
fn rough(model: TailModel, curve: &CurveValues) -> RoughCurve {
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
