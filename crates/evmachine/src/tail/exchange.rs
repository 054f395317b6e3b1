//! Tails of new points and of old ones from the same distances.
//!
//! A distance between a new point and an old one belongs to both of their tails. Old points are divided among the
//! threads; each thread keeps tails of its own for the new points, which are merged at the end.

use std::ops::Range;

use rayon::prelude::*;

use super::smallest::{Smallest, offer_both};
use super::{Against, Rows, distances};
use crate::distance::{RowBlock, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::{Meter, Run, Stage};

const TILE_ROWS: usize = 96;

/// Distances between new and old points of different classes, sorted.
pub(crate) struct Exchanged {
    /// For each new point, the smallest: as many as its tail has.
    pub(crate) new: Vec<Vec<f32>>,
    /// For each old point, the smallest of those whose rank is below its bound.
    pub(crate) old: Found,
}

/// Distances found by old points, sorted for each. Most have none.
#[derive(Default)]
pub(crate) struct Found {
    values: Vec<f32>,
    /// By point, where its values end.
    ends: Vec<usize>,
}

impl Found {
    pub(crate) fn of(&self, point: usize) -> &[f32] {
        let start = if point == 0 { 0 } else { self.ends[point - 1] };
        &self.values[start..self.ends[point]]
    }

    fn push(&mut self, values: &[f32]) {
        self.values.extend_from_slice(values);
        self.ends.push(self.values.len());
    }

    /// Puts the points of another behind these.
    fn append(&mut self, other: &Self) {
        let start = self.values.len();
        self.values.extend_from_slice(&other.values);
        self.ends.extend(other.ends.iter().map(|end| start + end));
    }
}

/// New points, and the old ones that they meet.
pub(crate) struct Exchange<'a> {
    pub(crate) metric: &'a Metric,
    pub(crate) new: Rows<'a>,
    pub(crate) old: Against<'a>,
    /// Class of each old point, and the largest rank of interest.
    pub(crate) old_classes: &'a [u32],
    pub(crate) old_bounds: &'a [f32],
    /// By class, the length of tails.
    pub(crate) sizes: &'a [usize],
}

impl Exchange<'_> {
    /// `None` where what is found might take more than the memory of the run.
    pub(crate) fn measure(&self, run: &Run<'_>) -> Result<Option<Exchanged>, Halt> {
        let count = self.old.columns.len();
        let threads = rayon::current_num_threads();
        let new_bytes = (0..self.new.indices.len()).map(|row| Smallest::bytes(self.new_size(row)) * threads);
        let old_bytes = (0..count).map(|column| size_of::<f32>() * self.old_size(column));
        if new_bytes.chain(old_bytes).fold(0, usize::saturating_add) > run.memory {
            return Ok(None);
        }
        let lay_out = |indices| self.old.columns.block(self.new.points, indices);
        let blocks: Vec<RowBlock> = self.new.indices.chunks(TILE_ROWS).map(lay_out).collect();
        let width = count.div_ceil(threads).next_multiple_of(run.tile_columns);
        let meter = run.meter(Stage::Refit, count);
        let parts: Result<Vec<_>, Halt> = (0..count)
            .into_par_iter()
            .step_by(width)
            .map(|start| self.part(run, &blocks, start..(start + width).min(count), &meter))
            .collect();
        let mut parts = parts?.into_iter();
        let Some((mut new, mut old)) = parts.next() else { return Ok(None) };
        for (mut more_new, more_old) in parts {
            old.append(&more_old);
            for row in 0..new.rows() {
                new.offer(row, more_new.sorted(row));
            }
        }
        let new = (0..new.rows()).map(|row| distances(self.metric, &mut new, row).to_vec()).collect();
        Ok(Some(Exchanged { new, old }))
    }

    fn new_size(&self, row: usize) -> usize {
        self.sizes[self.new.classes[row] as usize].min(self.old.columns.len())
    }

    fn old_size(&self, column: usize) -> usize {
        self.sizes[self.old_classes[column] as usize].min(self.new.indices.len())
    }

    /// The tails of all new points among some of the old ones, and what the latter found.
    fn part(
        &self,
        run: &Run<'_>,
        blocks: &[RowBlock],
        part: Range<usize>,
        meter: &Meter<'_>,
    ) -> Result<(Smallest, Found), Halt> {
        let rows = self.new.indices.len();
        let mut new = Smallest::new((0..rows).map(|row| (self.new_size(row), f32::INFINITY)));
        let mut found = Found::default();
        let mut tile = Tile::default();
        let mut old = Smallest::default();
        for start in part.clone().step_by(run.tile_columns) {
            meter.check()?;
            let columns = start..(start + run.tile_columns).min(part.end);
            old.restart(columns.clone().map(|column| (self.old_size(column), self.old_bounds[column])));
            for (first, block) in (0..rows).step_by(TILE_ROWS).zip(blocks) {
                self.old.columns.ranks(block, columns.clone(), &mut tile)?;
                for row in first..(first + TILE_ROWS).min(rows) {
                    for part in self.old.others(self.new.classes[row], &columns) {
                        offer_both(&mut new, row, &mut old, part.start, &tile.row(row - first)[part]);
                    }
                }
            }
            for row in 0..old.rows() {
                found.push(distances(self.metric, &mut old, row));
            }
            meter.advance(columns.len())?;
        }
        Ok((new, found))
    }
}
