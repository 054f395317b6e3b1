//! Extreme vectors in cells: a query meets those of the cells nearest to it.
//!
//! How many are enough is measured on rows that the model keeps for its threshold, or on extreme vectors where it keeps none; either
//! without the extreme vectors that they became themselves.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;

use super::SweptVectors;
use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::score::{ClassScore, score};
use crate::machine::support::{Estimates, QueryMemory, SupportSearch, keep_largest};
use evmachine_engine::cells::{CellChoice, Cells, Visits, lower_bound};
use evmachine_engine::distance::{LooseRows, RowBlock, Tile};
use evmachine_engine::features::Features;
use evmachine_engine::math::spread;
use evmachine_engine::points::Points;
use evmachine_engine::psi::curve::{Curve, Curves};
use evmachine_engine::run::{Meter, Run, Stage};

/// With fewer extreme vectors all of them are met: a query takes less than a millisecond.
const MANY: usize = 1 << 15;
/// Queries that are tried, and how many of them meet the extreme vectors at once.
const SAMPLED: usize = 2_048;
const BLOCK: usize = 12;
/// From one number of extreme vectors to the next that is tried, the first, and the largest share of all of them.
const STEP: f64 = 1.25;
const FEWEST: usize = 64;
const MOST: f64 = 0.25;

/// Extreme vectors in cells.
pub(crate) struct NearVectors {
    cells: Cells,
    /// As in a [`Lookup`](crate::machine::lookup::Lookup), in the order of the columns of the cells.
    curves: Curves,
    estimates: Estimates,
    /// Extreme vectors of one class in one cell, cell after cell, and the class of each.
    runs: Vec<Range<usize>>,
    classes: Vec<u32>,
    /// Where the runs of each cell begin, and the end.
    firsts: Vec<usize>,
    /// Extreme vectors of each cell.
    counts: Vec<u32>,
    /// Extreme vectors that a query meets, at least.
    reach: usize,
    pub(crate) recall: Option<DecisionRecall>,
}

/// How often a query that meets the nearest extreme vectors alone is decided as if it met all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DecisionRecall {
    /// The recall that was asked for.
    pub asked: f64,
    /// The share of the queries tried that have the same best class, and are known or unknown both ways.
    pub measured: f64,
    /// Over all queries like them it is at least this, with a confidence of 95 %.
    pub at_least: f64,
    /// Queries tried.
    pub queries: usize,
    /// Cells that the extreme vectors are divided into.
    pub cells: usize,
    /// The share of the extreme vectors that a query meets, on average.
    pub share: f64,
}

impl fmt::Display for DecisionRecall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:.2} % of decisions as by an exact search, {:.2} % at least, by {} queries; {} cells, {:.2} % of extreme vectors met",
            100.0 * self.measured,
            100.0 * self.at_least,
            self.queries,
            self.cells,
            100.0 * self.share
        )
    }
}

/// The best class by the scores of a query, and its class if it is known.
pub(crate) type Call<'a> = dyn Fn(&[ClassScore]) -> (usize, Option<usize>) + Sync + 'a;

/// What calls queries, for measuring how many extreme vectors they have to meet.
pub(crate) struct Caller<'a> {
    /// Rows like those that will come, as they came, and the number of each. Without any, extreme vectors stand in.
    pub(crate) rows: Option<(Features<'a>, &'a [u64])>,
    pub(crate) call: &'a Call<'a>,
}

impl Machine {
    /// The extreme vectors in cells, if queries meet those of near cells alone. Measured once, by what the caller calls queries.
    pub(crate) fn near_vectors(
        &self,
        run: &Run<'_>,
        caller: &Caller<'_>,
    ) -> Result<Option<&NearVectors>, RunError> {
        let Some(asked) = self.params.search.recall() else { return Ok(None) };
        self.cached_near_vectors(|| {
            if self.extreme_vector_count() < run.many().unwrap_or(MANY) {
                Ok(None)
            } else {
                NearVectors::measured(self, caller, asked)
            }
        })
    }
}

impl NearVectors {
    /// Queries that meet all extreme vectors.
    pub(crate) fn whole(evm: &Machine) -> Result<Self, RunError> {
        let points = evm.points();
        let all: Vec<usize> = (0..points.len()).collect();
        let meter = Run::new().meter(Stage::Predict, 0);
        let cells = Cells::new(&meter, &evm.params.metric, &points, &all)?;
        let pooled: Vec<Curve> =
            evm.pooled_psi().map(|psi| Curve::new(evm.params.tail_model, &psi)).collect();
        let (mut order, mut of_columns) = (vec![0; cells.columns().len()], vec![0; cells.columns().len()]);
        let ranges = evm.ranges();
        for cell in 0..cells.len() {
            for (column, &position) in cells.range(cell).zip(cells.positions(cell)) {
                order[column] = position as usize;
                of_columns[column] = ranges.partition_point(|range| range.end <= position as usize) as u32;
            }
        }
        let curves = Curves::new(evm.params.tail_model, order.iter().map(|&at| pooled[at]).collect());
        let (mut runs, mut classes, mut firsts) = (Vec::new(), Vec::new(), vec![0]);
        for cell in 0..cells.len() {
            let mut start = cells.range(cell).start;
            for run in of_columns[cells.range(cell)].chunk_by(|a, b| a == b) {
                classes.push(run[0]);
                runs.push(start..start + run.len());
                start += run.len();
            }
            firsts.push(runs.len());
        }
        let counts = (0..cells.len()).map(|cell| cells.range(cell).len() as u32).collect();
        let estimates = Estimates::new(&curves, evm.dimensions, evm.params.metric.ranks_are_squares());
        Ok(Self { cells, curves, estimates, runs, classes, firsts, counts, reach: usize::MAX, recall: None })
    }

    /// Queries that meet as few as the recall allows; `None` where they would be too many.
    pub(crate) fn measured(evm: &Machine, caller: &Caller<'_>, asked: f64) -> Result<Option<Self>, RunError> {
        let mut near = Self::whole(evm)?;
        let count = evm.extreme_vector_count();
        let reaches: Vec<usize> = std::iter::successors(Some(FEWEST as f64), |reach| Some(reach * STEP))
            .map(|reach| reach as usize)
            .take_while(|&reach| reach as f64 <= MOST * count as f64)
            .chain([usize::MAX])
            .collect();
        let tried = near.tried(evm, caller, &reaches)?;
        let mean = |of: &dyn Fn(&Tried) -> f64| tried.iter().map(of).sum::<f64>() / tried.len() as f64;
        let same = |at: usize| mean(&|query| f64::from(query.same[at]));
        let bounds: Vec<f64> = (0..reaches.len()).map(|at| lower_bound(same(at), tried.len())).collect();
        let chosen = bounds.iter().rposition(|&bound| bound < asked).map_or(0, |failed| failed + 1);
        if chosen >= reaches.len() {
            return Ok(None);
        }
        let share = mean(&|query| query.met[chosen] as f64) / count as f64;
        near.reach = reaches[chosen];
        near.recall = Some(DecisionRecall {
            asked,
            measured: same(chosen),
            at_least: bounds[chosen],
            queries: tried.len(),
            cells: near.cells.len(),
            share,
        });
        Ok((share + near.cells.len() as f64 / count as f64 <= MOST).then_some(near))
    }

    /// For queries like those that will come, what they are called for each number of extreme vectors that they meet.
    fn tried(&self, evm: &Machine, caller: &Caller<'_>, reaches: &[usize]) -> Result<Vec<Tried>, RunError> {
        let columns: HashMap<u64, usize> = self.columns_of(evm);
        let (points, sources) = match &caller.rows {
            Some((features, sources)) => (evm.query_points(features)?, sources.to_vec()),
            None => (evm.points(), evm.extreme_vectors().map(|vector| vector.source).collect()),
        };
        let size = SAMPLED.min(points.len());
        let start = |part: usize| part * points.len() / size;
        let rows: Vec<usize> = (0..size)
            .map(|part| start(part) + (spread(part as u64) % (start(part + 1) - start(part)) as u64) as usize)
            .collect();
        let blocks: Result<Vec<Vec<Tried>>, RunError> = rows
            .par_chunks(BLOCK)
            .map(|rows| {
                let block = self.cells.columns().block(&points, rows);
                let (mut centres, mut ranks, mut probe) =
                    (Tile::default(), Tile::default(), CellChoice::default());
                self.cells.centres().ranks(&block, 0..self.cells.len(), &mut centres)?;
                self.cells.columns().ranks(&block, 0..self.cells.columns().len(), &mut ranks)?;
                let tried = rows.iter().enumerate().map(|(at, row)| {
                    let order: Vec<usize> = probe.choose(centres.row(at), &self.counts, usize::MAX).collect();
                    self.try_one(
                        (evm, caller),
                        &order,
                        ranks.row(at),
                        columns.get(&sources[*row]).copied(),
                        reaches,
                    )
                });
                Ok(tried.collect())
            })
            .collect();
        Ok(blocks?.into_iter().flatten().collect())
    }

    /// The column of each training row that became an extreme vector.
    fn columns_of(&self, evm: &Machine) -> HashMap<u64, usize> {
        let sources: Vec<u64> = evm.extreme_vectors().map(|vector| vector.source).collect();
        let cells =
            (0..self.cells.len()).flat_map(|cell| self.cells.range(cell).zip(self.cells.positions(cell)));
        cells.map(|(column, &at)| (sources[at as usize], column)).collect()
    }

    fn try_one(
        &self,
        (evm, caller): (&Machine, &Caller<'_>),
        order: &[usize],
        ranks: &[f32],
        left_out: Option<usize>,
        reaches: &[usize],
    ) -> Tried {
        let (metric, model, fused) = (&evm.params.metric, evm.params.tail_model, evm.fused());
        let mut best = vec![f64::NEG_INFINITY; evm.classes.len() * fused];
        let score_of = |best: &[f64], class: usize| {
            score(model, &best[class * fused..][..fused.min(evm.classes[class].len())])
        };
        let mut scores: Vec<ClassScore> =
            (0..evm.classes.len()).map(|class| score_of(&best, class)).collect();
        // Classes whose score has to be taken anew.
        let (mut changed, mut is_changed) = (Vec::new(), vec![false; scores.len()]);
        let mut supports = Vec::new();
        let (mut met, mut cells) = (0, order.iter());
        let mut called = Vec::with_capacity(reaches.len());
        let mut tried = Tried::default();
        for &reach in reaches {
            while met < reach
                && let Some(&cell) = cells.next()
            {
                let range = self.cells.range(cell);
                met += range.len();
                supports.resize(range.len(), 0.0);
                let at = range.clone().map(|column| (column, metric.distance_of_rank(ranks[column])));
                self.curves.support(at, &mut supports);
                if let Some(own) = left_out.filter(|own| range.contains(own)) {
                    supports[own - range.start] = f64::NEG_INFINITY;
                }
                for run in self.firsts[cell]..self.firsts[cell + 1] {
                    let (class, columns) = (self.classes[run] as usize, &self.runs[run]);
                    let supports = &supports[columns.start - range.start..columns.end - range.start];
                    keep_largest(&mut best[class * fused..(class + 1) * fused], supports);
                    if !std::mem::replace(&mut is_changed[class], true) {
                        changed.push(class);
                    }
                }
            }
            for class in changed.drain(..) {
                scores[class] = score_of(&best, class);
                is_changed[class] = false;
            }
            called.push((caller.call)(&scores));
            tried.met.push(met);
        }
        tried.same = called.iter().map(|one| Some(one) == called.last()).collect();
        tried
    }

    /// The cell, as a part of the way over all extreme vectors.
    fn part(&self, cell: usize, fused: usize) -> SweptVectors<'_> {
        let runs = self.firsts[cell]..self.firsts[cell + 1];
        SweptVectors {
            search: SupportSearch {
                curves: &self.curves,
                estimates: &self.estimates,
                ranges: &self.runs[runs.clone()],
                fused,
            },
            classes: Some(&self.classes[runs]),
        }
    }

    /// Queries in an order in which neighbours meet the same cells.
    pub(super) fn order(
        &self,
        meter: &Meter<'_>,
        points: &Points<'_>,
        rows: &[usize],
    ) -> Result<Vec<usize>, RunError> {
        self.cells.order(meter, points, rows)
    }

    /// Calls `offer` with a row of the block, counted from 0, the cell as a part, its first column and the ranks there.
    pub(crate) fn meet(
        &self,
        run: &Run<'_>,
        (points, rows): (&Points<'_>, &[usize]),
        fused: usize,
        mut offer: impl FnMut(usize, &SweptVectors<'_>, usize, &[f32], &mut QueryMemory),
    ) -> Result<(), RunError> {
        let (centres, columns) = (self.cells.centres(), self.cells.columns());
        let (mut tile, mut scratch) = (Tile::default(), QueryMemory::default());
        let (mut probe, mut visits) = (CellChoice::default(), Visits::new(self.cells.len()));
        let (loose, mut block) = (LooseRows::new(columns, points, rows), RowBlock::default());
        centres.ranks(loose.all(), 0..centres.len(), &mut tile)?;
        for row in 0..rows.len() {
            for cell in probe.choose(tile.row(row), &self.counts, self.reach) {
                visits.add(cell, row);
            }
        }
        for (cell, visitors) in visits.iter() {
            loose.lay_out(visitors.iter().copied(), &mut block);
            let (part, range) = (self.part(cell, fused), self.cells.range(cell));
            for start in range.clone().step_by(run.tile_columns()) {
                columns.ranks(&block, start..(start + run.tile_columns()).min(range.end), &mut tile)?;
                for (at, &row) in visitors.iter().enumerate() {
                    offer(row, &part, start, tile.row(at), &mut scratch);
                }
            }
        }
        Ok(())
    }
}

/// A query that was tried, for each number of extreme vectors that it may meet.
#[derive(Default)]
struct Tried {
    /// Whether it is called the same as when it meets all of them.
    same: Vec<bool>,
    /// How many it met.
    met: Vec<usize>,
}
