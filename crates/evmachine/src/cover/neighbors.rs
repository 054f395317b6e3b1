//! Distances within one class, a block of rows at a time.

use rayon::prelude::*;

use super::{Candidates, Resources};
use crate::error::RunError;
use evmachine_engine::distance::{self, Columns, Tile};
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;

/// The points of a class as rows, and where they are to be covered as columns, of one matrix of ranks.
pub(super) struct Neighbors<'a> {
    metric: &'a Metric,
    points: &'a Points<'a>,
    columns: Box<dyn Columns>,
    resources: &'a Resources<'a>,
    strangers: Option<&'a [f32]>,
    /// The whole matrix, row after row, where it was asked for and there was room.
    ranks: Option<Vec<f32>>,
}

impl<'a> Neighbors<'a> {
    pub(super) fn new(metric: &'a Metric, class: &'a Candidates<'_>, resources: &'a Resources<'a>) -> Self {
        let all: Vec<usize> = (0..class.len()).collect();
        let columns = distance::columns(metric, class.originals.as_ref().unwrap_or(&class.points), &all);
        let strangers = class.strangers.as_deref();
        Self { metric, points: &class.points, columns, resources, strangers, ranks: None }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn metric(&self) -> &Metric {
        self.metric
    }

    pub(super) fn resources(&self) -> &Resources<'a> {
        self.resources
    }

    fn bytes(&self) -> usize {
        self.len().saturating_mul(self.len()).saturating_mul(size_of::<f32>())
    }

    /// Computes all ranks now if there is room, for whoever visits the rows many times.
    pub(super) fn keep(&mut self) -> Result<(), RunError> {
        if !self.resources.memory.take(self.bytes()) {
            return Ok(());
        }
        let count = self.len();
        let mut ranks = vec![0.0; count * count];
        let block = self.resources.run.block_rows(count);
        let filled = ranks.par_chunks_mut(block * count).enumerate().try_for_each(|(b, ranks)| {
            let rows: Vec<usize> = (b * block..(b * block + block).min(count)).collect();
            self.visit(&rows, |row, start, values| {
                ranks[row * count + start..][..values.len()].copy_from_slice(values);
            })
        });
        self.ranks = Some(ranks);
        filled
    }

    /// Calls `visit(position in rows, first column, ranks)` for each row and each tile. What an ignored sample comes before is
    /// infinitely far.
    pub(super) fn visit(
        &self,
        rows: &[usize],
        mut visit: impl FnMut(usize, usize, &[f32]),
    ) -> Result<(), RunError> {
        self.resources.meter.check()?;
        let count = self.len();
        if let Some(ranks) = &self.ranks {
            for (position, &row) in rows.iter().enumerate() {
                visit(position, 0, &ranks[row * count..(row + 1) * count]);
            }
            return Ok(());
        }
        let width = self.resources.run.tile_columns();
        let block = self.columns.block(self.points, rows);
        let (mut tile, mut nearer) = (Tile::default(), Vec::new());
        for start in (0..count).step_by(width) {
            self.columns.ranks(&block, start..(start + width).min(count), &mut tile)?;
            for position in 0..rows.len() {
                let mut ranks = tile.row(position);
                if let Some(strangers) = self.strangers {
                    nearer.clear();
                    let pairs = ranks.iter().zip(&strangers[start..]);
                    nearer.extend(
                        pairs.map(|(&rank, stranger)| if rank < *stranger { rank } else { f32::INFINITY }),
                    );
                    ranks = &nearer;
                }
                visit(position, start, ranks);
            }
        }
        Ok(())
    }
}

impl Drop for Neighbors<'_> {
    fn drop(&mut self) {
        if self.ranks.is_some() {
            self.resources.memory.give_back(self.bytes());
        }
    }
}
