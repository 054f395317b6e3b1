//! The extreme vectors of a model as columns, laid out when the first tile is asked for: where a device does the work, nobody
//! asks.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{Columns, RowBlock, Tile};
use crate::device::Source;
use crate::metric::{Metric, MetricError};
use crate::once;
use crate::points::Points;

/// Vectors that a model holds, laid out when the first tile is asked for.
pub struct Kept {
    metric: Metric,
    dimensions: usize,
    /// By class.
    vectors: Vec<Arc<Vec<f32>>>,
    /// Where each class ends.
    ends: Vec<usize>,
    columns: OnceLock<Box<dyn Columns>>,
}

impl Kept {
    /// Vectors that are shared with a model.
    pub fn new(metric: &Metric, dimensions: usize, vectors: Vec<Arc<Vec<f32>>>) -> Self {
        let ends = vectors.iter().scan(0, |end, class| {
            *end += class.len() / dimensions;
            Some(*end)
        });
        Self { metric: metric.clone(), dimensions, ends: ends.collect(), vectors, columns: OnceLock::new() }
    }

    /// Whether a tile was asked for yet.
    pub fn is_laid_out(&self) -> bool {
        self.columns.get().is_some()
    }

    fn columns(&self) -> &dyn Columns {
        let laid_out = || {
            let rows = self.vectors.iter().flat_map(|class| class.chunks_exact(self.dimensions));
            let points = Points::rows(rows.collect(), self.dimensions);
            let all: Vec<usize> = (0..points.len()).collect();
            super::columns(&self.metric, &points, &all)
        };
        once::computed(&self.columns, laid_out).as_ref()
    }
}

impl Source for Kept {
    fn count(&self) -> usize {
        self.len()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        for (column, out) in (first..).zip(out.chunks_exact_mut(self.dimensions)) {
            self.write_vector(column, out);
        }
    }
}

impl Columns for Kept {
    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn prepare(&self) {
        self.columns();
    }

    fn block(&self, rows: &Points<'_>, indices: &[usize]) -> RowBlock {
        self.columns().block(rows, indices)
    }

    fn block_of_one(&self, rows: &Points<'_>, index: usize, block: &mut RowBlock) {
        self.columns().block_of_one(rows, index, block);
    }

    fn ranks(&self, block: &RowBlock, columns: Range<usize>, tile: &mut Tile) -> Result<(), MetricError> {
        self.columns().ranks(block, columns, tile)
    }

    fn write_vector(&self, column: usize, out: &mut [f32]) {
        let class = self.ends.partition_point(|&end| end <= column);
        let first = if class == 0 { 0 } else { self.ends[class - 1] };
        out.copy_from_slice(&self.vectors[class][(column - first) * self.dimensions..][..self.dimensions]);
    }
}
