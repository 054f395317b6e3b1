//! Near cells: a row meets the points of the cells whose centres are nearest to it, until there are enough of other classes.
//!
//! What is measured is exact; which pairs are measured is not. How many points are enough is found on a [`sample`].

mod sample;

use std::ops::Range;

use rayon::prelude::*;

use self::sample::Sampled;
use crate::cells::{Cells, Visits, threshold};
use crate::distance::{LooseRows, RowBlock, Tile};
use crate::error::RunError;
use crate::psi::PsiModel;
use crate::psi::TailModel;
use crate::psi::curve::Curve;
use crate::run::Meter;
use crate::search::TailRecall;
use crate::tail::smallest::Smallest;
use crate::tail::{Problem, distances};

/// Tiles of rows that choose cells together, so that enough of them visit each.
const TILES: usize = 4;

/// Rows among themselves, in cells.
pub struct Near<'a> {
    problem: &'a Problem<'a>,
    cells: Cells,
    /// By class, its columns: cell after cell.
    own: Vec<Vec<Own>>,
    /// Points of other classes that a row meets, at least, where there are as many.
    reach: usize,
    sample: Vec<Sampled>,
    measured: Option<TailRecall>,
}

/// The columns of a class in a cell, counted from its first.
struct Own {
    cell: usize,
    columns: Range<u32>,
}

impl<'a> Near<'a> {
    /// Rows that meet everything: tails are exact.
    pub(crate) fn whole(problem: &'a Problem<'a>) -> Result<Self, RunError> {
        let rows = &problem.rows;
        let meter = problem.run.meter(problem.stage, rows.indices.len());
        let cells = Cells::new(&meter, problem.metric, rows.points, rows.indices)?;
        let mut own: Vec<Vec<Own>> = problem.sizes.iter().map(|_| Vec::new()).collect();
        for cell in 0..cells.len() {
            let (mut start, class) = (0, |at: u32| rows.classes[at as usize]);
            for part in cells.positions(cell).chunk_by(|&a, &b| class(a) == class(b)) {
                let end = start + part.len() as u32;
                own[class(part[0]) as usize].push(Own { cell, columns: start..end });
                start = end;
            }
        }
        Ok(Self { problem, cells, own, reach: usize::MAX, sample: Vec::new(), measured: None })
    }

    /// The recall, with what it did to the fits: `exact` makes a fit of a row and its whole tail, `found` is the one that was
    /// made. `None` where nothing was measured.
    pub fn recall<'f>(
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
    pub fn tails<W: Default, R: Send>(
        &self,
        finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        let problem = self.problem;
        let meter = problem.run.meter(problem.stage, problem.rows.indices.len());
        let order: Vec<u32> =
            (0..self.cells.len()).flat_map(|cell| self.cells.positions(cell)).copied().collect();
        let blocks: Vec<&[u32]> = order.chunks(TILES * problem.run.tile_rows).collect();
        let finished: Result<Vec<Vec<(usize, R)>>, RunError> = blocks
            .par_iter()
            .map_init(
                || GatheringRoom::new(self),
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

    /// The smallest ranks of some rows.
    fn gather(
        &self,
        meter: &Meter<'_>,
        positions: &[u32],
        room: &mut GatheringRoom<'_>,
    ) -> Result<Smallest, RunError> {
        let (problem, rows) = (self.problem, &self.problem.rows);
        let indices: Vec<usize> = positions.iter().map(|&at| rows.indices[at as usize]).collect();
        let classes = positions.iter().map(|&at| rows.classes[at as usize]);
        let columns = self.cells.columns();
        let loose = LooseRows::new(columns, rows.points, &indices);
        self.visit(&loose, classes.clone(), room)?;
        let mut smallest = Smallest::new(classes.map(|class| (problem.size(class), f32::INFINITY)));
        let GatheringRoom { tile, visits, block, .. } = room;
        for (cell, visitors) in visits.iter() {
            let range = self.cells.range(cell);
            for visitors in visitors.chunks(problem.run.tile_rows) {
                meter.check()?;
                loose.lay_out(visitors.iter().map(|visitor| visitor.row as usize), block);
                for start in range.clone().step_by(problem.run.tile_columns) {
                    let part = start..(start + problem.run.tile_columns).min(range.end);
                    columns.ranks(block, part.clone(), tile)?;
                    smallest.offer_near(visitors.iter().enumerate().flat_map(|(at, visitor)| {
                        let own = visitor.own_from(range.start, &part);
                        let (before, after) = (&tile.row(at)[..own.start], &tile.row(at)[own.end..]);
                        [(visitor.row as usize, before), (visitor.row as usize, after)]
                    }));
                }
            }
        }
        Ok(smallest)
    }

    /// Finds out which of the rows look into which cells.
    fn visit(
        &self,
        rows: &LooseRows,
        classes: impl Iterator<Item = u32>,
        room: &mut GatheringRoom<'_>,
    ) -> Result<(), RunError> {
        self.cells.centres().ranks(rows.all(), 0..self.cells.len(), &mut room.tile)?;
        let GatheringRoom { others, tile, visits, .. } = room;
        visits.clear();
        for (row, class) in (0..).zip(classes) {
            others.turn_to(class);
            let ranks = tile.row(row as usize);
            let limit = threshold(ranks, &others.counts, self.reach.max(self.problem.size(class)));
            for (cell, (rank, &count)) in ranks.iter().zip(&others.counts).enumerate() {
                if *rank <= limit && count > 0 {
                    visits.add(cell, Visitor { row, own: others.own[cell].clone() });
                }
            }
        }
        Ok(())
    }
}

/// A row of a block in a cell, with the columns of its own class there, counted from the first.
struct Visitor {
    row: u32,
    own: Range<u32>,
}

impl Visitor {
    /// The columns of its own class within a part of a cell that begins at `start`, counted from the start of the part; where there are
    /// none, those before the end of it.
    fn own_from(&self, start: usize, part: &Range<usize>) -> Range<usize> {
        if self.own.is_empty() {
            return part.len()..part.len();
        }
        let within = |own: u32| (start + own as usize).clamp(part.start, part.end) - part.start;
        within(self.own.start)..within(self.own.end)
    }
}

/// Memory that one block leaves to the next.
struct GatheringRoom<'a> {
    others: Others<'a>,
    tile: Tile,
    block: RowBlock,
    visits: Visits<Visitor>,
}

impl<'a> GatheringRoom<'a> {
    fn new(near: &'a Near<'_>) -> Self {
        Self {
            others: Others::new(near),
            tile: Tile::default(),
            block: RowBlock::default(),
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
    /// By cell, its columns of the class itself, counted from its first.
    own: Vec<Range<u32>>,
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
