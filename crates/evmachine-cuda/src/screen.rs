//! Short tails among many columns: products of few digits tell which pairs may matter, and those alone are measured.
//!
//! Factors cut to ten bits after the point change a product by at most `2^-9 |a| |b|`, and a sum of d terms by another
//! `d 2^-23 |a| |b|`. So a rough product gives a least rank, and whatever has a least rank above the bound of a row cannot be
//! in its tail. Bounds are estimated from a sample of the columns; a row whose bound proves too low, or whose candidates
//! are too many, is measured against all columns.
#![allow(unsafe_code)]

use cudarc::driver::CudaSlice;
use evmachine::device::Tails;

use crate::engine::Argument::{Address, Count, Long, Single};
use crate::engine::{Digits, Tile};
use crate::error::Failure;
use crate::panel::Ranks;
use crate::ranks::{Kind, WIDTH};
use crate::tails::Wanted;

/// From so many columns on.
const FEWEST: usize = 1 << 16;
/// Of the columns, the largest share that tails may have.
const TAIL: usize = 32;
/// Columns of the sample, and the share of all that they are at most.
const SAMPLED: usize = 1 << 16;
const SAMPLE: usize = 16;
/// Rows that are screened together.
const ROWS: usize = 1 << 14;

pub(crate) fn pays(wanted: &Wanted<'_>) -> bool {
    let columns = wanted.columns.points.count;
    let products = !matches!(wanted.kind, Kind::Differences { .. });
    products && !wanted.is_bounded() && columns >= FEWEST && wanted.longest <= columns / TAIL
}

/// A sample of the columns.
struct Sample {
    values: CudaSlice<f32>,
    lengths: CudaSlice<f32>,
    classes: CudaSlice<u32>,
    count: usize,
}

pub(crate) fn tails(wanted: &Wanted<'_>, found: &mut Tails) -> Result<(), Failure> {
    let engine = wanted.engine;
    let (columns, column_classes) = (wanted.columns.points, wanted.columns.classes);
    let (dimensions, total) = (columns.dimensions, columns.count);
    let error = 0.5f32.powi(9) + dimensions as f32 * 0.5f32.powi(23);
    let sample = sampled(wanted)?;
    // The tail of a row, as a place in the sample, three deviations added.
    let expected = wanted.longest as f64 * sample.count as f64 / total as f64;
    let place = (expected + 3.0 * expected.sqrt() + 1.0).ceil() as usize;
    let room = (3 * wanted.longest + 1024).max(2 * place * total / sample.count).min(total);
    let panel = wanted.panel(ROWS.min(wanted.rows.points.count))?;
    let height = panel.rows();
    let lengths = engine.download(&columns.lengths, total.min(4096))?;
    let length = lengths.iter().map(|square| square.sqrt()).sum::<f32>() / lengths.len() as f32;
    let products = engine.room::<f32>(height * WIDTH.max(sample.count))?;
    let candidates = engine.room::<u32>(height * room)?;
    let ranks = engine.room::<f32>(height * room)?;
    let bounds = engine.room::<f32>(height)?;
    let places = engine.upload(&[&vec![place as u32; height][..]])?;
    let (counts, whole) = (engine.room::<u32>(height)?, engine.room::<u32>(height)?);
    let kind = Count(wanted.kind.number());
    for first in (0..wanted.rows.points.count).step_by(height) {
        let rows = height.min(wanted.rows.points.count - first);
        let row_lengths = Address(engine.address(&wanted.rows.points.lengths, first));
        let row_classes = Address(engine.address(&wanted.rows.classes, first));
        let product = |columns: (u64, usize)| {
            let tile = Tile {
                rows: (wanted.rows.points.at(engine, first), rows),
                columns,
                out: engine.address(&products, 0),
                stride: columns.1,
            };
            // SAFETY: rows and columns lie within the points, and the tile within its room.
            unsafe { engine.product(&tile, dimensions, Digits::Few) }
        };
        product((engine.address(&sample.values, 0), sample.count))?;
        let products_at = Address(engine.address(&products, 0));
        let bounds_at = Address(engine.address(&bounds, 0));
        let arguments = [
            products_at,
            Count(sample.count as u32),
            Count(rows as u32),
            kind,
            Single(error),
            row_lengths,
            row_classes,
            Address(engine.address(&sample.lengths, 0)),
            Address(engine.address(&sample.classes, 0)),
        ];
        let blocks = ((sample.count as u32).div_ceil(256), (rows as u32).min(65_535));
        // SAFETY: the tile has `rows` rows of as many columns as the sample.
        unsafe { engine.launch(&engine.kernels.least_ranks, (blocks, (256, 1), 0), &arguments) }?;
        let arguments = [
            products_at,
            Long(sample.count as u64),
            Count(sample.count as u32),
            Address(engine.address(&places, 0)),
            Count(0),
            Address(0),
            Long(0),
            Address(engine.address(&counts, 0)),
            bounds_at,
        ];
        // SAFETY: as above; no tails are written, and there is a bound for each row.
        unsafe {
            engine.launch(&engine.kernels.select_smallest, ((rows as u32, 1), (512, 1), 0), &arguments)
        }?;
        let arguments = [bounds_at, row_lengths, Count(rows as u32), kind, Single(error), Single(length)];
        // SAFETY: there is a bound and a length for each row.
        unsafe {
            engine.launch(&engine.kernels.widen, (((rows as u32).div_ceil(256), 1), (256, 1), 0), &arguments)
        }?;

        let found_here = engine.zeros(rows)?;
        for column in (0..total).step_by(WIDTH) {
            let width = WIDTH.min(total - column);
            product((columns.at(engine, column), width))?;
            let arguments = [
                products_at,
                Count(width as u32),
                Count(rows as u32),
                Count(column as u32),
                kind,
                Single(error),
                row_lengths,
                row_classes,
                bounds_at,
                Address(engine.address(&columns.lengths, column)),
                Address(engine.address(column_classes, column)),
                Address(engine.address(&candidates, 0)),
                Count(room as u32),
                Address(engine.address(&found_here, 0)),
            ];
            // SAFETY: the tile has `rows` rows of `width` columns; each row has `room` candidates.
            unsafe {
                engine.launch(
                    &engine.kernels.candidates,
                    (((rows as u32).div_ceil(8), 1), (256, 1), 0),
                    &arguments,
                )
            }?;
        }
        let arguments = [
            Address(wanted.rows.points.at(engine, first)),
            Address(columns.at(engine, 0)),
            Count(dimensions as u32),
            kind,
            Address(engine.address(&candidates, 0)),
            Count(room as u32),
            Address(engine.address(&found_here, 0)),
            Address(engine.address(&ranks, 0)),
        ];
        let shared = (dimensions * size_of::<f32>()) as u32;
        // SAFETY: candidates are columns; there is a rank for each, and shared room for a vector.
        unsafe { engine.launch(&engine.kernels.measure, ((rows as u32, 1), (256, 1), shared), &arguments) }?;
        let address = engine.address(&ranks, 0);
        panel.select(
            Ranks { address, stride: room, columns: room, wanted: &wanted.rows.sizes, first },
            rows,
        )?;
        let arguments = [
            Address(engine.address(&found_here, 0)),
            Count(room as u32),
            Address(engine.address(&panel.counts, 0)),
            Address(engine.address(&wanted.rows.sizes, first)),
            Address(engine.address(&panel.largest, 0)),
            bounds_at,
            Count(rows as u32),
            Address(engine.address(&whole, 0)),
        ];
        // SAFETY: one value for each row.
        unsafe {
            engine.launch(
                &engine.kernels.is_whole,
                (((rows as u32).div_ceil(256), 1), (256, 1), 0),
                &arguments,
            )
        }?;
        let before = found.counts.len();
        panel.finish(rows, found)?;
        again(wanted, (first, before), &engine.download(&whole, rows)?, found)?;
        wanted.advance(rows)?;
    }
    Ok(())
}

/// Measures the rows that are not surely whole against all columns. The first of them is such a row of all, and such a one of what
/// was found.
fn again(
    wanted: &Wanted<'_>,
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
    let mut kept = std::mem::take(&mut found.values);
    if wanted.work.keep {
        // Tails lie one after the other, and those that were not whole may be longer now.
        let start = kept.len() - found.counts[before..].iter().map(|&count| count as usize).sum::<usize>();
        let old = kept.split_off(start);
        let (mut from, mut new) = (0, 0);
        for row in 0..whole.len() {
            let count = found.counts[before + row] as usize;
            if whole[row] == 0 {
                let position = some.partition_point(|&other| other < row);
                let count = once_more.counts[position] as usize;
                kept.extend_from_slice(&once_more.values[new..new + count]);
                new += count;
            } else {
                kept.extend_from_slice(&old[from..from + count]);
            }
            from += count;
        }
    }
    found.values = kept;
    for (position, row) in some.into_iter().enumerate() {
        let at = before + row;
        if let (Some(to), Some(from)) = (found.psi.get_mut(at), once_more.psi.get(position)) {
            *to = *from;
        }
        (found.counts[at], found.largest[at]) = (once_more.counts[position], once_more.largest[position]);
    }
    Ok(())
}

/// Every so-many-th column.
fn sampled(wanted: &Wanted<'_>) -> Result<Sample, Failure> {
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
    let arguments = [
        Address(columns.at(engine, 0)),
        Address(engine.address(&columns.lengths, 0)),
        Address(engine.address(classes, 0)),
        Count(step as u32),
        Count(columns.dimensions as u32),
        Address(engine.address(&sample.values, 0)),
        Address(engine.address(&sample.lengths, 0)),
        Address(engine.address(&sample.classes, 0)),
    ];
    // SAFETY: the last one taken is below the number of columns, and there is room for `count` of them.
    unsafe { engine.launch(&engine.kernels.sample, ((count as u32, 1), (256, 1), 0), &arguments) }?;
    Ok(sample)
}
