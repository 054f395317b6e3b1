//! Parameters chosen on training data alone, by cross-class validation.
//!
//! Distances are computed once for each fold, whitening and smoothing; trials derive their models from them. The search
//! keeps every point; how small the model can be made is asked of the winner alone.

use std::ops::ControlFlow;

use evmachine::{Features, FitError, Labels, Params, PredictError};
use serde::Serialize;
use thiserror::Error;

use crate::bench::{self, Bench, FoldData, Measure};
use crate::course::Course;
use crate::evaluation::Evaluation;
use crate::folds::{self, FoldError, FoldSizes};
pub use crate::objective::Objective;
use crate::rivals::{Rival, RivalError};
use crate::space::{Position, Space};

/// How the space is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Every position.
    Grid,
    /// So many trials, the presets first, then each where the ones before it say that it is worth it.
    Bayesian {
        /// Number of trials.
        trials: usize,
    },
}

/// How rejection is set once the rest is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delta {
    /// At most this fraction of known queries may be called unknown.
    MaxFalseUnknown(f64),
    /// Where F1 over known classes is best on the folds, were every class, left out or not, asked about alike often.
    BestF1,
    /// By the paper's formula, [`openness::delta`](crate::openness::delta), for whoever knows how many unknown
    /// classes will be met.
    Openness {
        /// So many, beside all classes of the data.
        unknown_classes: usize,
    },
}

/// How to tune.
#[derive(Debug, Clone, PartialEq)]
pub struct TuneOptions {
    /// What is not searched stays as it is here: metric, budget, update policies.
    pub base: Params,
    /// What is searched, as far as the metric allows.
    pub space: Space,
    /// How.
    pub search: Search,
    /// What trials are judged by.
    pub objective: Objective,
    /// How rejection is set.
    pub delta: Delta,
    /// Number of folds; one in so many classes is unknown in each.
    pub folds: usize,
    /// Most rows of a fold.
    pub sizes: FoldSizes,
    /// Whether to make the model as small as one standard error allows. A budget in `base` is kept to instead.
    pub shrink: bool,
    /// Seed of folds and search.
    pub seed: u64,
}

impl Default for TuneOptions {
    fn default() -> Self {
        Self {
            base: Params::default(),
            space: Space::full(),
            search: Search::Bayesian { trials: 60 },
            objective: Objective::Oscr,
            delta: Delta::BestF1,
            folds: 3,
            sizes: FoldSizes { train: 8_000, test: 2_000 },
            shrink: true,
            seed: 1,
        }
    }
}

/// The figures of one choice of parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trial {
    /// What was tried, with the delta that [`TuneOptions::delta`] asks for.
    pub params: Params,
    /// The objective on each fold.
    pub folds: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Standard error of that mean.
    pub error: f64,
    /// Mean vector ratio.
    pub vector_ratio: f64,
}

/// The figures of a rival on the same folds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RivalResult {
    /// Who.
    pub rival: Rival,
    /// Mean of the objective.
    pub mean: f64,
    /// Standard error of that mean.
    pub error: f64,
}

/// What tuning found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuned {
    /// The parameters to train with.
    pub params: Params,
    /// All trials of the search, in order.
    pub trials: Vec<Trial>,
    /// The best of them and of the presets, leaving out those whose delta rounds to 0 or 1.
    pub best: Trial,
    /// The best parameters of the best three ways to measure distances (whitening and smoothing) at smaller sizes,
    /// largest first; empty where the size was not asked about.
    pub sizes: Vec<Trial>,
    /// The chosen one: [`best`](Self::best), or one of [`sizes`](Self::sizes).
    pub chosen: Trial,
    /// The paper's parameters, on the same folds.
    pub paper: Trial,
    /// The parameters of [`Params::robust`], on the same folds.
    pub robust: Trial,
    /// The rivals, on the same folds.
    pub rivals: Vec<RivalResult>,
    /// On the folds, at the chosen delta.
    pub at_delta: Evaluation,
}

impl Tuned {
    /// The rival that is ahead of the chosen parameters, if any.
    pub fn winning_rival(&self) -> Option<&RivalResult> {
        let best = self.rivals.iter().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
        (best.mean > self.chosen.mean).then_some(best)
    }
}

/// Tuning that did not succeed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The data cannot be divided.
    #[error(transparent)]
    Folds(#[from] FoldError),
    /// A fold could not be trained on.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A fold could not be tested on.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// A rival could not be asked.
    #[error(transparent)]
    Rival(#[from] RivalError),
    /// Nothing to choose from.
    #[error("the space to search is empty; give every parameter at least one value")]
    EmptySpace,
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
}

/// Searches. `progress(done, total, best so far)` can end it.
pub fn tune(
    features: &Features<'_>,
    labels: &Labels,
    options: &TuneOptions,
    progress: &mut dyn FnMut(usize, usize, f64) -> ControlFlow<()>,
) -> Result<Tuned, TuneError> {
    let space = options.space.clone().for_metric(&options.base.metric);
    let options = &TuneOptions { space, ..options.clone() };
    if options.space.is_empty() {
        return Err(TuneError::EmptySpace);
    }
    options.base.check().map_err(FitError::from)?;
    let divided = folds::folds(labels, options.folds, options.sizes, options.seed)?;
    let folds = divided.iter().map(|fold| FoldData::new(features, labels, fold)).collect();
    let mut bench = Bench::new(folds, labels.names().len(), options);
    let trials = search(&mut bench, progress)?;
    let metric = options.base.metric.clone();
    let paper = bench.trial(&Params { metric: metric.clone(), ..Params::default() })?;
    let robust = bench.trial(&Params::robust_for(metric))?;
    // The presets know no budget.
    let presets = [&paper, &robust].into_iter().filter(|_| options.base.max_extreme_vectors.is_none());
    let mut ranked: Vec<&Trial> = presets.chain(&trials).collect();
    ranked.sort_by(|a, b| bench::usable(b).cmp(&bench::usable(a)).then(b.mean.total_cmp(&a.mean)));
    let best = ranked.first().copied().cloned().ok_or(TuneError::EmptySpace)?;
    let sizes = if options.shrink && options.base.max_extreme_vectors.is_none() {
        bench.shrink(&unlike(&ranked))?
    } else {
        Vec::new()
    };
    let enough = best.mean - best.error;
    let chosen = sizes.iter().rfind(|trial| trial.mean >= enough && bench::usable(trial));
    let chosen = chosen.unwrap_or(&best).clone();
    let rivals = bench.rivals()?;
    let at_delta = bench.at_delta(&chosen.params)?;
    let params = Params {
        tail_memory: options.base.tail_memory,
        tail_memory_limit: options.base.tail_memory_limit,
        ..chosen.params.clone()
    };
    Ok(Tuned { params, trials, best, sizes, chosen, paper, robust, rivals, at_delta })
}

/// The best trial of each of the best few measures: what is best with all points may not be with few.
fn unlike<'a>(ranked: &[&'a Trial]) -> Vec<&'a Trial> {
    const COUNT: usize = 3;
    let mut chosen: Vec<&Trial> = Vec::new();
    for trial in ranked {
        let measure = |trial: &Trial| Measure::of(&trial.params);
        if chosen.len() < COUNT && chosen.iter().all(|other| measure(other) != measure(trial)) {
            chosen.push(trial);
        }
    }
    chosen
}

fn search(
    bench: &mut Bench<'_>,
    progress: &mut dyn FnMut(usize, usize, f64) -> ControlFlow<()>,
) -> Result<Vec<Trial>, TuneError> {
    let options = bench.options;
    let mut trials: Vec<Trial> = Vec::new();
    let mut best = f64::NEG_INFINITY;
    let mut run = |at: Position, total: usize, bench: &mut Bench<'_>| -> Result<f64, TuneError> {
        let trial = bench.search(&options.space.params(&options.base, at))?;
        // What cannot be used teaches the search to keep away.
        let mean = if bench::usable(&trial) { trial.mean } else { 0.0 };
        best = best.max(mean);
        trials.push(trial);
        if progress(trials.len(), total, best).is_break() { Err(TuneError::Stopped) } else { Ok(mean) }
    };
    match options.search {
        Search::Grid => {
            for at in options.space.grid() {
                run(at, options.space.len(), bench)?;
            }
        }
        Search::Bayesian { trials } => {
            let mut course = Course::new(&options.space, &options.base, trials, options.seed)?;
            for trial in 0..trials.clamp(1, options.space.len()) {
                let at = course.next(trial);
                let value = run(at, trials, bench)?;
                course.tell(at, value);
            }
        }
    }
    Ok(trials)
}
