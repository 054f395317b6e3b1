//! Vectors that a machine holds beside its extreme vectors.

use std::sync::Arc;

use crate::machine::one::Room;
use evmachine_engine::distance::{self, Columns, Tile};
use evmachine_engine::metric::{Metric, MetricError};
use evmachine_engine::points::Points;

/// Columns of equal length, an entry for each sample, in the order in which they came.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Samples {
    /// Row after row, ready for the metric.
    pub(crate) vectors: Vec<f32>,
    /// Number of the row, counted over all data ever given to the model.
    pub(crate) sources: Vec<u64>,
}

impl Samples {
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    pub(crate) fn push(&mut self, vector: &[f32], source: u64) {
        self.vectors.extend_from_slice(vector);
        self.sources.push(source);
    }

    /// Takes in all points, which are numbered from `first` on.
    pub(crate) fn extend(&mut self, points: &Points<'_>, first: u64) {
        let all: Vec<usize> = (0..points.len()).collect();
        self.vectors.extend(points.gather(&all));
        self.sources.extend((0..points.len() as u64).map(|row| first + row));
    }

    pub(crate) fn points(&self, dimensions: usize) -> Points<'_> {
        Points::ready(&self.vectors[..], dimensions)
    }

    /// Laid out; `None` where there are none.
    pub(crate) fn columns(&self, metric: &Metric, dimensions: usize) -> Option<Arc<dyn Columns>> {
        let all: Vec<usize> = (0..self.len()).collect();
        (!self.is_empty()).then(|| distance::columns(metric, &self.points(dimensions), &all).into())
    }
}

/// The smallest rank of each row among the columns, and where it is.
pub(crate) fn nearest(
    columns: &dyn Columns,
    points: &Points<'_>,
    rows: &[usize],
    tile_columns: usize,
) -> Result<Vec<(f32, usize)>, MetricError> {
    let block = columns.block(points, rows);
    let mut tile = Tile::default();
    let mut found = vec![(f32::INFINITY, 0); rows.len()];
    for start in (0..columns.len()).step_by(tile_columns) {
        columns.ranks(&block, start..(start + tile_columns).min(columns.len()), &mut tile)?;
        for (row, found) in found.iter_mut().enumerate() {
            for (column, &rank) in tile.row(row).iter().enumerate() {
                if rank < found.0 {
                    *found = (rank, start + column);
                }
            }
        }
    }
    Ok(found)
}

/// The smallest rank of one query among the columns, measured in the given room.
pub(crate) fn nearest_of_one(
    columns: &dyn Columns,
    query: &Points<'_>,
    room: &mut Room,
) -> Result<f32, MetricError> {
    let Room { block, tile, .. } = room;
    columns.block_of_one(query, 0, block);
    let (count, mut nearest) = (columns.len(), f32::INFINITY);
    for start in (0..count).step_by(Tile::COLUMNS) {
        columns.ranks(block, start..(start + Tile::COLUMNS).min(count), tile)?;
        nearest = tile.row(0).iter().copied().fold(nearest, f32::min);
    }
    Ok(nearest)
}
