//! A machine chooses its extreme vectors among the points it holds.

use std::sync::Arc;

use rayon::prelude::*;

use crate::cover::{self, Candidates, Covering, KeptCount};
use crate::error::{ReduceError, RunError};
use crate::machine::Machine;
use crate::machine::batch::Batch;
use crate::machine::class::ClassModel;
use crate::machine::fit;
use crate::machine::lookup::Cache;
use crate::machine::samples;
use crate::params::cover::Cover;
use crate::params::{Budget, Params, ReduceWhen};
use evmachine_engine::distance;
use evmachine_engine::points::Points;
use evmachine_engine::psi::PoolSums;
use evmachine_engine::psi::curve::Curve;
use evmachine_engine::run::Run;

impl Machine {
    /// Chooses among the extreme vectors again, by another rule.
    pub(crate) fn reduce(&mut self, run: &Run<'_>, cover: &Cover) -> Result<(), ReduceError> {
        self.params = Params::clone(&self.params).covered_by(cover).check()?;
        self.cache = Cache::default();
        let everything: Vec<usize> = (0..self.classes.len()).collect();
        self.choose(run, &everything, None, &self.pool_sums())?;
        Ok(())
    }

    /// The classes that choose their extreme vectors after some got data: those, or all under a total budget. `None`: nobody
    /// does, since the model is within its budget.
    pub(crate) fn choosing(&self, got_data: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
        let target = KeptCount::new(&self.params, self.points_held());
        let within = target.is_met(self.classes.iter().map(ClassModel::len));
        if self.params.reduce_when == ReduceWhen::OverBudget && within {
            return None;
        }
        let shared = matches!(self.params.max_extreme_vectors, Some(Budget::Total(_) | Budget::Ratio(_)));
        Some((0..self.classes.len()).filter(|&class| shared || got_data(class)).collect())
    }

    /// Has the given classes choose their extreme vectors among the points they hold. Returns, by class chosen
    /// for, the positions that were kept.
    pub(crate) fn choose(
        &mut self,
        run: &Run<'_>,
        classes: &[usize],
        originals: Option<&Originals<'_>>,
        sums: &PoolSums,
    ) -> Result<Vec<Covering>, RunError> {
        let target = KeptCount::new(&self.params, self.points_held());
        let strangers = self.ignored.columns(&self.params.metric, self.dimensions);
        let ranges = self.ranges();
        let everyone = (self.params.cover_risk > 0.0).then(|| {
            let points = self.points();
            let all: Vec<usize> = (0..points.len()).collect();
            distance::columns(&self.params.metric, &points, &all)
        });
        let candidates: Result<Vec<Candidates<'_>>, RunError> = classes
            .iter()
            .map(|&number| {
                let class = &self.classes[number];
                let curves: Vec<Curve> = class
                    .psi
                    .iter()
                    .map(|psi| {
                        Curve::new(
                            self.params.tail_model,
                            &sums.pooled(self.params.tail_model, psi, self.params.pooling),
                        )
                    })
                    .collect();
                let points = Points::ready(&class.vectors[..], self.dimensions);
                let risks = match everyone.as_deref() {
                    Some(everyone) => {
                        let claims = |columns, own| {
                            cover::claims(run, &self.params.metric, (&points, &curves), columns, own)
                        };
                        let mut risks = claims(everyone, &ranges[number])?;
                        if let Some(ignored) = strangers.as_deref() {
                            let more = claims(ignored, &(0..0))?;
                            risks.iter_mut().zip(more).for_each(|(risk, more)| *risk += more);
                        }
                        for risk in &mut risks {
                            *risk *= self.params.cover_risk;
                        }
                        Some(risks)
                    }
                    None => None,
                };
                let originals = originals.map(|originals| originals.of(class, self.dimensions));
                let denied = class.denied.columns(&self.params.metric, self.dimensions);
                let mut apart: Option<Vec<f32>> = None;
                for columns in strangers.iter().chain(&denied) {
                    let rows: Vec<usize> = (0..points.len()).collect();
                    let seen = originals.as_ref().unwrap_or(&points);
                    let found = samples::nearest(columns.as_ref(), seen, &rows, run.tile_columns())?;
                    let found = found.into_iter().map(|(rank, _)| rank);
                    apart = Some(match apart {
                        Some(others) => found.zip(others).map(|(rank, other)| rank.min(other)).collect(),
                        None => found.collect(),
                    });
                }
                let strangers = apart;
                Ok(Candidates { points, curves, originals, strangers, risks })
            })
            .collect();
        let candidates = candidates?;
        let covers = cover::choose(run, &self.params.metric, self.params.reduction, target, &candidates)?;
        drop(candidates);
        for (&class, cover) in classes.iter().zip(&covers) {
            let class = &self.classes[class];
            let mut kept = vec![false; class.len()];
            cover.order.iter().for_each(|&position| kept[position] = true);
            for (psi, _) in class.psi.iter().zip(&kept).filter(|(_, kept)| !**kept) {
                self.dropped.add(psi);
            }
        }
        let mut chosen: Vec<Option<&Covering>> = vec![None; self.classes.len()];
        classes.iter().zip(&covers).for_each(|(&class, cover)| chosen[class] = Some(cover));
        // On all threads: what is not kept may be gigabytes, and giving them back to the system takes its time.
        self.classes.par_iter_mut().zip(chosen).for_each(|(class, cover)| {
            if let Some(cover) = cover {
                *class = class.select(cover, self.dimensions);
            }
        });
        Ok(covers)
    }
}

/// Training rows before smoothing.
pub(crate) struct Originals<'a> {
    pub(crate) points: Points<'a>,
    /// The source number of the first of them.
    pub(crate) first: u64,
}

impl Originals<'_> {
    /// Where the points of the class were; those learned earlier, where they are.
    fn of(&self, class: &ClassModel, d: usize) -> Points<'static> {
        let mut values = class.vectors.to_vec();
        for (row, &source) in values.chunks_exact_mut(d).zip(&class.sources) {
            if source >= self.first {
                self.points.write_row((source - self.first) as usize, row);
            }
        }
        Points::ready(values, d)
    }
}

impl ClassModel {
    fn select(&mut self, cover: &Covering, d: usize) -> Self {
        let order = &cover.order;
        let vectors = if order.iter().copied().eq(0..self.len()) {
            self.vectors.clone()
        } else {
            let mut vectors = Vec::with_capacity(order.len() * d);
            for &i in order {
                vectors.extend_from_slice(&self.vectors[i * d..(i + 1) * d]);
            }
            Arc::new(vectors)
        };
        Self {
            name: std::mem::take(&mut self.name),
            tail_size: self.tail_size,
            points_seen: self.points_seen,
            vectors,
            psi: order.iter().map(|&i| self.psi[i]).collect(),
            sources: order.iter().map(|&i| self.sources[i]).collect(),
            gains: cover.gains.clone(),
            tails: order.iter().map(|&i| std::mem::take(&mut self.tails[i])).collect(),
            denied: self.denied.clone(),
        }
    }
}

/// Chooses extreme vectors for the classes that got data, or for all under a total budget. `None`: all are kept.
///
/// Where new points are `without_vectors`, classes get theirs some at a time, as many as fit a quarter of the memory, and keep those of
/// their extreme vectors; all at once where classes have to do with each other.
pub(crate) fn reduce_after(
    run: &Run<'_>,
    model: &mut Machine,
    batch: &Batch<'_>,
    originals: Option<&Originals<'_>>,
    without_vectors: bool,
) -> Result<Option<Vec<(usize, Covering)>>, RunError> {
    let everything: Vec<usize> = (0..model.classes.len()).collect();
    let Some(classes) = model.choosing(|class| !batch.ranges[class].is_empty()) else {
        if without_vectors {
            fit::take_vectors(model, batch, &everything);
        }
        return Ok(None);
    };
    let sums = model.pool_sums();
    let shared = matches!(model.params.max_extreme_vectors, Some(Budget::Total(_) | Budget::Ratio(_)));
    let mut covers = Vec::with_capacity(classes.len());
    if !without_vectors || shared || model.params.cover_risk > 0.0 {
        if without_vectors {
            fit::take_vectors(model, batch, &everything);
        }
        covers = model.choose(run, &classes, originals, &sums)?;
    } else {
        let bytes = |class: usize| batch.ranges[class].len() * model.dimensions * size_of::<f32>();
        let sizes: Vec<usize> = classes.iter().map(|&class| bytes(class)).collect();
        let mut rest = &classes[..];
        while !rest.is_empty() {
            let at = classes.len() - rest.len();
            let fitting = sizes[at..].iter().scan(0, |sum, bytes| {
                *sum += bytes;
                Some(*sum)
            });
            let count = fitting.take_while(|sum| *sum <= run.working_memory() / 4).count().max(1);
            let (some, others) = rest.split_at(count);
            fit::take_vectors(model, batch, some);
            covers.extend(model.choose(run, some, originals, &sums)?);
            rest = others;
        }
    }
    Ok(Some(classes.into_iter().zip(covers).collect()))
}

/// New rows that became extreme vectors, and extreme vectors that were dropped.
pub(crate) fn count_changes(
    covers: Option<&[(usize, Covering)]>,
    old_counts: &[usize],
    batch: &Batch<'_>,
) -> (usize, usize) {
    let Some(covers) = covers else { return (batch.order.len(), 0) };
    covers.iter().fold((0, 0), |(added, dropped), (class, cover)| {
        let old = old_counts[*class];
        let old_kept = cover.order.iter().filter(|&&position| position < old).count();
        (added + cover.order.len() - old_kept, dropped + old - old_kept)
    })
}
