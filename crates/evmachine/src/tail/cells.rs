//! Near cells: a row meets the points of the cells whose centres are nearest to it, until there are enough of other classes.
//!
//! What is measured is exact; which pairs are measured is not. How many points are enough is found on a sample of the rows, whose
//! tails are taken from all columns: of each of their values it is known how many points a row must have met to find it.

use std::ops::Range;

use rayon::prelude::*;

use super::smallest::Smallest;
use super::{Problem, distances};
use crate::cells::{Cells, Probe, Visits, lower_bound};
use crate::curve::Curve;
use crate::distance::Tile;
use crate::error::{FitError, Halt};
use crate::holdout::spread;
use crate::params::TailModel;
use crate::progress::Meter;
use crate::psi::PsiModel;
use crate::search::TailRecall;

/// Rows whose tails are taken from all columns.
const SAMPLED: usize = 2_048;
/// Rows of them that pass over the columns together.
const BLOCK: usize = 96;
/// From one number of points to the next that is tried.
const STEP: f64 = 1.15;
/// The largest share of the columns that a row may meet: exact search measures half of the pairs.
const MOST: f64 = 0.25;

/// Rows among themselves, in cells.
pub(crate) struct Near<'a> {
    problem: &'a Problem<'a>,
    cells: Cells,
    /// Class of each column.
    classes: Vec<u32>,
    /// By class, its columns: cell after cell.
    own: Vec<Vec<Own>>,
    /// Points of other classes that a row meets, at least, where there are as many.
    reach: usize,
    sample: Vec<Sampled>,
    measured: Option<TailRecall>,
}

/// The columns of a class in a cell.
struct Own {
    cell: usize,
    columns: Range<usize>,
}

/// A row whose tail was taken from all columns.
struct Sampled {
    position: usize,
    tail: Vec<f32>,
    /// For each number of points that is tried.
    found: Vec<Found>,
}

/// What a row finds when it meets so many points.
#[derive(Clone, Copy, Default)]
struct Found {
    /// Share of its tail.
    recall: f64,
    /// Columns that are measured, and cells they are in.
    columns: f64,
    cells: f64,
}

impl<'a> Near<'a> {
    /// Rows that meet everything: tails are exact.
    pub(crate) fn whole(problem: &'a Problem<'a>) -> Result<Self, Halt> {
        let meter = problem.run.meter(problem.stage, problem.rows.indices.len());
        let cells = Cells::new(&meter, problem.metric, problem.rows.points, problem.rows.indices)?;
        let classes: Vec<u32> =
            cells.positions().iter().map(|&at| problem.rows.classes[at as usize]).collect();
        let mut own: Vec<Vec<Own>> = problem.sizes.iter().map(|_| Vec::new()).collect();
        for cell in 0..cells.len() {
            let mut start = cells.range(cell).start;
            for part in classes[cells.range(cell)].chunk_by(|a, b| a == b) {
                own[part[0] as usize].push(Own { cell, columns: start..start + part.len() });
                start += part.len();
            }
        }
        Ok(Self { problem, cells, classes, own, reach: usize::MAX, sample: Vec::new(), measured: None })
    }

    /// Rows that meet as few points as the recall allows.
    ///
    /// Numbers of points are tried from all of them downwards, and the last one before the first whose bound lies below the recall
    /// is taken. Tests in a fixed order, up to the first that fails, need no correction for their number.
    pub(crate) fn measured(problem: &'a Problem<'a>, asked: f64) -> Result<Self, FitError> {
        let sizes = (0..)
            .zip(problem.sizes)
            .map(|(class, _)| (problem.size(class), problem.negatives(class as usize)));
        let longest = sizes.max_by_key(|(size, _)| *size).unwrap_or((1, 1));
        if longest.0 as f64 > MOST * longest.1 as f64 {
            return Err(FitError::TailsTooLong { tail: longest.0, negatives: longest.1 });
        }
        let mut near = Self::whole(problem)?;
        let reaches = reaches(longest.0, near.classes.len());
        near.sample = near.sampled(&reaches)?;
        let rows = near.sample.len();
        let means: Vec<Found> =
            (0..reaches.len()).map(|at| mean(near.sample.iter().map(|row| row.found[at]))).collect();
        let bounds: Vec<f64> = means.iter().map(|mean| lower_bound(mean.recall, rows)).collect();
        let chosen = bounds.iter().rposition(|&bound| bound < asked).map_or(0, |failed| failed + 1);
        let count = near.classes.len() as f64;
        // Centres are met twice: when cells are made, and when they are chosen.
        let pays = |mean: &Found| mean.columns + 2.0 * near.cells.len() as f64 <= MOST * count;
        if !means.get(chosen).is_some_and(pays) {
            let reached = means.iter().zip(&bounds).filter(|(mean, _)| pays(mean)).map(|(_, bound)| *bound);
            return Err(FitError::RecallNotReached { asked, reached: reached.fold(0.0, f64::max) });
        }
        let mean = means[chosen];
        near.reach = reaches[chosen];
        near.measured = Some(TailRecall {
            asked,
            measured: mean.recall,
            at_least: bounds[chosen],
            rows,
            cells: near.cells.len(),
            probed: mean.cells,
            share: mean.columns / count,
            scale_error: 0.0,
            shape_error: 0.0,
            psi_error: 0.0,
        });
        Ok(near)
    }

    /// The recall, with what it did to the fits: `exact` makes a fit of a row and its whole tail, `found` is the one that was
    /// made. `None` where nothing was measured.
    pub(crate) fn recall<'f>(
        &self,
        model: TailModel,
        exact: impl Fn(usize, &[f32]) -> PsiModel,
        found: impl Fn(usize) -> &'f PsiModel,
    ) -> Option<TailRecall> {
        let mut recall = self.measured?;
        let mut logarithms = [0.0, 0.0];
        for row in &self.sample {
            let (exact, found) = (exact(row.position, &row.tail), found(row.position));
            // Scales of rows that meet themselves under another label are 0, and have no logarithm.
            let off = |a: f64, b: f64| if a > 0.0 && b > 0.0 { (a / b).ln().abs() } else { 0.0 };
            logarithms[0] += off(found.scale, exact.scale);
            logarithms[1] += off(found.shape, exact.shape);
            let radius = f64::from(Curve::new(model, &exact).radius(0.5)).max(0.0);
            let difference = found.probability(model, radius) - exact.probability(model, radius);
            recall.psi_error = recall.psi_error.max(difference.abs());
        }
        let rows = self.sample.len() as f64;
        (recall.scale_error, recall.shape_error) = (logarithms[0] / rows, logarithms[1] / rows);
        Some(recall)
    }

    /// As [`execute`](super::execute).
    pub(crate) fn tails<W: Default, R: Send>(
        &self,
        finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
    ) -> Result<Vec<R>, Halt> {
        let problem = self.problem;
        let meter = problem.run.meter(problem.stage, problem.rows.indices.len());
        let cells = (0..self.cells.len()).map(|cell| self.cells.range(cell));
        let blocks: Vec<&[u32]> =
            cells.flat_map(|range| self.cells.positions()[range].chunks(problem.run.tile_rows)).collect();
        let finished: Result<Vec<Vec<(usize, R)>>, Halt> = blocks
            .par_iter()
            .map_init(
                || Room::new(self),
                |room, positions| {
                    let mut smallest = self.gather(&meter, positions, room)?;
                    let mut workspace = W::default();
                    let results = positions.iter().enumerate().map(|(row, &position)| {
                        let tail = distances(problem.metric, &mut smallest, row);
                        (position as usize, finish(position as usize, tail, &mut workspace))
                    });
                    let results = results.collect();
                    meter.advance(positions.len())?;
                    Ok(results)
                },
            )
            .collect();
        let mut finished: Vec<(usize, R)> = finished?.into_iter().flatten().collect();
        finished.par_sort_unstable_by_key(|(position, _)| *position);
        Ok(finished.into_iter().map(|(_, result)| result).collect())
    }

    /// The smallest ranks of rows that lie close together.
    fn gather(&self, meter: &Meter<'_>, positions: &[u32], room: &mut Room<'_>) -> Result<Smallest, Halt> {
        let (problem, rows) = (self.problem, &self.problem.rows);
        let indices: Vec<usize> = positions.iter().map(|&at| rows.indices[at as usize]).collect();
        let classes = positions.iter().map(|&at| rows.classes[at as usize]);
        self.visit(&indices, classes.clone(), room)?;
        let mut smallest = Smallest::new(classes.map(|class| (problem.size(class), f32::INFINITY)));
        let columns = self.cells.columns();
        for (cell, visitors) in room.visits.iter() {
            meter.check()?;
            let visiting: Vec<usize> = visitors.iter().map(|visitor| indices[visitor.row]).collect();
            let block = columns.block(rows.points, &visiting);
            let range = self.cells.range(cell);
            for start in range.clone().step_by(problem.run.tile_columns) {
                let part = start..(start + problem.run.tile_columns).min(range.end);
                columns.ranks(&block, part.clone(), &mut room.tile)?;
                for (at, visitor) in visitors.iter().enumerate() {
                    let ranks = room.tile.row(at);
                    let own = visitor.own.start.clamp(part.start, part.end)
                        ..visitor.own.end.clamp(part.start, part.end);
                    smallest.offer(visitor.row, &ranks[..own.start - part.start]);
                    smallest.offer(visitor.row, &ranks[own.end.max(own.start) - part.start..]);
                }
            }
        }
        Ok(smallest)
    }

    /// Finds out which of the rows look into which cells: those that the first of them is nearest to come first.
    fn visit(
        &self,
        indices: &[usize],
        classes: impl Iterator<Item = u32>,
        room: &mut Room<'_>,
    ) -> Result<(), Halt> {
        let centres = self.cells.centres();
        let block = centres.block(self.problem.rows.points, indices);
        centres.ranks(&block, 0..centres.len(), &mut room.tile)?;
        let Room { others, probe, tile, visits } = room;
        visits.clear();
        for (row, class) in classes.enumerate() {
            others.turn_to(class);
            let reach = self.reach.max(self.problem.size(class));
            for cell in probe.choose(tile.row(row), &others.counts, reach) {
                visits.add(cell, Visitor { row, own: others.own[cell].clone() });
            }
        }
        Ok(())
    }

    /// Rows that are spread over all, with their tails and what they would find.
    fn sampled(&self, reaches: &[usize]) -> Result<Vec<Sampled>, Halt> {
        let count = self.classes.len();
        let size = SAMPLED.min(count);
        // One of each part, as if drawn.
        let start = |part: usize| part * count / size;
        let positions: Vec<usize> = (0..size)
            .map(|part| start(part) + (spread(part as u64) % (start(part + 1) - start(part)) as u64) as usize)
            .collect();
        let meter = self.problem.run.meter(self.problem.stage, count);
        let blocks: Result<Vec<Vec<Sampled>>, Halt> = positions
            .par_chunks(BLOCK)
            .map(|positions| {
                let rows = &self.problem.rows;
                let indices: Vec<usize> = positions.iter().map(|&at| rows.indices[at]).collect();
                let tails = self.whole_tails(&meter, positions, &indices)?;
                let (mut tile, mut others, mut probe) =
                    (Tile::default(), Others::new(self), Probe::default());
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

    /// The tails of some rows from all columns, sorted: rank and column.
    fn whole_tails(
        &self,
        meter: &Meter<'_>,
        positions: &[usize],
        indices: &[usize],
    ) -> Result<Vec<Vec<(f32, usize)>>, Halt> {
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
                for (column, &rank) in (first..).zip(tile.row(row)) {
                    if rank < bounds[row] && self.classes[column] != class {
                        tail.push((rank, column));
                        if tail.len() > 2 * size + 64 {
                            bounds[row] = tail.select_nth_unstable_by(size - 1, order).1.0;
                            tail.truncate(size);
                        }
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
    fn found(&self, counts: &[u32], order: &[usize], tail: &[(f32, usize)], reaches: &[usize]) -> Vec<Found> {
        let mut members = vec![0u32; counts.len()];
        for &(_, column) in tail {
            members[self.cells.cell_of(column)] += 1;
        }
        let mut found = Vec::with_capacity(reaches.len());
        let (mut met, mut here) = (0, Found::default());
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
            found.push(Found { recall, ..here });
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

fn mean(rows: impl Iterator<Item = Found>) -> Found {
    let mut count = 0.0;
    let mut sum = Found::default();
    for row in rows {
        count += 1.0;
        sum.recall += row.recall;
        sum.columns += row.columns;
        sum.cells += row.cells;
    }
    Found { recall: sum.recall / count, columns: sum.columns / count, cells: sum.cells / count }
}

/// A row of a block in a cell, with the columns of its own class there.
struct Visitor {
    row: usize,
    own: Range<usize>,
}

/// Memory that one block leaves to the next.
struct Room<'a> {
    others: Others<'a>,
    probe: Probe,
    tile: Tile,
    visits: Visits<Visitor>,
}

impl<'a> Room<'a> {
    fn new(near: &'a Near<'_>) -> Self {
        Self {
            others: Others::new(near),
            probe: Probe::default(),
            tile: Tile::default(),
            visits: Visits::new(near.cells.len()),
        }
    }
}

/// What there is of other classes than one.
struct Others<'a> {
    parts: &'a [Vec<Own>],
    class: Option<u32>,
    /// By cell, its columns of other classes.
    counts: Vec<u32>,
    /// By cell, its columns of the class itself.
    own: Vec<Range<usize>>,
}

impl<'a> Others<'a> {
    fn new(near: &'a Near<'_>) -> Self {
        let counts = (0..near.cells.len()).map(|cell| near.cells.range(cell).len() as u32).collect();
        Self { parts: &near.own, class: None, counts, own: vec![0..0; near.cells.len()] }
    }

    fn turn_to(&mut self, class: u32) {
        if self.class == Some(class) {
            return;
        }
        for part in self.class.map_or(&[][..], |class| &self.parts[class as usize]) {
            self.counts[part.cell] += part.columns.len() as u32;
            self.own[part.cell] = 0..0;
        }
        for part in &self.parts[class as usize] {
            self.counts[part.cell] -= part.columns.len() as u32;
            self.own[part.cell] = part.columns.clone();
        }
        self.class = Some(class);
    }
}
