//! Short tails among many columns: products of few digits tell which pairs may matter, and those alone are measured.
//!
//! Factors cut to ten bits after the point change a product by at most `2^-9 |a| |b|`, and a sum of d terms by another
//! `d 2^-23 |a| |b|`. So a rough product gives a least rank, and whatever has a least rank above the bound of a row cannot be
//! in its tail. Bounds are estimated from a sample of the columns; a row whose bound proves too low, or whose candidates
//! are too many, is measured against all columns.
#![allow(unsafe_code)]

use cudarc::driver::CudaSlice;
use evmachine_engine::device::Tails;

use crate::address::Address;
use crate::engine::{Digits, Tile};
use crate::error::Failure;
use crate::kernels::{self, Candidates, IsWhole, LeastRanks, Measure, SelectSmallest, Widen};
use crate::panel::{Panel, Ranks};
use crate::ranks::{RankKind, WIDTH};
use crate::tails::TailRequest;

/// From so many columns on.
const FEWEST: usize = 1 << 16;
/// Of the columns, the largest share that tails may have.
const TAIL: usize = 32;
/// Columns of the sample, and the share of all that they are at most.
const SAMPLED: usize = 1 << 16;
const SAMPLE: usize = 16;
/// Rows that are screened together.
const ROWS: usize = 1 << 14;
/// Columns whose mean length is taken as a typical one.
const TYPICAL: usize = 4096;

pub(crate) fn pays(wanted: &TailRequest<'_>) -> bool {
    let columns = wanted.columns.points.count;
    let products = !matches!(wanted.kind, RankKind::Differences { .. });
    products && !wanted.is_bounded() && columns >= FEWEST && wanted.longest <= columns / TAIL
}

pub(crate) fn tails(wanted: &TailRequest<'_>, found: &mut Tails) -> Result<(), Failure> {
    let count = wanted.rows.count;
    let panel = wanted.panel(ROWS.min(count))?;
    let screen = Screen::new(wanted, panel.rows())?;
    for first in (0..count).step_by(panel.rows()) {
        let rows = panel.rows().min(count - first);
        screen.bound(first, rows)?;
        let numbers = screen.find(first, rows)?;
        screen.measure(first, rows, &numbers)?;
        let address = wanted.engine.address(&screen.ranks, 0);
        let (stride, columns) = (screen.room, screen.room);
        panel.select(Ranks { address, stride, columns, wanted: &wanted.rows.sizes, first }, rows)?;
        let whole = screen.whole(first, rows, &numbers, &panel)?;
        let before = found.counts.len();
        panel.finish(rows, found)?;
        again(wanted, (first, before), &whole, found)?;
        wanted.advance(rows)?;
    }
    Ok(())
}

/// A sample of the columns.
struct Sample {
    values: CudaSlice<f32>,
    lengths: CudaSlice<f32>,
    classes: CudaSlice<u32>,
    count: usize,
}

/// What the panels have in common, and room for one of them.
struct Screen<'a> {
    wanted: &'a TailRequest<'a>,
    sample: Sample,
    /// Of a product, in units of both lengths.
    error: f32,
    /// A typical length of a column.
    length: f32,
    /// Candidates that a row may have.
    room: usize,
    /// By row, the place in the sample that bounds its tail.
    places: CudaSlice<u32>,
    products: CudaSlice<f32>,
    bounds: CudaSlice<f32>,
    candidates: CudaSlice<u32>,
    ranks: CudaSlice<f32>,
}

impl<'a> Screen<'a> {
    fn new(wanted: &'a TailRequest<'a>, rows: usize) -> Result<Self, Failure> {
        let engine = wanted.engine;
        let columns = wanted.columns.points;
        let sample = sampled(wanted)?;
        // The tail of a row, as a place in the sample, three deviations added.
        let expected = wanted.longest as f64 * sample.count as f64 / columns.count as f64;
        let place = (expected + 3.0 * expected.sqrt() + 1.0).ceil() as usize;
        let room =
            (3 * wanted.longest + 1024).max(2 * place * columns.count / sample.count).min(columns.count);
        let lengths = engine.download(&columns.lengths, columns.count.min(TYPICAL))?;
        Ok(Self {
            wanted,
            error: 0.5f32.powi(9) + columns.dimensions as f32 * 0.5f32.powi(23),
            length: lengths.iter().map(|square| square.sqrt()).sum::<f32>() / lengths.len() as f32,
            room,
            places: engine.upload(&[&vec![place as u32; rows][..]])?,
            products: engine.room(rows * WIDTH.max(sample.count))?,
            bounds: engine.room(rows)?,
            candidates: engine.room(rows * room)?,
            ranks: engine.room(rows * room)?,
            sample,
        })
    }

    fn kind(&self) -> u32 {
        self.wanted.kind.number()
    }

    /// Lengths and classes of the rows from the first on.
    fn rows_at(&self, first: usize) -> (Address<f32>, Address<u32>) {
        let TailRequest { engine, rows, .. } = self.wanted;
        (engine.address(&rows.points.lengths, first), engine.address(&rows.classes, first))
    }

    /// Rough products of some rows with so many columns at an address.
    fn product(&self, (first, rows): (usize, usize), columns: (Address<f32>, usize)) -> Result<(), Failure> {
        let TailRequest { engine, rows: all, .. } = self.wanted;
        let tile = Tile {
            rows: (all.points.at(engine, first), rows),
            columns,
            out: engine.address(&self.products, 0),
            stride: columns.1,
        };
        // SAFETY: rows and columns lie within the points, and the tile within its room.
        unsafe { engine.product(&tile, all.points.dimensions, Digits::Few) }
    }

    /// Estimates where the tails of some rows end.
    fn bound(&self, first: usize, rows: usize) -> Result<(), Failure> {
        let engine = self.wanted.engine;
        let sample = &self.sample;
        self.product((first, rows), (engine.address(&sample.values, 0), sample.count))?;
        let products = engine.address(&self.products, 0);
        let bounds = engine.address(&self.bounds, 0);
        let (row_lengths, row_classes) = self.rows_at(first);
        let least_ranks = LeastRanks {
            tile: products,
            columns: sample.count as u32,
            rows: rows as u32,
            kind: self.kind(),
            error: self.error,
            row_lengths,
            row_classes,
            column_lengths: engine.address(&sample.lengths, 0),
            column_classes: engine.address(&sample.classes, 0),
        };
        let blocks = ((sample.count as u32).div_ceil(256), (rows as u32).min(65_535));
        // SAFETY: the tile has `rows` rows of as many columns as the sample.
        unsafe { engine.launch((blocks, (256, 1), 0), &least_ranks) }?;
        let counts = engine.room::<u32>(rows)?;
        let select = SelectSmallest {
            values: products,
            stride: sample.count as u64,
            columns: sample.count as u32,
            wanted: engine.address(&self.places, 0),
            ranks_are_squares: 0,
            tails: Address::none(),
            tail_stride: 0,
            counts: engine.address(&counts, 0),
            largest: bounds,
        };
        // SAFETY: as above; no tails are written, and there is a bound for each row.
        unsafe { engine.launch(((rows as u32, 1), (512, 1), 0), &select) }?;
        let widen = Widen {
            bounds,
            row_lengths,
            rows: rows as u32,
            kind: self.kind(),
            error: self.error,
            length: self.length,
        };
        // SAFETY: there is a bound and a length for each row.
        unsafe { engine.launch(each(rows, 256), &widen) }
    }

    /// Finds what may be in the tails of some rows, and returns how much that is for each.
    fn find(&self, first: usize, rows: usize) -> Result<CudaSlice<u32>, Failure> {
        let TailRequest { engine, columns, .. } = self.wanted;
        let (total, classes) = (columns.points.count, columns.classes);
        let (row_lengths, row_classes) = self.rows_at(first);
        let numbers = engine.zeros(rows)?;
        for column in (0..total).step_by(WIDTH) {
            let width = WIDTH.min(total - column);
            self.product((first, rows), (columns.points.at(engine, column), width))?;
            let candidates = Candidates {
                tile: engine.address(&self.products, 0),
                columns: width as u32,
                rows: rows as u32,
                first_column: column as u32,
                kind: self.kind(),
                error: self.error,
                row_lengths,
                row_classes,
                bounds: engine.address(&self.bounds, 0),
                column_lengths: engine.address(&columns.points.lengths, column),
                column_classes: engine.address(classes, column),
                out: engine.address(&self.candidates, 0),
                room: self.room as u32,
                found: engine.address(&numbers, 0),
            };
            // SAFETY: the tile has `rows` rows of `width` columns; each row has room for `room` candidates.
            unsafe { engine.launch(each(rows, 8), &candidates) }?;
        }
        Ok(numbers)
    }

    /// Measures the candidates of some rows.
    fn measure(&self, first: usize, rows: usize, numbers: &CudaSlice<u32>) -> Result<(), Failure> {
        let TailRequest { engine, rows: all, columns, .. } = self.wanted;
        let dimensions = columns.points.dimensions;
        let measure = Measure {
            row_points: all.points.at(engine, first),
            column_points: columns.points.at(engine, 0),
            dimensions: dimensions as u32,
            kind: self.kind(),
            columns: engine.address(&self.candidates, 0),
            room: self.room as u32,
            found: engine.address(numbers, 0),
            out: engine.address(&self.ranks, 0),
        };
        let shared = (dimensions * size_of::<f32>()) as u32;
        // SAFETY: candidates are columns; there is a rank for each, and shared room for a vector.
        unsafe { engine.launch(((rows as u32, 1), (256, 1), shared), &measure) }
    }

    /// By row, whether its tail, which the panel has selected, is surely whole; 0 where it is not.
    fn whole(
        &self,
        first: usize,
        rows: usize,
        numbers: &CudaSlice<u32>,
        panel: &Panel<'_>,
    ) -> Result<Vec<u32>, Failure> {
        let TailRequest { engine, rows: all, .. } = self.wanted;
        let whole = engine.room::<u32>(rows)?;
        let is_whole = IsWhole {
            found: engine.address(numbers, 0),
            room: self.room as u32,
            counts: engine.address(&panel.counts, 0),
            wanted: engine.address(&all.sizes, first),
            largest: engine.address(&panel.largest, 0),
            bounds: engine.address(&self.bounds, 0),
            rows: rows as u32,
            whole: engine.address(&whole, 0),
        };
        // SAFETY: one value for each row.
        unsafe { engine.launch(each(rows, 256), &is_whole) }?;
        engine.download(&whole, rows)
    }
}

/// Blocks of 256 threads, of which each takes so many rows.
fn each(rows: usize, of_block: u32) -> crate::engine::Shape {
    (((rows as u32).div_ceil(of_block), 1), (256, 1), 0)
}

/// Measures the rows that are not surely whole against all columns. The first of `whole` is such a row of all, and such a one of
/// what was found.
fn again(
    wanted: &TailRequest<'_>,
    (first, before): (usize, usize),
    whole: &[u32],
    found: &mut Tails,
) -> Result<(), Failure> {
    let some: Vec<usize> = (0..whole.len()).filter(|&row| whole[row] == 0).collect();
    if some.is_empty() {
        return Ok(());
    }
    let rows: Vec<usize> = some.iter().map(|&row| first + row).collect();
    let once_more = wanted.again(&rows)?;
    if wanted.work.keep {
        // Tails lie one after the other, and those that were not whole may be longer now.
        let start = found.values.len() - values_of(&found.counts[before..]);
        let old = found.values.split_off(start);
        let (mut from, mut new) = (0, 0);
        let mut others = once_more.counts.iter();
        for (&whole, &count) in whole.iter().zip(&found.counts[before..]) {
            if whole == 0 {
                let count = others.next().map_or(0, |&count| count as usize);
                found.values.extend_from_slice(&once_more.values[new..new + count]);
                new += count;
            } else {
                found.values.extend_from_slice(&old[from..from + count as usize]);
            }
            from += count as usize;
        }
    }
    for (position, row) in some.into_iter().enumerate() {
        let at = before + row;
        if let (Some(to), Some(from)) = (found.psi.get_mut(at), once_more.psi.get(position)) {
            *to = *from;
        }
        (found.counts[at], found.largest[at]) = (once_more.counts[position], once_more.largest[position]);
    }
    Ok(())
}

fn values_of(counts: &[u32]) -> usize {
    counts.iter().map(|&count| count as usize).sum()
}

/// Every so-many-th column.
fn sampled(wanted: &TailRequest<'_>) -> Result<Sample, Failure> {
    let engine = wanted.engine;
    let (columns, classes) = (wanted.columns.points, wanted.columns.classes);
    let step = columns.count.div_ceil(SAMPLED.min(columns.count / SAMPLE)).max(1);
    let count = columns.count.div_ceil(step);
    let sample = Sample {
        values: engine.room(count * columns.dimensions)?,
        lengths: engine.room(count)?,
        classes: engine.room(count)?,
        count,
    };
    let take = kernels::Sample {
        points: columns.at(engine, 0),
        lengths: engine.address(&columns.lengths, 0),
        classes: engine.address(classes, 0),
        step: step as u32,
        dimensions: columns.dimensions as u32,
        out: engine.address(&sample.values, 0),
        out_lengths: engine.address(&sample.lengths, 0),
        out_classes: engine.address(&sample.classes, 0),
    };
    // SAFETY: the last one taken is below the number of columns, and there is room for `count` of them.
    unsafe { engine.launch(((count as u32, 1), (256, 1), 0), &take) }?;
    Ok(sample)
}
