//! Columns for a user's own metric: one call for each pair.

use std::ops::Range;
use std::sync::Arc;

use super::{Columns, RowBlock, Tile};
use crate::metric::{Distance, MetricError};
use crate::points::Points;

pub(super) struct Pairwise {
    distance: Arc<dyn Distance>,
    dimensions: usize,
    values: Vec<f32>,
}

impl Pairwise {
    pub(super) fn new(distance: Arc<dyn Distance>, points: &Points<'_>, order: &[usize]) -> Self {
        Self { distance, dimensions: points.dimensions(), values: points.gather(order) }
    }
}

impl Columns for Pairwise {
    fn len(&self) -> usize {
        self.values.len() / self.dimensions
    }

    fn block(&self, rows: &Points<'_>, indices: &[usize]) -> RowBlock {
        let values = rows.gather(indices).into();
        RowBlock { rows: indices.len(), lanes: 1, values, squares: Vec::new() }
    }

    fn block_of_one(&self, rows: &Points<'_>, index: usize, block: &mut RowBlock) {
        block.hold_one(rows, index);
    }

    fn ranks(&self, block: &RowBlock, columns: Range<usize>, tile: &mut Tile) -> Result<(), MetricError> {
        let d = self.dimensions;
        tile.shape(block.rows, columns.len(), 0, columns.len());
        let columns = &self.values[columns.start * d..columns.end * d];
        for (row, ranks) in
            block.values.chunks_exact(d).zip(tile.values.chunks_exact_mut(tile.columns.max(1)))
        {
            for (rank, column) in ranks.iter_mut().zip(columns.chunks_exact(d)) {
                let value = self.distance.distance(row, column);
                if !(value.is_finite() && value >= 0.0) {
                    return Err(MetricError { name: self.distance.name().to_owned(), value });
                }
                // Not -0.0, whose bits are not in order.
                *rank = value.abs();
            }
        }
        Ok(())
    }

    fn write_vector(&self, column: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.values[column * self.dimensions..][..self.dimensions]);
    }
}
