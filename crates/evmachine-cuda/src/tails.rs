//! The smallest distances of each row to columns of other classes.

use std::ops::ControlFlow;

use cudarc::driver::CudaSlice;
use evmachine_engine::device::{DeviceError, Source, TailWork, Tails, Vectors};

use crate::engine::Engine;
use crate::error::Failure;
use crate::panel::{Panel, Ranks};
use crate::ranks::{Pairs, Points, RankKind};
use crate::screen;

/// Of the memory, the share that ranks may take.
const SHARE: usize = 2;
/// Bytes of ranks beyond which a stripe gets no faster.
const STRIPE: usize = 8 << 30;

/// What is measured against.
pub(crate) struct Columns<'a> {
    pub(crate) points: &'a Points,
    pub(crate) classes: &'a CudaSlice<u32>,
}

/// Rows whose tails are wanted, on the device; where they are measured against each other, with the columns behind them.
pub(crate) struct TailRows {
    /// How many they are.
    pub(crate) count: usize,
    pub(crate) points: Points,
    pub(crate) classes: CudaSlice<u32>,
    /// By row, the values of its tail.
    pub(crate) sizes: CudaSlice<u32>,
    bounds: Option<CudaSlice<f32>>,
}

/// Some of the rows.
struct Chosen<'a> {
    rows: &'a dyn Source,
    some: &'a [usize],
    dimensions: usize,
}

impl Source for Chosen<'_> {
    fn count(&self) -> usize {
        self.some.len()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        for (&row, out) in self.some[first..].iter().zip(out.chunks_exact_mut(self.dimensions)) {
            self.rows.write(row, out);
        }
    }
}

/// What is wanted.
pub(crate) struct TailRequest<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) work: &'a TailWork<'a>,
    pub(crate) kind: RankKind,
    pub(crate) rows: &'a TailRows,
    pub(crate) columns: Columns<'a>,
    /// Values of the longest tail.
    pub(crate) longest: usize,
}

pub(crate) fn tails(engine: &Engine, work: &TailWork<'_>) -> Result<Tails, Failure> {
    let mut found = Tails::default();
    if work.rows.classes.is_empty() {
        return Ok(found);
    }
    let rows = TailRows::new(engine, work, work.rows, work.bounds)?;
    let others = if work.among_themselves { None } else { Some(others(engine, work)?) };
    let (points, classes) =
        others.as_ref().map_or((&rows.points, &rows.classes), |(points, classes)| (points, classes));
    let longest = work.rows.classes.iter().map(|&class| work.sizes[class as usize]).max().unwrap_or(0);
    let kind = RankKind::new(work.metric, work.dimensions);
    let wanted =
        TailRequest { engine, work, kind, rows: &rows, columns: Columns { points, classes }, longest };
    if screen::pays(&wanted) {
        screen::tails(&wanted, &mut found)?;
    } else if work.among_themselves && wanted.square_bytes() <= engine.memory()? / SHARE {
        wanted.by_square(&mut found)?;
    } else {
        wanted.by_stripes(&mut found)?;
    }
    Ok(found)
}

impl TailRows {
    fn new(
        engine: &Engine,
        work: &TailWork<'_>,
        rows: Vectors<'_>,
        bounds: Option<&[f32]>,
    ) -> Result<Self, Failure> {
        let sizes: Vec<u32> = rows.classes.iter().map(|&class| work.sizes[class as usize] as u32).collect();
        let behind = if work.among_themselves { work.columns } else { &[] };
        let all = || std::iter::once(&rows).chain(behind);
        let values: Vec<&dyn Source> = all().map(|part| part.values).collect();
        let classes: Vec<&[u32]> = all().map(|part| part.classes).collect();
        Ok(Self {
            count: rows.classes.len(),
            points: Points::new(engine, &values, work.dimensions)?,
            classes: engine.upload(&classes)?,
            sizes: engine.upload(&[&sizes])?,
            bounds: bounds.map(|bounds| engine.upload(&[bounds])).transpose()?,
        })
    }
}

/// Columns that are not the rows.
fn others(engine: &Engine, work: &TailWork<'_>) -> Result<(Points, CudaSlice<u32>), Failure> {
    let values: Vec<&dyn Source> = work.columns.iter().map(|part| part.values).collect();
    let classes: Vec<&[u32]> = work.columns.iter().map(|part| part.classes).collect();
    Ok((Points::new(engine, &values, work.dimensions)?, engine.upload(&classes)?))
}

impl<'a> TailRequest<'a> {
    fn square_bytes(&self) -> usize {
        let stride = Pairs::stride(self.columns.points.count);
        self.rows.count.saturating_mul(stride).saturating_mul(size_of::<f32>())
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.rows.bounds.is_some()
    }

    pub(crate) fn panel(&self, rows: usize) -> Result<Panel<'a>, Failure> {
        let work = self.work;
        Panel::new(self.engine, (work.fit, work.keep), self.kind.ranks_are_squares(), self.longest, rows)
    }

    fn pairs(&self) -> Pairs<'_> {
        Pairs {
            engine: self.engine,
            kind: self.kind,
            rows: &self.rows.points,
            columns: self.columns.points,
            row_classes: Some(&self.rows.classes),
            column_classes: Some(self.columns.classes),
            bounds: self.rows.bounds.as_ref(),
        }
    }

    /// Tells how many rows are finished.
    pub(crate) fn advance(&self, rows: usize) -> Result<(), Failure> {
        match (self.work.watch)(rows) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(DeviceError::Stopped.into()),
        }
    }

    /// All ranks at once, each pair of rows measured once.
    fn by_square(&self, found: &mut Tails) -> Result<(), Failure> {
        let (count, columns) = (self.rows.count, self.columns.points.count);
        let stride = Pairs::stride(columns);
        let matrix = self.pairs().square(count, &self.rows.classes)?;
        let panel = self.panel(count)?;
        for first in (0..count).step_by(panel.rows()) {
            let rows = panel.rows().min(count - first);
            let address = self.engine.address(&matrix, first * stride);
            panel.select(Ranks { address, stride, columns, wanted: &self.rows.sizes, first }, rows)?;
            panel.finish(rows, found)?;
            self.advance(rows)?;
        }
        Ok(())
    }

    /// As many rows at once as memory allows.
    fn by_stripes(&self, found: &mut Tails) -> Result<(), Failure> {
        let pairs = self.pairs();
        let (count, columns) = (self.rows.count, pairs.columns.count);
        let bytes = (self.engine.memory()? / SHARE).min(STRIPE);
        let panel = self.panel((bytes / (size_of::<f32>() * columns)).clamp(1, count))?;
        let height = panel.rows();
        let stripe = self.engine.room::<f32>(height * columns)?;
        for first in (0..count).step_by(height) {
            let rows = height.min(count - first);
            pairs.stripe((first, rows), &stripe)?;
            let address = self.engine.address(&stripe, 0);
            panel
                .select(Ranks { address, stride: columns, columns, wanted: &self.rows.sizes, first }, rows)?;
            panel.finish(rows, found)?;
            self.advance(rows)?;
        }
        Ok(())
    }

    /// The tails of some of the rows once more, against all columns, of which nobody is told.
    pub(crate) fn again(&self, some: &[usize]) -> Result<Tails, Failure> {
        let work = self.work;
        let values = Chosen { rows: work.rows.values, some, dimensions: work.dimensions };
        let classes: Vec<u32> = some.iter().map(|&row| work.rows.classes[row]).collect();
        let rows = Vectors { values: &values, classes: &classes };
        let quiet = |_: usize| ControlFlow::Continue(());
        let work = TailWork { watch: &quiet, rows, among_themselves: false, bounds: None, ..*work };
        let rows = TailRows::new(self.engine, &work, rows, None)?;
        let columns = Columns { ..self.columns };
        let mut found = Tails::default();
        TailRequest { work: &work, rows: &rows, columns, ..*self }.by_stripes(&mut found)?;
        Ok(found)
    }
}
