//! Pairs whose rank lies below a bound of one of their ends, found while the sums are still in registers.

use fearless_simd::{Simd, prelude::*};

use super::kernel::{GROUP, PANEL, Sink};

/// One end of pairs: rows in whole groups, or columns in whole panels.
pub(crate) struct End {
    /// Ranks of interest lie below; nothing lies below those of the padding.
    bounds: Vec<f32>,
    /// By group or panel, the class of all in it, where they have one.
    class: Vec<Option<u32>>,
}

impl End {
    /// Bounds and ascending classes of points side by side.
    pub(super) fn new(width: usize, bounds: &[f32], classes: &[u32]) -> Self {
        let mut padded = bounds.to_vec();
        padded.resize(bounds.len().next_multiple_of(width), f32::NEG_INFINITY);
        let single =
            |classes: &[u32]| classes.first().filter(|first| Some(*first) == classes.last()).copied();
        Self { class: classes.chunks(width).map(single).collect(), bounds: padded }
    }
}

/// Pairs that were found, and their ranks.
#[derive(Default)]
pub(crate) struct Pairs {
    rows: Vec<u32>,
    columns: Vec<u32>,
    ranks: Vec<f32>,
    /// How many there are; what lies behind is room for whole vector stores.
    length: usize,
}

impl Pairs {
    /// Row, column and rank of each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, usize, f32)> {
        let ends = self.rows.iter().zip(&self.columns).map(|(&row, &column)| (row as usize, column as usize));
        ends.zip(&self.ranks).map(|((row, column), &rank)| (row, column, rank)).take(self.length)
    }

    fn reserve(&mut self, more: usize) {
        if self.length + more > self.ranks.len() {
            self.grow(more);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        let room = 2 * (self.length + more);
        self.rows.resize(room, 0);
        self.columns.resize(room, 0);
        self.ranks.resize(room, 0.0);
    }

    #[inline(always)]
    fn push<S: Simd>(&mut self, row: S::u32s, columns: S::u32s, ranks: S::f32s, below: S::mask32s) {
        let places = self.length..self.length + S::f32s::LEN;
        row.store_slice(&mut self.rows[places.clone()]);
        columns.compress(below).store_slice(&mut self.columns[places.clone()]);
        ranks.compress(below).store_slice(&mut self.ranks[places]);
        self.length += below.to_bitmask().count_ones() as usize;
    }
}

/// Gathers the pairs of groups and panels.
pub(super) struct Below<'a> {
    rows: &'a End,
    /// The group that is counted as 0.
    first_group: usize,
    columns: &'a End,
    pairs: &'a mut Pairs,
}

impl<'a> Below<'a> {
    /// Rows of pairs are counted from that group on.
    pub(super) fn new((first_group, rows): (usize, &'a End), columns: &'a End, pairs: &'a mut Pairs) -> Self {
        pairs.length = 0;
        Self { rows, first_group, columns, pairs }
    }

    pub(super) fn panels(&self) -> usize {
        self.columns.class.len()
    }
}

/// 0, 1, 2, ...
const LANES: [u32; PANEL] = {
    let mut lanes = [0; PANEL];
    let mut lane = 0;
    while lane < PANEL {
        lanes[lane] = lane as u32;
        lane += 1;
    }
    lanes
};

#[allow(clippy::needless_range_loop, reason = "registers are numbered by row and vector")]
impl Sink for Below<'_> {
    const HALFWAY: bool = true;

    #[inline(always)]
    fn wants(&self, group: usize, panel: usize) -> bool {
        let class = self.rows.class[self.first_group + group];
        class.is_none() || class != self.columns.class[panel]
    }

    #[inline(always)]
    fn wants_more<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &self,
        simd: S,
        row: usize,
        column: usize,
        sums: &[[S::f32s; VECTORS]; ROWS],
    ) -> bool {
        let lanes = S::f32s::LEN;
        let row_bounds = &self.rows.bounds[self.first_group * GROUP + row..][..ROWS];
        let mut open = 0;
        for v in 0..VECTORS {
            let mut least = sums[0][v];
            let mut beyond = least - S::f32s::splat(simd, row_bounds[0]);
            for r in 1..ROWS {
                least = least.min(sums[r][v]);
                beyond = beyond.min(sums[r][v] - S::f32s::splat(simd, row_bounds[r]));
            }
            let at = column + v * lanes;
            let bounds = S::f32s::from_slice(simd, &self.columns.bounds[at..at + lanes]);
            let below = least.simd_lt(bounds) | beyond.simd_lt(S::f32s::splat(simd, 0.0));
            open |= below.to_bitmask();
        }
        open != 0
    }

    #[inline(always)]
    fn take<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        sums: [[S::f32s; VECTORS]; ROWS],
    ) {
        if !self.wants_more(simd, row, column, &sums) {
            return;
        }
        let lanes = S::f32s::LEN;
        self.pairs.reserve(ROWS * VECTORS * lanes);
        let row_bounds = &self.rows.bounds[self.first_group * GROUP + row..][..ROWS];
        let padding = S::f32s::splat(simd, f32::NEG_INFINITY);
        for v in 0..VECTORS {
            let at = column + v * lanes;
            let bounds = S::f32s::from_slice(simd, &self.columns.bounds[at..at + lanes]);
            let real = bounds.simd_gt(padding);
            let columns = S::u32s::from_slice(simd, &LANES[..lanes]) + S::u32s::splat(simd, at as u32);
            for r in 0..ROWS {
                if row_bounds[r] == f32::NEG_INFINITY {
                    break;
                }
                let below = sums[r][v].simd_lt(bounds.max(S::f32s::splat(simd, row_bounds[r]))) & real;
                let row = S::u32s::splat(simd, (row + r) as u32);
                self.pairs.push::<S>(row, columns, sums[r][v], below);
            }
        }
    }
}
