//! The micro-kernel: a few rows against one panel of columns, accumulated in registers.
//!
//! One template serves every metric; [`Accumulate`] is the only part that differs. Each pair's sum runs over
//! the dimensions in one fixed order, lane by lane, whatever the tile or the thread, so the value of a pair
//! depends on its two vectors alone, and is the same with rows and columns exchanged.

use fearless_simd::{Level, Simd, dispatch, prelude::*};

/// Columns in a panel. A panel stores its columns dimension by dimension, `PANEL` values at a time.
pub(super) const PANEL: usize = 32;
/// Rows in a group. A group stores its rows dimension by dimension, `GROUP` values at a time.
pub(crate) const GROUP: usize = 12;
/// Dimensions summed in registers before the partial sums meet in the tile; bounds the rounding error of long
/// vectors and keeps a panel's share in the first-level cache.
pub(super) const CHUNK: usize = 256;

/// What happens to the sum of a pair for one dimension.
pub(super) trait Accumulate {
    fn step<S: Simd>(sum: S::f32s, row: S::f32s, column: S::f32s) -> S::f32s;
}

/// `sum + row * column`
pub(super) struct Product;
/// `sum + (column - row)^2`
pub(super) struct SquaredDifference;
/// `sum + |column - row|`
pub(super) struct AbsoluteDifference;

impl Accumulate for Product {
    #[inline(always)]
    fn step<S: Simd>(sum: S::f32s, row: S::f32s, column: S::f32s) -> S::f32s {
        row.mul_add(column, sum)
    }
}

impl Accumulate for SquaredDifference {
    #[inline(always)]
    fn step<S: Simd>(sum: S::f32s, row: S::f32s, column: S::f32s) -> S::f32s {
        let difference = column - row;
        difference.mul_add(difference, sum)
    }
}

impl Accumulate for AbsoluteDifference {
    #[inline(always)]
    fn step<S: Simd>(sum: S::f32s, row: S::f32s, column: S::f32s) -> S::f32s {
        sum + (column - row).abs()
    }
}

/// Sums of every row of `groups` with every column of `panels`, into `tile`.
///
/// `groups` holds whole groups of `GROUP x dimensions` values, `panels` whole panels of `PANEL x dimensions`;
/// `tile` has `groups * GROUP` rows of `panels * PANEL` values and is overwritten.
pub(super) fn tile<A: Accumulate>(dimensions: usize, groups: &[f32], panels: &[f32], tile: &mut [f32]) {
    dispatch!(Level::new(), simd => tile_simd::<_, A>(simd, dimensions, groups, panels, tile));
}

#[inline(always)]
fn tile_simd<S: Simd, A: Accumulate>(
    simd: S,
    dimensions: usize,
    groups: &[f32],
    panels: &[f32],
    tile: &mut [f32],
) {
    // Register tiles of rows x vectors: as many accumulators as the register file holds.
    match S::f32s::LEN {
        16 => tile_blocked::<S, A, 12, 2>(simd, dimensions, groups, panels, tile),
        8 => tile_blocked::<S, A, 6, 2>(simd, dimensions, groups, panels, tile),
        _ => tile_blocked::<S, A, 4, 2>(simd, dimensions, groups, panels, tile),
    }
}

#[inline(always)]
fn tile_blocked<S: Simd, A: Accumulate, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    dimensions: usize,
    groups: &[f32],
    panels: &[f32],
    tile: &mut [f32],
) {
    let stride = panels.len() / dimensions;
    let width = VECTORS * S::f32s::LEN;
    let mut start = 0;
    while start < dimensions {
        let end = (start + CHUNK).min(dimensions);
        for (p, panel) in panels.chunks_exact(PANEL * dimensions).enumerate() {
            let panel = &panel[start * PANEL..end * PANEL];
            for (g, group) in groups.chunks_exact(GROUP * dimensions).enumerate() {
                let group = &group[start * GROUP..end * GROUP];
                for row in (0..GROUP).step_by(ROWS) {
                    for column in (0..PANEL).step_by(width) {
                        let corner = (g * GROUP + row) * stride + p * PANEL + column;
                        micro::<S, A, ROWS, VECTORS>(
                            simd,
                            (group, row),
                            (panel, column),
                            (&mut tile[corner..], stride),
                            start == 0,
                        );
                    }
                }
            }
        }
        start = end;
    }
}

#[inline(always)]
fn micro<S: Simd, A: Accumulate, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    (group, first_row): (&[f32], usize),
    (panel, first_column): (&[f32], usize),
    (tile, stride): (&mut [f32], usize),
    fresh: bool,
) {
    let lanes = S::f32s::LEN;
    let mut sums = [[S::f32s::splat(simd, 0.0); VECTORS]; ROWS];
    for (rows, columns) in group.chunks_exact(GROUP).zip(panel.chunks_exact(PANEL)) {
        let rows = &rows[first_row..first_row + ROWS];
        let columns = &columns[first_column..first_column + VECTORS * lanes];
        let mut column = [S::f32s::splat(simd, 0.0); VECTORS];
        for v in 0..VECTORS {
            column[v] = S::f32s::from_slice(simd, &columns[v * lanes..(v + 1) * lanes]);
        }
        for r in 0..ROWS {
            let row = S::f32s::splat(simd, rows[r]);
            for v in 0..VECTORS {
                sums[r][v] = A::step::<S>(sums[r][v], row, column[v]);
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            let target = &mut tile[r * stride + v * lanes..r * stride + (v + 1) * lanes];
            let total = if fresh { *sum } else { S::f32s::from_slice(simd, target) + *sum };
            total.store_slice(target);
        }
    }
}
