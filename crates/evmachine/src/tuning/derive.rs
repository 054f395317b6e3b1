//! Models of other parameters from the distances of one that was trained.
//!
//! A model that keeps every point and remembers its tails whole holds all that depends on distances between training points.

use rayon::prelude::*;
use thiserror::Error;

use crate::cover::KeptCount;
use crate::error::{ParamsError, RunError, ends_with_run};
use crate::machine::choose::Originals;
use crate::machine::class::ClassModel;
use crate::model::Evm;
use crate::params::{Params, ReduceWhen, TailMemory, TailModel};
use evmachine_engine::features::Features;
use evmachine_engine::psi::weibull::{Workspace, fit_tail};
use evmachine_engine::psi::{FitStatus, PsiModel};
use evmachine_engine::run::{Run, Stage};

/// A model that could not be derived.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// Other parameters would need distances that the model does not have.
    #[error(
        "these parameters cannot be derived from this model: it must keep every point with its own fit and whole tails of at least that size, with the same metric, whitening and smoothing"
    )]
    NotDerivable,
    /// A parameter is out of range.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
}

ends_with_run!(DeriveError);

/// The model that training with `params` on the same features, which `model` was trained on, would have given.
///
/// Only of a model that keeps every point (cover threshold 1) and its tails whole. Metric, standardising, whitening and
/// smoothing must be its own, and the tail size at most its own; everything else may differ. Costs fits, and a cover where
/// one is asked for, but no distances between classes. The model remembers no tails, whatever `params` says.
pub fn derive(
    run: &Run<'_>,
    model: &Evm,
    params: &Params,
    features: &Features<'_>,
) -> Result<Evm, DeriveError> {
    TailFits::new(run, model, params)?.derive(run, model, params, features)
}

/// The fits of all tails of a model, which many models can be derived from: what [`derive`](derive()) spends its time on.
#[derive(Debug, Clone)]
pub struct TailFits {
    params: Params,
    /// Tail size and fits of each class.
    classes: Vec<(usize, Vec<PsiModel>)>,
}

impl TailFits {
    /// Fits the smallest margins of every point of `model`, as many as `params` says.
    pub fn new(run: &Run<'_>, model: &Evm, params: &Params) -> Result<Self, DeriveError> {
        let params = params.check()?;
        let is_measured = |class: &ClassModel| class.psi.iter().all(|psi| psi.status != FitStatus::Pooled);
        let is_whole = model.vector_ratio() == 1.0 && model.machine.classes.iter().all(is_measured);
        if model.machine.tail_memory != TailMemory::Full || !is_whole {
            return Err(DeriveError::NotDerivable);
        }
        let total = model.extreme_vector_count();
        let meter = run.meter(Stage::Tails, total);
        let classes = model.machine.classes.iter().map(|source| {
            let negatives = total - source.len();
            let size =
                params.tail_size.resolve(model.machine.dimensions, model.machine.classes.len(), negatives);
            if size > source.tail_size && source.tail_size < negatives {
                return Err(DeriveError::NotDerivable);
            }
            let fits = source.tails.par_iter().map_init(Workspace::default, |workspace, tail| {
                fit_tail(&tail[..size.min(tail.len())], &params.fit_rule(), workspace)
            });
            let fits: Vec<PsiModel> = fits.collect();
            meter.advance(fits.len())?;
            Ok((size, fits))
        });
        Ok(Self { classes: classes.collect::<Result<_, _>>()?, params: params.into_inner() })
    }

    /// Whether models with these parameters can be derived from them: those of the same tail size, tail model and shape.
    pub fn serve(&self, params: &Params) -> bool {
        let own = &self.params;
        own.tail_size == params.tail_size
            && own.tail_model == params.tail_model
            && own.fixed_shape == params.fixed_shape
            && (own.distance_multiplier == params.distance_multiplier || own.tail_model != TailModel::Libmr)
    }

    /// As [`derive`](derive()), from these fits of the model's tails, which must [serve](Self::serve) the parameters. The
    /// multiplier may differ, but for [`TailModel::Libmr`]; scales follow it, and may then differ from those of a
    /// fit by rounding.
    pub fn derive(
        &self,
        run: &Run<'_>,
        model: &Evm,
        params: &Params,
        features: &Features<'_>,
    ) -> Result<Evm, DeriveError> {
        let params = params.check()?;
        let same = params.metric == model.machine.params.metric
            && params.standardize == model.machine.params.standardize
            && params.whitening == model.machine.params.whitening
            && params.smoothing == model.machine.params.smoothing
            && (params.smoothing_neighbors == model.machine.params.smoothing_neighbors
                || params.smoothing == 0.0);
        let same = same && features.rows() as u64 == model.machine.points_seen;
        let counts = model.machine.classes.iter().map(ClassModel::len);
        if !(same && self.serve(&params) && counts.eq(self.classes.iter().map(|(_, fits)| fits.len()))) {
            return Err(DeriveError::NotDerivable);
        }
        let mut derived = model.clone_without_tails();
        let factor = params.distance_multiplier / self.params.distance_multiplier;
        for (class, (size, fits)) in derived.machine.classes.iter_mut().zip(&self.classes) {
            class.tail_size = *size;
            class.psi = fits.iter().map(|psi| PsiModel { scale: psi.scale * factor, ..*psi }).collect();
        }
        let reduces = match KeptCount::new(&params, model.machine.points_held()) {
            KeptCount::Threshold(threshold) => threshold < 1.0,
            budget => {
                let met = budget.is_met(model.machine.classes.iter().map(ClassModel::len));
                !(met && params.reduce_when == ReduceWhen::OverBudget)
            }
        };
        derived.machine.params = params;
        if reduces {
            let smoothed =
                derived.machine.params.smoothing > 0.0 && derived.machine.params.smoothing_neighbors > 1;
            let originals = if smoothed {
                Some(Originals { points: model.machine.query_points(features)?, first: 0 })
            } else {
                None
            };
            let everything: Vec<usize> = (0..derived.machine.classes.len()).collect();
            derived.machine.choose(run, &everything, originals.as_ref(), &derived.machine.pool_sums())?;
        }
        Ok(derived)
    }
}
