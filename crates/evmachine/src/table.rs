//! Distances measured once and used by many models: what tuning is made of.
//!
//! A model that keeps every point and remembers its tails whole holds all that depends on distances between
//! training points. [`Evm::derive`] makes of it the model that other parameters would have given, and a
//! [`DistanceTable`] answers queries to all of those models.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::cover::Target;
use crate::decision::{self, ClassScore};
use crate::distance::Tile;
use crate::error::{FitError, Halt, PredictError};
use crate::features::Features;
use crate::model::{ClassModel, Evm};
use crate::params::{Params, ReduceWhen, TailMemory, TailModel};
use crate::points::Points;
use crate::progress::Run;
use crate::psi::PsiModel;
use crate::reduce::Originals;
use crate::support::{Estimates, Scratch, Search};
use crate::update::fit_tail;
use crate::weibull::Workspace;

/// Queries that are measured at once where something is left out.
const ASKED: usize = 256;
/// Stands for the distance of a query to an extreme vector that is left out.
const FAR: f32 = 1e18;

/// Distances of queries to all extreme vectors of a model. Takes 4 bytes a pair.
#[derive(Debug, Clone)]
pub struct DistanceTable {
    rows: usize,
    columns: usize,
    distances: Vec<f32>,
    /// Columns by the training row that they came from.
    by_source: HashMap<u64, u32>,
}

impl DistanceTable {
    /// Number of queries.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of extreme vectors measured against.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The distances of a query, in the order of [`Evm::extreme_vectors`] of the model that measured.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.distances[row * self.columns..(row + 1) * self.columns]
    }
}

/// The fits of all tails of a model, for [`Evm::derive_with`].
#[derive(Debug, Clone)]
pub struct TailFits {
    params: Params,
    /// Tail size and fits of each class.
    classes: Vec<(usize, Vec<PsiModel>)>,
}

impl TailFits {
    /// Whether models with these parameters can be derived from them.
    pub fn serve(&self, params: &Params) -> bool {
        let own = &self.params;
        own.tail_size == params.tail_size
            && own.tail_model == params.tail_model
            && own.fixed_shape == params.fixed_shape
            && (own.distance_multiplier == params.distance_multiplier || own.tail_model != TailModel::Libmr)
    }
}

impl Evm {
    /// Measures the queries against all extreme vectors.
    pub fn measure(&self, queries: &Features<'_>) -> Result<DistanceTable, PredictError> {
        let points = self.query_points(queries)?;
        let lookup = self.lookup();
        let columns = lookup.columns.len();
        let run = Run::new();
        let metric = &self.params.metric;
        let mut distances = vec![0.0; points.len() * columns];
        let block_rows = run.block_rows(points.len());
        let measured: Result<(), Halt> =
            distances.par_chunks_mut(block_rows * columns).enumerate().try_for_each(|(block, distances)| {
                let first = block * block_rows;
                let rows: Vec<usize> = (first..first + distances.len() / columns).collect();
                let block = lookup.columns.block(&points, &rows);
                let mut tile = Tile::default();
                for start in (0..columns).step_by(run.tile_columns) {
                    let end = (start + run.tile_columns).min(columns);
                    lookup.columns.ranks(&block, start..end, &mut tile)?;
                    for (row, distances) in distances.chunks_exact_mut(columns).enumerate() {
                        for (distance, &rank) in distances[start..end].iter_mut().zip(tile.row(row)) {
                            *distance = metric.distance_of_rank(rank);
                        }
                    }
                }
                Ok(())
            });
        measured?;
        let by_source =
            (0..).zip(self.extreme_vectors()).map(|(column, vector)| (vector.source, column)).collect();
        Ok(DistanceTable { rows: points.len(), columns, distances, by_source })
    }

    /// The support of every class for every query, rows x classes, witnesses included; without the extreme vectors of the
    /// given sources, one for each query, where they are given.
    pub(crate) fn supports(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        without: Option<&[u64]>,
    ) -> Result<Vec<f64>, PredictError> {
        let supports = |scores: &[ClassScore]| scores.iter().map(|score| score.support).collect::<Vec<f64>>();
        let Some(without) = without else {
            return Ok(self.for_each_query(run, queries, |_, scores| supports(scores))?.concat());
        };
        let classes = self.classes.len();
        let mut all = Vec::with_capacity(queries.rows() * classes);
        for first in (0..queries.rows()).step_by(ASKED) {
            let end = (first + ASKED).min(queries.rows());
            let part = queries.part(first..end);
            let mut table = self.measure(&part)?;
            let falls = self.falls_measured(&table);
            for (row, source) in without[first..end].iter().enumerate() {
                if let Some(&column) = table.by_source.get(source) {
                    table.distances[row * table.columns + column as usize] = FAR;
                }
            }
            let additions = match &self.witnesses {
                Some(witnesses) => {
                    let points = Points::prepare(&part, &self.params.metric)?;
                    let rows: Vec<usize> = (0..points.len()).collect();
                    witnesses.additions(run, &points, &rows, Some(&without[first..end]))?
                }
                None => vec![0.0; part.rows() * classes],
            };
            let found = self.for_each_fallen(&table, &falls, |row, scores| {
                supports(&self.mixed(scores, &additions[row * classes..(row + 1) * classes]))
            });
            all.extend(found.into_iter().flatten());
        }
        Ok(all)
    }

    /// As [`for_each_query`](Self::for_each_query), for the support in feature space alone, from distances measured before by this model or by one that
    /// it was [derived](Self::derive) from.
    ///
    /// # Panics
    ///
    /// If the table lacks an extreme vector of this model.
    pub fn for_each_measured<R: Send>(
        &self,
        table: &DistanceTable,
        each: impl Fn(usize, &[ClassScore]) -> R + Sync,
    ) -> Vec<R> {
        self.for_each_fallen(table, &self.falls_measured(table), each)
    }

    /// By how much the supports of each measured query fall, for its distance of the first extreme vector.
    fn falls_measured(&self, table: &DistanceTable) -> Vec<f64> {
        let first = self.extreme_vectors().next().map(|vector| table.by_source[&vector.source] as usize);
        match (&self.lookup().reach, first) {
            (Some(reach), Some(first)) => {
                (0..table.rows).map(|row| reach.fall(f64::from(table.row(row)[first]))).collect()
            }
            _ => vec![0.0; table.rows],
        }
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
        let search = Search { estimates: &estimates, ..lookup.search(self.fused()) };
        let fused = search.fused;
        (0..table.rows)
            .into_par_iter()
            .map_init(
                || (vec![0.0; fused * self.classes.len()], Vec::new(), Vec::new(), Scratch::default()),
                |(best, chosen, scores, scratch), row| {
                    let mut distances = table.row(row);
                    if !whole {
                        chosen.clear();
                        chosen.extend(columns.iter().map(|&column| distances[column as usize]));
                        distances = &chosen[..];
                    }
                    best.fill(f64::NEG_INFINITY);
                    search.offer(0, distances, |distance| distance, best, scratch);
                    scores.clear();
                    scores.extend(best.chunks_exact(fused).zip(&lookup.ranges).map(|(best, range)| {
                        let found = decision::score(self.params.tail_model, &best[..fused.min(range.len())]);
                        decision::fallen(self.params.tail_model, found, falls[row])
                    }));
                    each(row, scores)
                },
            )
            .collect()
    }

    /// The model that training with `params` on the same features, which it was trained on, would have given.
    ///
    /// Only for a model that keeps every point (cover threshold 1) and its tails whole. Metric, standardising, whitening and
    /// smoothing must be its own, and the tail size at most its own; everything else may differ. Costs fits, and a cover where
    /// one is asked for, but no distances between classes. The model remembers no tails, whatever `params` says.
    pub fn derive(&self, params: &Params, features: &Features<'_>) -> Result<Evm, FitError> {
        self.derive_with(&self.fit_tails(params)?, params, features)
    }

    /// Fits the smallest margins of every point, as many as `params` says: what [`derive`](Self::derive) spends its
    /// time on, for whoever derives many models from the same fits.
    pub fn fit_tails(&self, params: &Params) -> Result<TailFits, FitError> {
        let params = params.check()?;
        if self.tail_memory != TailMemory::Full || self.vector_ratio() != 1.0 {
            return Err(FitError::NotDerivable);
        }
        let total = self.extreme_vector_count();
        let classes = self.classes.iter().map(|source| {
            let negatives = total - source.len();
            let size = params.tail_size.resolve(self.dimensions, self.classes.len(), negatives);
            if size > source.tail_size && source.tail_size < negatives {
                return Err(FitError::NotDerivable);
            }
            let fits = source.tails.par_iter().map_init(Workspace::default, |workspace, tail| {
                fit_tail(&tail[..size.min(tail.len())], &params, workspace)
            });
            Ok((size, fits.collect()))
        });
        Ok(TailFits { classes: classes.collect::<Result<_, _>>()?, params: Params::clone(&params) })
    }

    /// As [`derive`](Self::derive), from fits of this model's tails with the same tail size, tail model and shape. The
    /// multiplier may differ, but for [`TailModel::Libmr`]; scales follow it, and may then differ from those of a
    /// fit by rounding.
    pub fn derive_with(
        &self,
        fits: &TailFits,
        params: &Params,
        features: &Features<'_>,
    ) -> Result<Evm, FitError> {
        let params = params.check()?;
        let same = params.metric == self.params.metric
            && params.standardize == self.params.standardize
            && params.whitening == self.params.whitening
            && params.smoothing == self.params.smoothing
            && (params.smoothing_neighbors == self.params.smoothing_neighbors || params.smoothing == 0.0);
        let same = same && features.rows() as u64 == self.points_seen;
        let counts = self.classes.iter().map(ClassModel::len);
        if !(same && fits.serve(&params) && counts.eq(fits.classes.iter().map(|(_, fits)| fits.len()))) {
            return Err(FitError::NotDerivable);
        }
        let mut model = self.clone_without_tails();
        let factor = params.distance_multiplier / fits.params.distance_multiplier;
        for (class, (size, fits)) in model.classes.iter_mut().zip(&fits.classes) {
            class.tail_size = *size;
            class.psi = fits.iter().map(|psi| PsiModel { scale: psi.scale * factor, ..*psi }).collect();
        }
        model.tail_memory = TailMemory::None;
        let reduces = match Target::new(&params, self.points_held()) {
            Target::Threshold(threshold) => threshold < 1.0,
            budget => {
                let met = budget.is_met(self.classes.iter().map(ClassModel::len));
                !(met && params.reduce_when == ReduceWhen::OverBudget)
            }
        };
        model.params = params;
        if reduces {
            let smoothed = model.params.smoothing > 0.0 && model.params.smoothing_neighbors > 1;
            let originals = if smoothed {
                Some(Originals { points: self.query_points(features)?, first: 0 })
            } else {
                None
            };
            let everything: Vec<usize> = (0..model.classes.len()).collect();
            model.choose(&Run::new(), &everything, originals.as_ref())?;
        }
        Ok(model)
    }
}
