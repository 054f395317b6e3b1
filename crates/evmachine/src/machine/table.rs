//! Distances of queries to the extreme vectors of a model, measured once and asked by many.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::denied::Loss;
use crate::machine::ignored;
use crate::machine::score::{self, ClassScore};
use crate::machine::support::{Estimates, QueryMemory, SupportSearch};
use evmachine_engine::distance::{GROUP, Tile};
use evmachine_engine::features::Features;
use evmachine_engine::metric::MetricError;
use evmachine_engine::run::{Meter, Run, Stage};

/// Queries that are measured at once, at most, where something is left out.
const ASKED: usize = 256;
/// Stands for the distance of a query to an extreme vector that is left out.
const FAR: f32 = 1e18;

/// Distances of queries to all extreme vectors of a model. Takes 4 bytes a pair.
#[derive(Debug, Clone)]
pub struct DistanceTable {
    rows: usize,
    columns: usize,
    distances: Vec<f32>,
    /// Of each query to the nearest ignored sample; none where there are no such samples.
    ignored: Vec<f32>,
    /// By class with denials, of each query to the nearest of them.
    denied: Vec<(u32, Vec<f32>)>,
    /// Columns by the training row that they came from.
    by_source: HashMap<u64, u32>,
}

impl DistanceTable {
    /// Measures queries against all extreme vectors of the model.
    pub fn measure(run: &Run<'_>, model: &Machine, queries: &Features<'_>) -> Result<Self, RunError> {
        let meter = run.meter(Stage::Predict, queries.rows());
        model.measured(run, &meter, queries)
    }

    /// As [`Evm::map_queries`](crate::Evm::map_queries), for the support in feature space alone, from the distances of this table. The model is
    /// the one that measured, or was derived from it.
    ///
    /// # Panics
    ///
    /// If the table lacks an extreme vector of the model.
    pub fn map_queries<R: Send>(
        &self,
        model: &Machine,
        each: impl Fn(usize, &[ClassScore]) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        Ok(model.for_each_fallen(self, &model.falls_measured(self)?, each))
    }

    /// Number of queries.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of extreme vectors measured against.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The distances of a query, in the order of [`Machine::extreme_vectors`] of the model that measured.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.distances[row * self.columns..(row + 1) * self.columns]
    }
}

impl Machine {
    /// Measures the queries against all extreme vectors. The meter counts queries.
    fn measured(
        &self,
        run: &Run<'_>,
        meter: &Meter<'_>,
        queries: &Features<'_>,
    ) -> Result<DistanceTable, RunError> {
        let points = self.query_points(queries)?;
        let lookup = self.lookup();
        lookup.columns.prepare();
        let columns = lookup.columns.len();
        let metric = &self.params.metric;
        let mut distances = vec![0.0; points.len() * columns];
        let block_rows = run.block_rows(points.len());
        let measured: Result<(), RunError> =
            distances.par_chunks_mut(block_rows * columns).enumerate().try_for_each(|(block, distances)| {
                meter.check()?;
                let first = block * block_rows;
                let rows: Vec<usize> = (first..first + distances.len() / columns).collect();
                let block = lookup.columns.block(&points, &rows);
                let mut tile = Tile::default();
                for start in (0..columns).step_by(run.tile_columns()) {
                    let end = (start + run.tile_columns()).min(columns);
                    lookup.columns.ranks(&block, start..end, &mut tile)?;
                    for (row, distances) in distances.chunks_exact_mut(columns).enumerate() {
                        for (distance, &rank) in distances[start..end].iter_mut().zip(tile.row(row)) {
                            *distance = metric.distance_of_rank(rank);
                        }
                    }
                }
                meter.advance(rows.len())
            });
        measured?;
        let all: Vec<usize> = (0..points.len()).collect();
        let ignored = self.nearest_ignored(&points, &all, run.tile_columns())?.unwrap_or_default();
        let ignored = ignored.into_iter().map(|(rank, _)| metric.distance_of_rank(rank)).collect();
        let denied = self.nearest_denied(&points, &all, run.tile_columns())?.into_iter();
        let denied = denied.map(|(class, found)| {
            (class, found.into_iter().map(|(rank, _)| metric.distance_of_rank(rank)).collect())
        });
        let denied = denied.collect();
        let by_source =
            (0..).zip(self.extreme_vectors()).map(|(column, vector)| (vector.source, column)).collect();
        Ok(DistanceTable { rows: points.len(), columns, distances, ignored, denied, by_source })
    }

    /// Calls `each` with the scores of every query, without the extreme vector of its source. Queries are measured some at a time; `before`
    /// gets each part of them, from which row on, and what it returns is handed to `each` with the row within the part.
    pub(crate) fn for_each_without<B: Sync, R: Send>(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        without: &[u64],
        before: impl Fn(usize, &Features<'_>) -> Result<B, RunError>,
        each: impl Fn(&B, usize, &[ClassScore]) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        let meter = run.meter(Stage::Predict, queries.rows());
        let mut all = Vec::with_capacity(queries.rows());
        // Their distances take a quarter of the memory at most, or a few rows.
        let width = (self.extreme_vector_count() * size_of::<f32>()).max(1);
        let asked = (run.working_memory() / 4 / width).clamp(GROUP, ASKED);
        for first in (0..queries.rows()).step_by(asked) {
            let end = (first + asked).min(queries.rows());
            let part = queries.part(first..end);
            let mut table = self.measured(run, &meter, &part)?;
            let falls = self.falls_measured(&table)?;
            for (row, source) in without[first..end].iter().enumerate() {
                if let Some(&column) = table.by_source.get(source) {
                    table.distances[row * table.columns + column as usize] = FAR;
                }
            }
            let given = before(first, &part)?;
            all.extend(self.for_each_fallen(&table, &falls, |row, scores| each(&given, row, scores)));
        }
        Ok(all)
    }

    /// By how much the supports of each measured query fall, for its distance of the first extreme vector.
    fn falls_measured(&self, table: &DistanceTable) -> Result<Vec<f64>, MetricError> {
        let first = self.extreme_vectors().next().map(|vector| table.by_source[&vector.source] as usize);
        Ok(match (self.lookup().reach()?, first) {
            (Some(reach), Some(first)) => {
                (0..table.rows).map(|row| reach.fall(f64::from(table.row(row)[first]))).collect()
            }
            _ => vec![0.0; table.rows],
        })
    }

    fn for_each_fallen<R: Send>(
        &self,
        table: &DistanceTable,
        falls: &[f64],
        each: impl Fn(usize, &[ClassScore]) -> R + Sync,
    ) -> Vec<R> {
        let lookup = self.lookup();
        let columns: Vec<u32> =
            self.extreme_vectors().map(|vector| table.by_source[&vector.source]).collect();
        let whole = columns.len() == table.columns && (0..).zip(&columns).all(|(i, &column)| i == column);
        let estimates = Estimates::new(&lookup.curves, self.dimensions, false);
        let search = SupportSearch { estimates: &estimates, ..lookup.search(self.fused()) };
        let fused = search.fused;
        (0..table.rows)
            .into_par_iter()
            .map_init(
                || (vec![0.0; fused * self.classes.len()], Vec::new(), Vec::new(), QueryMemory::default()),
                |(best, chosen, scores, scratch), row| {
                    let mut distances = table.row(row);
                    if !whole {
                        chosen.clear();
                        chosen.extend(columns.iter().map(|&column| distances[column as usize]));
                        distances = &chosen[..];
                    }
                    best.fill(f64::NEG_INFINITY);
                    search.offer(0, distances, |distance| distance, best, scratch);
                    let nearest = || distances.iter().copied().fold(f32::INFINITY, f32::min);
                    let stranger = table.ignored.get(row).is_some_and(|stranger| *stranger <= nearest());
                    let fall = falls[row] + if stranger { ignored::FALL } else { 0.0 };
                    let denied = table.denied.iter().filter(|(_, found)| found[row] <= nearest());
                    let loss = Loss { fall, denied: denied.map(|(class, _)| *class).collect() };
                    scores.clear();
                    scores.extend(best.chunks_exact(fused).zip(&lookup.ranges).map(|(best, range)| {
                        let found = score::score(self.params.tail_model, &best[..fused.min(range.len())]);
                        score::fallen(self.params.tail_model, found, fall)
                    }));
                    loss.deny(scores);
                    each(row, scores)
                },
            )
            .collect()
    }
}
