//! Columns packed for the kernel: the built-in metrics.

use std::ops::Range;

use fearless_simd::{Simd, dispatch, prelude::*};
use rayon::prelude::*;

use super::kernel::{self, AbsoluteDifference, Accumulate, CHUNK, GROUP, PANEL, Product, SquaredDifference};
use super::lines::Lines;
use super::pairs::Below;
use super::{Columns, RowBlock, Tile};
use crate::level::level;
use crate::metric::MetricError;
use crate::points::Points;

/// Below this cosine distance, `1 - a.b` has lost too many digits, and the pair is computed again as
/// `||a - b||^2 / 2`, in `f64`.
const NEAR: f32 = 1.0 / 64.0;

/// From so many dimensions on, `|a|^2 + |b|^2 - 2ab` takes less time than `|a - b|^2`.
const DIMENSIONS: usize = 32;
/// Below this fraction of `|a|^2 + |b|^2` the former has lost too many digits, and the latter is taken. Either depends
/// on the pair alone. Integers whose squares sum to 2^22 at most have the same distance both ways.
const LOST: f32 = 1.0 / 32.0;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum PanelKind {
    Euclidean,
    Cosine,
    Manhattan,
}

impl PanelKind {
    /// Whether the sum of a pair over so many dimensions is its rank, and is never stored half-way.
    pub(super) fn is_in_registers(self, dimensions: usize) -> bool {
        self != Self::Cosine && dimensions <= CHUNK && !by_products(self, dimensions)
    }
}

/// Vectors packed `PANEL` at a time, padded with zeros to whole panels. Takes as much memory as the vectors.
pub(super) struct Panels {
    kind: PanelKind,
    count: usize,
    dimensions: usize,
    values: Lines,
    /// The square of each column's length, padded like the vectors; zeros where products are not used.
    squares: Vec<f32>,
}

impl Panels {
    pub(super) fn new(kind: PanelKind, points: &Points<'_>, order: &[usize]) -> Self {
        let (count, dimensions) = (order.len(), points.dimensions());
        let (values, squares) = pack::<PANEL>(points, order, by_products(kind, dimensions));
        Self { kind, count, dimensions, values, squares }
    }

    /// Gathers pairs of a block with the panels from `first` on. The kind is one in registers.
    pub(super) fn below(&self, block: &RowBlock, first: usize, below: &mut Below<'_>) {
        let d = self.dimensions;
        let packed = &self.values[first * PANEL * d..(first + below.panels()) * PANEL * d];
        match self.kind {
            PanelKind::Manhattan => {
                kernel::sums::<AbsoluteDifference, _>(d, 0..d, &block.values, packed, below);
            }
            _ => kernel::sums::<SquaredDifference, _>(d, 0..d, &block.values, packed, below),
        }
    }

    /// `|a|^2 + |b|^2 - 2ab` for a whole tile of products of rows with the panels from `first` on.
    fn finish_euclidean(&self, block: &RowBlock, first: usize, packed: &[f32], tile: &mut Tile) {
        let d = self.dimensions;
        let stride = tile.stride;
        let mut differences = [0.0; GROUP * PANEL];
        let lanes = block.lanes;
        let groups = block.values.chunks_exact(lanes * d).zip(block.squares.chunks_exact(lanes));
        for ((group, rows), tile) in groups.zip(tile.values.chunks_exact_mut(lanes * stride)) {
            let panels = packed.chunks_exact(PANEL * d).zip(self.squares[first..].chunks_exact(PANEL));
            for (number, (panel, columns)) in panels.enumerate() {
                let corner = &mut tile[number * PANEL..];
                let lost = dispatch!(level(), simd => squared_distances(simd, rows, columns, corner, stride));
                if !lost {
                    continue;
                }
                sums::<SquaredDifference>((group, lanes), d, panel, &mut differences[..lanes * PANEL]);
                for (row, (square, differences)) in
                    rows.iter().zip(differences.chunks_exact(PANEL)).enumerate()
                {
                    let values = &mut corner[row * stride..row * stride + PANEL];
                    for ((value, column), &difference) in values.iter_mut().zip(columns).zip(differences) {
                        if *value < LOST * (square + column) {
                            *value = difference;
                        }
                    }
                }
            }
        }
    }

    /// `1 - a.b` for a row of the tile, with the near pairs computed again.
    fn finish_cosine(&self, block: &RowBlock, row: usize, first: usize, products: &mut [f32]) {
        let nearest = dispatch!(level(), simd => one_minus(simd, products));
        if nearest >= NEAR {
            return;
        }
        for (column, value) in products.iter_mut().enumerate() {
            if *value < NEAR && first + column < self.count {
                *value = self.half_squared_difference(block, row, first + column);
            }
        }
    }

    fn half_squared_difference(&self, block: &RowBlock, row: usize, column: usize) -> f32 {
        let d = self.dimensions;
        let lanes = block.lanes;
        let row = &block.values[row / lanes * lanes * d + row % lanes..];
        let column = &self.values[column / PANEL * PANEL * d + column % PANEL..];
        let mut sum = 0.0f64;
        for (a, b) in row.iter().step_by(lanes).zip(column.iter().step_by(PANEL)).take(d) {
            let difference = f64::from(*a) - f64::from(*b);
            sum += difference * difference;
        }
        (sum / 2.0) as f32
    }
}

impl Columns for Panels {
    fn len(&self) -> usize {
        self.count
    }

    fn block(&self, rows: &Points<'_>, indices: &[usize]) -> RowBlock {
        let by_products = by_products(self.kind, self.dimensions);
        let (values, squares) = pack::<GROUP>(rows, indices, by_products);
        RowBlock { rows: indices.len(), lanes: GROUP, values, squares }
    }

    fn block_of_one(&self, rows: &Points<'_>, index: usize, block: &mut RowBlock) {
        block.hold_one(rows, index);
        if by_products(self.kind, self.dimensions) {
            let square = squared_length(&block.values);
            block.squares.push(square);
        }
    }

    fn ranks(&self, block: &RowBlock, columns: Range<usize>, tile: &mut Tile) -> Result<(), MetricError> {
        let d = self.dimensions;
        let panels = columns.start / PANEL..columns.end.div_ceil(PANEL);
        let first = panels.start * PANEL;
        let padded_rows = block.values.len() / d;
        tile.shape(padded_rows, panels.len() * PANEL, columns.start - first, columns.len());
        let packed = &self.values[panels.start * PANEL * d..panels.end * PANEL * d];
        let rows = (&block.values[..], block.lanes);
        let out = &mut tile.values[..padded_rows * tile.stride];
        match self.kind {
            PanelKind::Euclidean if by_products(self.kind, d) => {
                sums::<Product>(rows, d, packed, out);
                self.finish_euclidean(block, first, packed, tile);
            }
            PanelKind::Euclidean => {
                sums::<SquaredDifference>(rows, d, packed, out);
            }
            PanelKind::Manhattan => {
                sums::<AbsoluteDifference>(rows, d, packed, out);
            }
            PanelKind::Cosine => {
                sums::<Product>(rows, d, packed, out);
                for (row, products) in tile.values.chunks_exact_mut(tile.stride).take(block.rows).enumerate()
                {
                    self.finish_cosine(block, row, first, products);
                }
            }
        }
        Ok(())
    }

    fn write_vector(&self, column: usize, out: &mut [f32]) {
        let lane = &self.values[column / PANEL * PANEL * self.dimensions + column % PANEL..];
        for (value, &packed) in out.iter_mut().zip(lane.iter().step_by(PANEL)) {
            *value = packed;
        }
    }
}

/// Sums of rows, which lie in groups of so many lanes, with every column of the panels.
fn sums<A: Accumulate>((rows, lanes): (&[f32], usize), dimensions: usize, panels: &[f32], out: &mut [f32]) {
    if lanes == 1 {
        // There is one alone.
        kernel::row::<A>(rows, panels, out);
    } else {
        kernel::tile::<A>(dimensions, rows, panels, out);
    }
}

fn squared_length(row: &[f32]) -> f32 {
    let sum: f64 = row.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    sum as f32
}

fn by_products(kind: PanelKind, dimensions: usize) -> bool {
    kind == PanelKind::Euclidean && dimensions >= DIMENSIONS
}

/// Rows of `points` in groups of `WIDTH`, dimension by dimension within a group, the last one padded with zeros; and the
/// square of the length of each, if asked for.
fn pack<const WIDTH: usize>(points: &Points<'_>, order: &[usize], squared: bool) -> (Lines, Vec<f32>) {
    /// Groups that are worth a thread.
    const SHARE: usize = 64;
    let d = points.dimensions();
    let padded = order.len().div_ceil(WIDTH) * WIDTH;
    let mut packed = Lines::new(padded * d);
    let mut squares = vec![0.0; padded];
    let groups = packed.par_chunks_exact_mut(WIDTH * d).zip(squares.par_chunks_exact_mut(WIDTH));
    groups.zip(order.par_chunks(WIDTH)).with_min_len(SHARE).for_each_init(
        || vec![0.0; WIDTH * d],
        |rows, ((group, squares), indices)| {
            for ((row, &index), square) in rows.chunks_exact_mut(d).zip(indices).zip(squares) {
                points.write_row(index, row);
                if squared {
                    *square = squared_length(row);
                }
            }
            rows[indices.len() * d..].fill(0.0);
            transpose::<WIDTH>(rows, d, group);
        },
    );
    (packed, squares)
}

/// `WIDTH` rows of `d` values, dimension by dimension.
pub(super) fn transpose<const WIDTH: usize>(rows: &[f32], d: usize, group: &mut [f32]) {
    /// Dimensions at a time.
    const BLOCK: usize = 8;
    let (blocks, rest) = group.split_at_mut(d / BLOCK * BLOCK * WIDTH);
    for (number, block) in blocks.chunks_exact_mut(BLOCK * WIDTH).enumerate() {
        for lane in 0..WIDTH {
            let values = &rows[lane * d + number * BLOCK..][..BLOCK];
            for i in 0..BLOCK {
                block[i * WIDTH + lane] = values[i];
            }
        }
    }
    for (i, lanes) in (d / BLOCK * BLOCK..).zip(rest.chunks_exact_mut(WIDTH)) {
        for (lane, value) in lanes.iter_mut().enumerate() {
            *value = rows[lane * d + i];
        }
    }
}

/// Replaces each product of a group with a panel by the squared distance, and returns whether one of them has lost too
/// many digits.
#[inline(always)]
fn squared_distances<S: Simd>(
    simd: S,
    rows: &[f32],
    columns: &[f32],
    products: &mut [f32],
    stride: usize,
) -> bool {
    let minus_two = S::f32s::splat(simd, -2.0);
    let fraction = S::f32s::splat(simd, LOST);
    let mut least = S::f32s::splat(simd, f32::INFINITY);
    for (row, &square) in rows.iter().enumerate() {
        let square = S::f32s::splat(simd, square);
        let products = &mut products[row * stride..row * stride + PANEL];
        let lanes = columns.chunks_exact(S::f32s::LEN).zip(products.chunks_exact_mut(S::f32s::LEN));
        for (columns, products) in lanes {
            let sum = S::f32s::from_slice(simd, columns) + square;
            let distance = S::f32s::from_slice(simd, products).mul_add(minus_two, sum);
            least = least.min(distance - fraction * sum);
            distance.store_slice(products);
        }
    }
    least.reduce_min() < 0.0
}

/// Replaces each product of unit vectors by the cosine distance, and returns the smallest.
#[inline(always)]
fn one_minus<S: Simd>(simd: S, products: &mut [f32]) -> f32 {
    let one = S::f32s::splat(simd, 1.0);
    let two = S::f32s::splat(simd, 2.0);
    let mut smallest = two;
    // The length is a multiple of `PANEL`, and so of every vector width.
    for chunk in products.chunks_exact_mut(S::f32s::LEN) {
        let distance = (one - S::f32s::from_slice(simd, chunk)).min(two);
        smallest = smallest.min(distance);
        distance.store_slice(chunk);
    }
    smallest.reduce_min()
}
