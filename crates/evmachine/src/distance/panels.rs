//! Columns packed for the kernel: the built-in metrics.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch, prelude::*};

use super::kernel::{self, AbsoluteDifference, GROUP, PANEL, Product, SquaredDifference};
use super::{Columns, RowBlock, Tile};
use crate::metric::MetricError;
use crate::points::Points;

/// Below this cosine distance, `1 - a.b` has lost too many digits, and the pair is computed again as
/// `||a - b||^2 / 2`, in `f64`.
const NEAR: f32 = 1.0 / 64.0;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Euclidean,
    Cosine,
    Manhattan,
}

/// Vectors packed `PANEL` at a time, padded with zeros to whole panels. Takes as much memory as the vectors.
pub(super) struct Panels {
    kind: Kind,
    count: usize,
    dimensions: usize,
    values: Vec<f32>,
}

impl Panels {
    pub(super) fn new(kind: Kind, points: &Points<'_>, order: &[usize]) -> Self {
        let values = pack::<PANEL>(points, order);
        Self { kind, count: order.len(), dimensions: points.dimensions(), values }
    }

    /// `1 - a.b` for a row of the tile, with the near pairs computed again.
    fn finish_cosine(&self, block: &RowBlock, row: usize, first: usize, products: &mut [f32]) {
        let nearest = dispatch!(Level::new(), simd => one_minus(simd, products));
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
        let row = &block.values[row / GROUP * GROUP * d + row % GROUP..];
        let column = &self.values[column / PANEL * PANEL * d + column % PANEL..];
        let mut sum = 0.0f64;
        for (a, b) in row.iter().step_by(GROUP).zip(column.iter().step_by(PANEL)).take(d) {
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
        RowBlock { rows: indices.len(), values: pack::<GROUP>(rows, indices) }
    }

    fn ranks(&self, block: &RowBlock, columns: Range<usize>, tile: &mut Tile) -> Result<(), MetricError> {
        let d = self.dimensions;
        let panels = columns.start / PANEL..columns.end.div_ceil(PANEL);
        let first = panels.start * PANEL;
        let padded_rows = block.values.len() / d;
        tile.shape(padded_rows, panels.len() * PANEL, columns.start - first, columns.len());
        let packed = &self.values[panels.start * PANEL * d..panels.end * PANEL * d];
        match self.kind {
            Kind::Euclidean => kernel::tile::<SquaredDifference>(d, &block.values, packed, &mut tile.values),
            Kind::Manhattan => kernel::tile::<AbsoluteDifference>(d, &block.values, packed, &mut tile.values),
            Kind::Cosine => {
                kernel::tile::<Product>(d, &block.values, packed, &mut tile.values);
                for (row, products) in tile.values.chunks_exact_mut(tile.stride).take(block.rows).enumerate()
                {
                    self.finish_cosine(block, row, first, products);
                }
            }
        }
        Ok(())
    }
}

/// Rows of `points` in groups of `WIDTH`, dimension by dimension within a group, the last one padded with zeros.
fn pack<const WIDTH: usize>(points: &Points<'_>, order: &[usize]) -> Vec<f32> {
    let d = points.dimensions();
    let mut packed = vec![0.0; order.len().div_ceil(WIDTH) * WIDTH * d];
    let mut row = vec![0.0; d];
    for (group, indices) in packed.chunks_exact_mut(WIDTH * d).zip(order.chunks(WIDTH)) {
        for (lane, &index) in indices.iter().enumerate() {
            points.write_row(index, &mut row);
            for (slot, &value) in group[lane..].iter_mut().step_by(WIDTH).zip(&row) {
                *slot = value;
            }
        }
    }
    packed
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
