//! Ranks of pairs, which order them as distances do: squares for Euclidean distances, the distances themselves for others.
#![allow(unsafe_code)]

use cudarc::driver::CudaSlice;
use evmachine_engine::Metric;
use evmachine_engine::device::Source;

use crate::address::Address;
use crate::engine::{Digits, Engine, Tile};
use crate::error::Failure;
use crate::kernels::{Differences, Mirror, Squares, Stripe};

/// From so many dimensions on, Euclidean distances come from products, as on the processor.
const DIMENSIONS: usize = 32;
/// Columns of a tile: large enough for a product to run at its full speed.
pub(crate) const WIDTH: usize = 8192;

/// How ranks come about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankKind {
    /// `|a|^2 + |b|^2 - 2ab`
    Squared,
    /// `1 - ab`
    Cosine,
    /// Sums of squared or absolute differences.
    Differences { absolute: bool },
}

impl RankKind {
    pub(crate) fn new(metric: &Metric, dimensions: usize) -> Self {
        match metric {
            Metric::Cosine => Self::Cosine,
            Metric::Manhattan => Self::Differences { absolute: true },
            _ if dimensions < DIMENSIONS => Self::Differences { absolute: false },
            _ => Self::Squared,
        }
    }

    /// Its number among the kernels.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Squared => 0,
            Self::Cosine => 1,
            Self::Differences { .. } => 2,
        }
    }

    pub(crate) fn ranks_are_squares(self) -> bool {
        matches!(self, Self::Squared | Self::Differences { absolute: false })
    }
}

/// Vectors on the device.
pub(crate) struct Points {
    pub(crate) values: CudaSlice<f32>,
    /// The square of each one's length.
    pub(crate) lengths: CudaSlice<f32>,
    pub(crate) count: usize,
    pub(crate) dimensions: usize,
}

impl Points {
    pub(crate) fn new(engine: &Engine, sources: &[&dyn Source], dimensions: usize) -> Result<Self, Failure> {
        let values = engine.upload_vectors(sources, dimensions)?;
        let count = sources.iter().map(|source| source.count()).sum::<usize>();
        let lengths = engine.room(count)?;
        let squares = Squares {
            rows: engine.address(&values, 0),
            count: count as u32,
            dimensions: dimensions as u32,
            out: engine.address(&lengths, 0),
        };
        // SAFETY: `count` vectors lie at the first address, and there is room for as many lengths at the last.
        unsafe { engine.launch((((count as u32).div_ceil(8), 1), (256, 1), 0), &squares) }?;
        Ok(Self { values, lengths, count, dimensions })
    }

    pub(crate) fn at(&self, engine: &Engine, row: usize) -> Address<f32> {
        engine.address(&self.values, row * self.dimensions)
    }
}

/// Rows and columns of which ranks are wanted. Classes and bounds may be missing.
pub(crate) struct Pairs<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) kind: RankKind,
    pub(crate) rows: &'a Points,
    pub(crate) columns: &'a Points,
    pub(crate) row_classes: Option<&'a CudaSlice<u32>>,
    pub(crate) column_classes: Option<&'a CudaSlice<u32>>,
    /// Largest distances of interest, by row.
    pub(crate) bounds: Option<&'a CudaSlice<f32>>,
}

impl Pairs<'_> {
    /// Products or differences of a tile.
    pub(crate) fn tile(
        &self,
        (first_row, rows): (usize, usize),
        (first_column, columns): (usize, usize),
        out: Address<f32>,
        stride: usize,
    ) -> Result<(), Failure> {
        let (engine, dimensions) = (self.engine, self.rows.dimensions);
        let tile = Tile {
            rows: (self.rows.at(engine, first_row), rows),
            columns: (self.columns.at(engine, first_column), columns),
            out,
            stride,
        };
        let RankKind::Differences { absolute } = self.kind else {
            // SAFETY: the caller's tile lies within the points and within the memory at `out`.
            return unsafe { engine.product(&tile, dimensions, Digits::All) };
        };
        let differences = Differences {
            rows: tile.rows.0,
            row_count: rows as u32,
            columns: tile.columns.0,
            column_count: columns as u32,
            dimensions: dimensions as u32,
            absolute: u32::from(absolute),
            out,
            stride: stride as u64,
        };
        let blocks = ((columns as u32).div_ceil(64), (rows as u32).div_ceil(64));
        // SAFETY: as above.
        unsafe { engine.launch((blocks, (16, 16), 0), &differences) }
    }

    /// Some rows with all columns, at `out`, not finished.
    pub(crate) fn raw_stripe(
        &self,
        (first, rows): (usize, usize),
        out: &CudaSlice<f32>,
    ) -> Result<(), Failure> {
        let count = self.columns.count;
        for column in (0..count).step_by(WIDTH) {
            let columns = (column, WIDTH.min(count - column));
            self.tile((first, rows), columns, self.engine.address(out, column), count)?;
        }
        Ok(())
    }

    /// Ranks of some rows with all columns, at `out`.
    pub(crate) fn stripe(&self, (first, rows): (usize, usize), out: &CudaSlice<f32>) -> Result<(), Failure> {
        let count = self.columns.count;
        self.raw_stripe((first, rows), out)?;
        self.finish((first, rows), (0, count), self.engine.address(out, 0), count)
    }

    /// Makes ranks of what [`tile`](Self::tile) has left of some rows and columns.
    fn finish(
        &self,
        (first, rows): (usize, usize),
        (column, columns): (usize, usize),
        out: Address<f32>,
        stride: usize,
    ) -> Result<(), Failure> {
        let engine = self.engine;
        let stripe = Stripe {
            tile: out,
            stride: stride as u64,
            columns: columns as u32,
            rows: rows as u32,
            kind: self.kind.number(),
            row_points: self.rows.at(engine, first),
            row_lengths: engine.address(&self.rows.lengths, first),
            row_classes: engine.address_of_any(self.row_classes, first),
            bounds: engine.address_of_any(self.bounds, first),
            ranks_are_squares: u32::from(self.kind.ranks_are_squares()),
            column_points: self.columns.at(engine, column),
            column_lengths: engine.address(&self.columns.lengths, column),
            column_classes: engine.address_of_any(self.column_classes, column),
            dimensions: self.rows.dimensions as u32,
        };
        let blocks = ((columns as u32).div_ceil(256), (rows as u32).min(65_535));
        // SAFETY: `rows` rows of `columns` values lie at `out`, `stride` apart; lengths, classes and bounds are as many as there are points.
        unsafe { engine.launch((blocks, (256, 1), 0), &stripe) }
    }

    /// How far apart the rows of [`square`](Self::square) are: products are faster where each begins at a whole line.
    pub(crate) fn stride(columns: usize) -> usize {
        columns.next_multiple_of(32)
    }

    /// Ranks of so many rows with all columns. The first of the columns are the rows, and pairs of these are measured once.
    pub(crate) fn square(&self, count: usize, classes: &CudaSlice<u32>) -> Result<CudaSlice<f32>, Failure> {
        /// Rows and columns of a tile: small enough that the half of a tile on the diagonal is little to waste.
        const SIDE: usize = 2048;
        let (engine, all, stride) = (self.engine, self.columns.count, Self::stride(self.columns.count));
        let matrix = engine.room::<f32>(count * stride)?;
        for row in (0..count).step_by(SIDE) {
            let rows = SIDE.min(count - row);
            for column in (row..count).step_by(SIDE) {
                let columns = SIDE.min(count - column);
                self.tile(
                    (row, rows),
                    (column, columns),
                    engine.address(&matrix, row * stride + column),
                    stride,
                )?;
                let mirror = Mirror {
                    matrix: engine.address(&matrix, 0),
                    stride: stride as u64,
                    first_row: row as u32,
                    first_column: column as u32,
                    rows: rows as u32,
                    columns: columns as u32,
                    kind: self.kind.number(),
                    points: self.rows.at(engine, 0),
                    lengths: engine.address(&self.rows.lengths, 0),
                    classes: engine.address(classes, 0),
                    dimensions: self.rows.dimensions as u32,
                };
                let blocks = ((columns as u32).div_ceil(32), (rows as u32).div_ceil(32));
                // SAFETY: the tile and its mirror image lie within the matrix, which has `count` rows and more columns.
                unsafe { engine.launch((blocks, (32, 8), 0), &mirror) }?;
            }
        }
        for row in (0..count).step_by(WIDTH) {
            let rows = (row, WIDTH.min(count - row));
            for column in (count..all).step_by(WIDTH) {
                let columns = (column, WIDTH.min(all - column));
                let out = engine.address(&matrix, row * stride + column);
                self.tile(rows, columns, out, stride)?;
                self.finish(rows, columns, out, stride)?;
            }
        }
        Ok(matrix)
    }
}
