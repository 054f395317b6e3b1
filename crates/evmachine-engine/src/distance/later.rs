//! Columns that are laid out when the first tile is asked for.

use std::ops::Range;
use std::sync::OnceLock;

use super::{Columns, RowBlock, Tile};
use crate::metric::{Metric, MetricError};
use crate::once;
use crate::points::Points;

pub(super) struct Later<'a> {
    metric: &'a Metric,
    points: &'a Points<'a>,
    order: &'a [usize],
    columns: OnceLock<Box<dyn Columns>>,
}

impl<'a> Later<'a> {
    pub(super) fn new(metric: &'a Metric, points: &'a Points<'a>, order: &'a [usize]) -> Self {
        Self { metric, points, order, columns: OnceLock::new() }
    }

    fn columns(&self) -> &dyn Columns {
        once::computed(&self.columns, || super::columns(self.metric, self.points, self.order)).as_ref()
    }
}

impl Columns for Later<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn prepare(&self) {
        self.columns();
    }

    fn block(&self, rows: &Points<'_>, indices: &[usize]) -> RowBlock {
        self.columns().block(rows, indices)
    }

    fn ranks(&self, block: &RowBlock, columns: Range<usize>, tile: &mut Tile) -> Result<(), MetricError> {
        self.columns().ranks(block, columns, tile)
    }

    fn write_vector(&self, column: usize, out: &mut [f32]) {
        self.points.write_row(self.order[column], out);
    }
}
