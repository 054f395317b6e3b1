//! Tails of new points and of old ones from the same distances.
//!
//! A distance between a new point and an old one belongs to both of their tails. Threads take tiles of old points in turn;
//! each keeps tails of its own for the new points, which are merged at the end.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::smallest::{Smallest, offer_both};
use super::tournament::TILE_ROWS;
use super::{Against, Rows, distances};
use crate::distance::{RowBlock, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::{Meter, Run, Stage};

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

    /// With the points of another behind these.
    fn and(mut self, other: &Self) -> Self {
        let start = self.values.len();
        self.values.extend_from_slice(&other.values);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        self
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
        let meter = run.meter(Stage::Refit, count);
        let next = AtomicUsize::new(0);
        let parts: Result<Vec<Part>, Halt> = (0..threads)
            .into_par_iter()
            .with_max_len(1)
            .map(|_| self.part(run, &blocks, &next, &meter))
            .collect();
        let mut parts = parts?.into_iter();
        let Some(Part { mut new, mut old }) = parts.next() else { return Ok(None) };
        for mut more in parts {
            old.append(&mut more.old);
            for row in 0..new.rows() {
                new.offer(row, more.new.sorted(row));
            }
        }
        old.sort_unstable_by_key(|(start, _)| *start);
        let old = old.iter().fold(Found::default(), |all, (_, part)| all.and(part));
        let new = (0..new.rows()).map(|row| distances(self.metric, &mut new, row).to_vec()).collect();
        Ok(Some(Exchanged { new, old }))
    }

    fn new_size(&self, row: usize) -> usize {
        self.sizes[self.new.classes[row] as usize].min(self.old.columns.len())
    }

    fn old_size(&self, column: usize) -> usize {
        self.sizes[self.old_classes[column] as usize].min(self.new.indices.len())
    }

    /// Takes part in measuring: one tile of old points after the other, while there are any.
    fn part(
        &self,
        run: &Run<'_>,
        blocks: &[RowBlock],
        next: &AtomicUsize,
        meter: &Meter<'_>,
    ) -> Result<Part, Halt> {
        let (rows, count) = (self.new.indices.len(), self.old.columns.len());
        let mut new = Smallest::new((0..rows).map(|row| (self.new_size(row), f32::INFINITY)));
        let mut found = Vec::new();
        let mut tile = Tile::default();
        let mut old = Smallest::default();
        loop {
            let start = next.fetch_add(run.tile_columns, Ordering::Relaxed);
            if start >= count {
                return Ok(Part { new, old: found });
            }
            meter.check()?;
            let columns = start..(start + run.tile_columns).min(count);
            old.restart(columns.clone().map(|column| (self.old_size(column), self.old_bounds[column])));
            for (first, block) in (0..rows).step_by(TILE_ROWS).zip(blocks) {
                self.old.columns.ranks(block, columns.clone(), &mut tile)?;
                for row in first..(first + TILE_ROWS).min(rows) {
                    for part in self.old.others(self.new.classes[row], &columns) {
                        offer_both(&mut new, row, &mut old, part.start, &tile.row(row - first)[part]);
                    }
                }
            }
            let mut values = Found::default();
            for row in 0..old.rows() {
                values.push(distances(self.metric, &mut old, row));
            }
            found.push((start, values));
            meter.advance(columns.len())?;
        }
    }
}

/// What one thread finds.
struct Part {
    /// The tails of all new points among the old ones that it met.
    new: Smallest,
    /// By the first of them, what old points found.
    old: Vec<(usize, Found)>,
}
