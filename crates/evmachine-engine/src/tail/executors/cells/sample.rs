//! How many points are enough: rows whose tails are taken from all columns.
//!
//! Of each value of such a tail it is known how many points the row must have met to find it; so the recall is known for all
//! numbers of points at once.

use rayon::prelude::*;

use super::{Near, Others};
use crate::cells::{CellChoice, lower_bound_of};
use crate::distance::{PANEL, Tile};
use crate::error::{RunError, TailError};
use crate::math::spread;
use crate::run::Meter;
use crate::search::TailRecall;
use crate::tail::Problem;

/// Rows whose tails are taken from all columns.
const SAMPLED: usize = 2_048;
/// Rows of them that pass over the columns together.
const BLOCK: usize = 96;
/// From one number of points to the next that is tried.
const STEP: f64 = 1.04;
/// The largest share of the columns that a row may meet: exact search measures half of the pairs.
const MOST: f64 = 0.25;

/// A row whose tail was taken from all columns.
pub(super) struct Sampled {
    pub(super) position: usize,
    pub(super) tail: Vec<f32>,
    /// For each number of points that is tried.
    found: Vec<MeanSearch>,
}

/// What a row finds when it meets so many points.
#[derive(Clone, Copy, Default)]
struct MeanSearch {
    /// Share of its tail.
    recall: f64,
    /// Columns that are measured, and cells they are in.
    columns: f64,
    cells: f64,
}

impl<'a> Near<'a> {
    /// Rows that meet as few points as the recall allows.
    ///
    /// Numbers of points are tried from all of them downwards, and the last one before the first whose bound lies below the recall
    /// is taken. Tests in a fixed order, up to the first that fails, need no correction for their number.
    pub fn measured(problem: &'a Problem<'a>, asked: f64) -> Result<Self, TailError> {
        let sizes = (0..)
            .zip(problem.sizes)
            .map(|(class, _)| (problem.size(class), problem.negatives(class as usize)));
        let longest = sizes.max_by_key(|(size, _)| *size).unwrap_or((1, 1));
        if longest.0 as f64 > MOST * longest.1 as f64 {
            return Err(TailError::TooLong { tail: longest.0, negatives: longest.1 });
        }
        let mut near = Self::whole(problem)?;
        let count = problem.rows.indices.len();
        let reaches = reaches(longest.0, count);
        near.sample = near.sampled(&reaches)?;
        let rows = near.sample.len();
        let means: Vec<MeanSearch> =
            (0..reaches.len()).map(|at| mean(near.sample.iter().map(|row| row.found[at]))).collect();
        let bound = |at: usize| {
            let recalls: Vec<f64> = near.sample.iter().map(|row| row.found[at].recall).collect();
            lower_bound_of(&recalls)
        };
        let chosen = (0..reaches.len()).rev().find(|&at| bound(at) < asked).map_or(0, |failed| failed + 1);
        // Centres are met twice: when cells are made, and when they are chosen.
        let pays = |mean: &MeanSearch| mean.columns + 2.0 * near.cells.len() as f64 <= MOST * count as f64;
        if !means.get(chosen).is_some_and(pays) {
            let reached = means.iter().rposition(pays).map_or(0.0, bound);
            return Err(TailError::RecallNotReached { asked, reached });
        }
        let (mean, at_least) = (means[chosen], bound(chosen));
        near.reach = reaches[chosen];
        near.measured = Some(TailRecall {
            asked,
            measured: mean.recall,
            at_least,
            rows,
            cells: near.cells.len(),
            probed: mean.cells,
            share: mean.columns / count as f64,
            scale_error: 0.0,
            shape_error: 0.0,
            psi_error: 0.0,
        });
        Ok(near)
    }

    /// Rows that are spread over all, with their tails and what they would find.
    fn sampled(&self, reaches: &[usize]) -> Result<Vec<Sampled>, RunError> {
        let count = self.problem.rows.indices.len();
        let size = SAMPLED.min(count);
        // One of each part, as if drawn.
        let start = |part: usize| part * count / size;
        let positions: Vec<usize> = (0..size)
            .map(|part| start(part) + (spread(part as u64) % (start(part + 1) - start(part)) as u64) as usize)
            .collect();
        let meter = self.problem.run.meter(self.problem.stage, count);
        let class_of = self.classes_of_columns();
        let blocks: Result<Vec<Vec<Sampled>>, RunError> = positions
            .par_chunks(BLOCK)
            .map(|positions| {
                let rows = &self.problem.rows;
                let indices: Vec<usize> = positions.iter().map(|&at| rows.indices[at]).collect();
                let tails = self.whole_tails(&meter, positions, &indices, &class_of)?;
                let (mut tile, mut others, mut probe) =
                    (Tile::default(), Others::new(self), CellChoice::default());
                let centres = self.cells.centres();
                centres.ranks(&centres.block(rows.points, &indices), 0..centres.len(), &mut tile)?;
                let found = tails.into_iter().zip(positions).enumerate().map(|(row, (tail, &position))| {
                    others.turn_to(rows.classes[position]);
                    let order: Vec<usize> = probe.choose(tile.row(row), &others.counts, usize::MAX).collect();
                    let found = self.found(&others.counts, &order, &tail, reaches);
                    let distance = |(rank, _): &(f32, usize)| self.problem.metric.distance_of_rank(*rank);
                    Sampled { position, tail: tail.iter().map(distance).collect(), found }
                });
                Ok(found.collect())
            })
            .collect();
        Ok(blocks?.into_iter().flatten().collect())
    }

    /// The class of each column; `None` for those that stand for nothing.
    fn classes_of_columns(&self) -> Vec<Option<u32>> {
        let mut classes = vec![None; self.cells.columns().len()];
        for cell in 0..self.cells.len() {
            for (column, &at) in self.cells.range(cell).zip(self.cells.positions(cell)) {
                classes[column] = Some(self.problem.rows.classes[at as usize]);
            }
        }
        classes
    }

    /// The tails of some rows from all columns, sorted: rank and column.
    fn whole_tails(
        &self,
        meter: &Meter<'_>,
        positions: &[usize],
        indices: &[usize],
        class_of: &[Option<u32>],
    ) -> Result<Vec<Vec<(f32, usize)>>, RunError> {
        let columns = self.cells.columns();
        let block = columns.block(self.problem.rows.points, indices);
        let mut tile = Tile::default();
        let mut tails: Vec<Vec<(f32, usize)>> = vec![Vec::new(); positions.len()];
        let mut bounds = vec![f32::INFINITY; positions.len()];
        let order = |a: &(f32, usize), b: &(f32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let (width, count) = (self.problem.run.tile_columns, columns.len());
        for first in (0..count).step_by(width) {
            meter.check()?;
            columns.ranks(&block, first..(first + width).min(count), &mut tile)?;
            for (row, (&position, tail)) in positions.iter().zip(&mut tails).enumerate() {
                let class = self.problem.rows.classes[position];
                let size = self.problem.size(class);
                for (first, ranks) in (first..).step_by(PANEL).zip(tile.row(row).chunks(PANEL)) {
                    let bound = bounds[row];
                    if ranks.iter().map(|&rank| u32::from(rank < bound)).sum::<u32>() == 0 {
                        continue;
                    }
                    for (column, &rank) in (first..).zip(ranks) {
                        if rank < bound && class_of[column].is_some_and(|other| other != class) {
                            tail.push((rank, column));
                        }
                    }
                    if tail.len() > 2 * size + 64 {
                        bounds[row] = tail.select_nth_unstable_by(size - 1, order).1.0;
                        tail.truncate(size);
                    }
                }
            }
        }
        for (&position, tail) in positions.iter().zip(&mut tails) {
            tail.sort_unstable_by(order);
            tail.truncate(self.problem.size(self.problem.rows.classes[position]));
        }
        Ok(tails)
    }

    /// What a row finds of its tail for each number of points, when it looks into cells in this order.
    fn found(
        &self,
        counts: &[u32],
        order: &[usize],
        tail: &[(f32, usize)],
        reaches: &[usize],
    ) -> Vec<MeanSearch> {
        let mut members = vec![0u32; counts.len()];
        for &(_, column) in tail {
            members[self.cells.cell_of(column)] += 1;
        }
        let mut found = Vec::with_capacity(reaches.len());
        let (mut met, mut here) = (0, MeanSearch::default());
        let mut cells = order.iter();
        for &reach in reaches {
            while met < reach.max(tail.len())
                && let Some(&cell) = cells.next()
            {
                met += counts[cell] as usize;
                here.recall += f64::from(members[cell]);
                here.columns += self.cells.range(cell).len() as f64;
                here.cells += 1.0;
            }
            // Of a tail without values nothing is missed.
            let recall = if tail.is_empty() { 1.0 } else { here.recall / tail.len() as f64 };
            found.push(MeanSearch { recall, ..here });
        }
        found
    }
}

/// Numbers of points of other classes that are tried, from the longest tail up; the last is all.
fn reaches(longest: usize, count: usize) -> Vec<usize> {
    let mut reaches: Vec<usize> =
        std::iter::successors(Some(longest.max(1) as f64), |reach| Some(reach * STEP))
            .map(|reach| reach.ceil() as usize)
            .take_while(|&reach| reach < count)
            .collect();
    reaches.push(usize::MAX);
    reaches
}

fn mean(rows: impl Iterator<Item = MeanSearch>) -> MeanSearch {
    let mut count = 0.0;
    let mut sum = MeanSearch::default();
    for row in rows {
        count += 1.0;
        sum.recall += row.recall;
        sum.columns += row.columns;
        sum.cells += row.cells;
    }
    MeanSearch { recall: sum.recall / count, columns: sum.columns / count, cells: sum.cells / count }
}
