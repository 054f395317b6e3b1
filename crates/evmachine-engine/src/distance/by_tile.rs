//! Columns that are laid out tile by tile, each time a tile is asked for: they take no memory beside their points, which may lie on a
//! disk.

use std::ops::Range;

use super::{Columns, RowBlock, Tile};
use crate::metric::{Metric, MetricError};
use crate::points::Points;

pub(super) struct ByTile<'a> {
    metric: &'a Metric,
    points: &'a Points<'a>,
    order: &'a [usize],
    /// Lays out rows, which it does whatever the columns are.
    none: Box<dyn Columns>,
}

impl<'a> ByTile<'a> {
    pub(super) fn new(metric: &'a Metric, points: &'a Points<'a>, order: &'a [usize]) -> Self {
        Self { metric, points, order, none: super::columns(metric, points, &[]) }
    }
}

impl Columns for ByTile<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn block(&self, rows: &Points<'_>, indices: &[usize]) -> RowBlock {
        self.none.block(rows, indices)
    }

    fn ranks(&self, block: &RowBlock, columns: Range<usize>, tile: &mut Tile) -> Result<(), MetricError> {
        let laid_out = super::columns(self.metric, self.points, &self.order[columns]);
        laid_out.ranks(block, 0..laid_out.len(), tile)
    }

    fn write_vector(&self, column: usize, out: &mut [f32]) {
        self.points.write_row(self.order[column], out);
    }
}
