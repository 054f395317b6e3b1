//! The micro-kernel: a few rows against one panel of columns, accumulated in registers.
//!
//! One template serves every metric; [`Accumulate`] is the only part that differs. Each pair's sum runs over
//! the dimensions in one fixed order, lane by lane, whatever the tile or the thread, so the value of a pair
//! depends on its two vectors alone, and is the same with rows and columns exchanged.

use std::ops::Range;

use fearless_simd::{Simd, dispatch, prelude::*};

use crate::level::level;

/// Columns in a panel. A panel stores its columns dimension by dimension, `PANEL` values at a time.
pub const PANEL: usize = 32;
/// Rows in a group. A group stores its rows dimension by dimension, `GROUP` values at a time.
pub const GROUP: usize = 12;
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

/// What becomes of sums.
pub(super) trait Sink {
    /// Whether the sums of a group of rows with a panel of columns are wanted.
    #[inline(always)]
    fn wants(&self, _group: usize, _panel: usize) -> bool {
        true
    }

    /// Whether sums are looked at half-way. They only grow on the way where terms are not negative.
    const HALFWAY: bool = false;

    /// Whether one of these sums, of rows from `row` on with columns from `column` on, may still be wanted when it is complete.
    #[inline(always)]
    fn wants_more<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &self,
        _: S,
        _row: usize,
        _column: usize,
        _sums: &[[S::f32s; VECTORS]; ROWS],
    ) -> bool {
        true
    }

    /// Sums of rows from `row` on with columns from `column` on.
    fn take<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        sums: [[S::f32s; VECTORS]; ROWS],
    );
}

/// Sums of every row of `groups` with every column of `panels`, into `tile`.
///
/// `groups` holds whole groups of `GROUP x dimensions` values, `panels` whole panels of `PANEL x dimensions`;
/// `tile` has `groups * GROUP` rows of `panels * PANEL` values and is overwritten.
pub(super) fn tile<A: Accumulate>(dimensions: usize, groups: &[f32], panels: &[f32], tile: &mut [f32]) {
    let stride = panels.len() / dimensions;
    for start in (0..dimensions).step_by(CHUNK) {
        let span = start..(start + CHUNK).min(dimensions);
        let mut store = Store { tile, stride, fresh: start == 0 };
        sums::<A, Store<'_>>(dimensions, span, groups, panels, &mut store);
    }
}

/// Sums of one row with every column of `panels`, bit for bit those of [`tile`], into `sums`.
///
/// A group pads one row with eleven, whose sums nobody wants; this takes no more than the columns do on their way from memory.
pub(super) fn row<A: Accumulate>(row: &[f32], panels: &[f32], sums: &mut [f32]) {
    dispatch!(level(), simd => row_simd::<_, A>(simd, row, panels, sums));
}

#[inline(always)]
fn row_simd<S: Simd, A: Accumulate>(simd: S, row: &[f32], panels: &[f32], sums: &mut [f32]) {
    // A step of a sum waits for the one before it, so eight vectors of sums take their steps in turn.
    match S::f32s::LEN {
        16 => row_abreast::<S, A, 4, 2>(simd, row, panels, sums),
        8 => row_abreast::<S, A, 2, 4>(simd, row, panels, sums),
        _ => row_abreast::<S, A, 1, 8>(simd, row, panels, sums),
    }
}

#[inline(always)]
fn row_abreast<S: Simd, A: Accumulate, const PANELS: usize, const VECTORS: usize>(
    simd: S,
    row: &[f32],
    panels: &[f32],
    sums: &mut [f32],
) {
    let size = PANEL * row.len();
    let abreast = panels.chunks_exact(PANELS * size);
    let rest = abreast.remainder();
    let (sums, last) = sums.split_at_mut((panels.len() - rest.len()) / row.len());
    for (panels, sums) in abreast.zip(sums.chunks_exact_mut(PANELS * PANEL)) {
        row_panels::<S, A, PANELS, VECTORS>(simd, row, panels, sums);
    }
    for (panel, sums) in rest.chunks_exact(size).zip(last.chunks_exact_mut(PANEL)) {
        row_panels::<S, A, 1, VECTORS>(simd, row, panel, sums);
    }
}

#[inline(always)]
fn row_panels<S: Simd, A: Accumulate, const PANELS: usize, const VECTORS: usize>(
    simd: S,
    row: &[f32],
    panels: &[f32],
    out: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    for start in (0..row.len()).step_by(CHUNK) {
        let end = (start + CHUNK).min(row.len());
        let panels: [&[f32]; PANELS] =
            std::array::from_fn(|p| &panels[(p * row.len() + start) * PANEL..(p * row.len() + end) * PANEL]);
        let mut sums = [[S::f32s::splat(simd, 0.0); VECTORS]; PANELS];
        for (k, &value) in row[start..end].iter().enumerate() {
            let value = S::f32s::splat(simd, value);
            for (sums, panel) in sums.iter_mut().zip(panels) {
                let columns = &panel[k * PANEL..(k + 1) * PANEL];
                for v in 0..VECTORS {
                    let column = S::f32s::from_slice(simd, &columns[v * lanes..(v + 1) * lanes]);
                    sums[v] = A::step::<S>(sums[v], value, column);
                }
            }
        }
        for (sum, target) in sums.into_iter().flatten().zip(out.chunks_exact_mut(lanes)) {
            let total = if start == 0 { sum } else { S::f32s::from_slice(simd, target) + sum };
            total.store_slice(target);
        }
    }
}

/// A tile of sums, begun or added to.
struct Store<'a> {
    tile: &'a mut [f32],
    stride: usize,
    fresh: bool,
}

impl Sink for Store<'_> {
    #[inline(always)]
    fn take<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        sums: [[S::f32s; VECTORS]; ROWS],
    ) {
        let lanes = S::f32s::LEN;
        let (fresh, stride) = (self.fresh, self.stride);
        let tile = &mut self.tile[row * stride + column..];
        for (r, sums) in sums.into_iter().enumerate() {
            let start = r * stride;
            for (v, sum) in sums.into_iter().enumerate() {
                let target = &mut tile[start + v * lanes..start + (v + 1) * lanes];
                let total = if fresh { sum } else { S::f32s::from_slice(simd, target) + sum };
                total.store_slice(target);
            }
        }
    }
}

/// Sums over the dimensions of `span`, at most [`CHUNK`], of every row of `groups` with every column of `panels`.
pub(super) fn sums<A: Accumulate, K: Sink>(
    dimensions: usize,
    span: Range<usize>,
    groups: &[f32],
    panels: &[f32],
    sink: &mut K,
) {
    dispatch!(level(), simd => sums_simd::<_, A, K>(simd, dimensions, span, groups, panels, sink));
}

#[inline(always)]
fn sums_simd<S: Simd, A: Accumulate, K: Sink>(
    simd: S,
    dimensions: usize,
    span: Range<usize>,
    groups: &[f32],
    panels: &[f32],
    sink: &mut K,
) {
    // Register tiles of rows x vectors: as many accumulators as the register file holds.
    match S::f32s::LEN {
        16 => sums_blocked::<S, A, K, 12, 2>(simd, dimensions, span, groups, panels, sink),
        8 => sums_blocked::<S, A, K, 6, 2>(simd, dimensions, span, groups, panels, sink),
        _ => sums_blocked::<S, A, K, 4, 2>(simd, dimensions, span, groups, panels, sink),
    }
}

#[inline(always)]
fn sums_blocked<S: Simd, A: Accumulate, K: Sink, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    dimensions: usize,
    span: Range<usize>,
    groups: &[f32],
    panels: &[f32],
    sink: &mut K,
) {
    let width = VECTORS * S::f32s::LEN;
    for (p, panel) in panels.chunks_exact(PANEL * dimensions).enumerate() {
        let panel = &panel[span.start * PANEL..span.end * PANEL];
        for (g, group) in groups.chunks_exact(GROUP * dimensions).enumerate() {
            if !sink.wants(g, p) {
                continue;
            }
            let group = &group[span.start * GROUP..span.end * GROUP];
            for row in (0..GROUP).step_by(ROWS) {
                for column in (0..PANEL).step_by(width) {
                    let (at_row, at_column) = (g * GROUP + row, p * PANEL + column);
                    let mut sums = [[S::f32s::splat(simd, 0.0); VECTORS]; ROWS];
                    if K::HALFWAY {
                        let half = span.len() / 2;
                        let (group, rest_of_group) = group.split_at(half * GROUP);
                        let (panel, rest_of_panel) = panel.split_at(half * PANEL);
                        add::<S, A, ROWS, VECTORS>(simd, (group, row), (panel, column), &mut sums);
                        if !sink.wants_more(simd, at_row, at_column, &sums) {
                            continue;
                        }
                        add::<S, A, ROWS, VECTORS>(
                            simd,
                            (rest_of_group, row),
                            (rest_of_panel, column),
                            &mut sums,
                        );
                    } else {
                        add::<S, A, ROWS, VECTORS>(simd, (group, row), (panel, column), &mut sums);
                    }
                    sink.take(simd, at_row, at_column, sums);
                }
            }
        }
    }
}

/// Adds the terms of `ROWS` rows of a group with `VECTORS` vectors of columns of a panel.
#[inline(always)]
fn add<S: Simd, A: Accumulate, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    (group, first_row): (&[f32], usize),
    (panel, first_column): (&[f32], usize),
    sums: &mut [[S::f32s; VECTORS]; ROWS],
) {
    let lanes = S::f32s::LEN;
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
}
