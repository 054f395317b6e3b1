//! Distances within one class, a block of rows at a time.

use rayon::prelude::*;

use crate::distance::{self, Columns, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::points::Points;
use crate::progress::Run;

/// The points of a class as rows and columns of one matrix of ranks.
pub(super) struct Neighbors<'a> {
    metric: &'a Metric,
    points: &'a Points<'a>,
    columns: Box<dyn Columns>,
    /// The whole matrix, row after row, where it was asked for.
    ranks: Option<Vec<f32>>,
}

impl<'a> Neighbors<'a> {
    pub(super) fn new(metric: &'a Metric, points: &'a Points<'a>) -> Self {
        let all: Vec<usize> = (0..points.len()).collect();
        Self { metric, points, columns: distance::columns(metric, points, &all), ranks: None }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn metric(&self) -> &Metric {
        self.metric
    }

    /// Bytes that [`keep`](Self::keep) takes.
    pub(super) fn bytes(&self) -> usize {
        self.len().saturating_mul(self.len()).saturating_mul(size_of::<f32>())
    }

    /// Computes all ranks now, for whoever visits the rows many times.
    pub(super) fn keep(&mut self, run: &Run<'_>) -> Result<(), Halt> {
        let count = self.len();
        let mut ranks = vec![0.0; count * count];
        let block = run.block_rows(count);
        ranks.par_chunks_mut(block * count).enumerate().try_for_each(|(b, ranks)| {
            let rows: Vec<usize> = (b * block..(b * block + block).min(count)).collect();
            self.visit(&rows, run.tile_columns, |row, start, values| {
                ranks[row * count + start..][..values.len()].copy_from_slice(values);
            })
        })?;
        self.ranks = Some(ranks);
        Ok(())
    }

    /// Calls `visit(position in rows, first column, ranks)` for each row and each tile.
    pub(super) fn visit(
        &self,
        rows: &[usize],
        width: usize,
        mut visit: impl FnMut(usize, usize, &[f32]),
    ) -> Result<(), Halt> {
        let count = self.len();
        if let Some(ranks) = &self.ranks {
            for (position, &row) in rows.iter().enumerate() {
                visit(position, 0, &ranks[row * count..(row + 1) * count]);
            }
            return Ok(());
        }
        let block = self.columns.block(self.points, rows);
        let mut tile = Tile::default();
        for start in (0..count).step_by(width) {
            self.columns.ranks(&block, start..(start + width).min(count), &mut tile)?;
            for position in 0..rows.len() {
                visit(position, start, tile.row(position));
            }
        }
        Ok(())
    }
}
