//! Parameters chosen on training data alone, by cross-class validation.
//!
//! Rivals come first, then the robust preset by each metric, with and without standard columns, the best of which the
//! search keeps to. Distances are computed once for each fold, whitening and smoothing; trials derive their models from
//! them, and each tries all weights of the witnesses. The search keeps every point; how small the model can be made is asked
//! of the winner alone.
//!
//! Folds mislead if classes are few. So what the search found is taken only if its [`Lead`] over the best preset counts; otherwise the
//! preset is. A smaller model is taken only if the folds can tell that it costs little.

use std::ops::ControlFlow;

use evmachine::tuning::DeriveError;
use evmachine::{Evm, Features, FitError, Labels, Metric, Params, Rejection, Run, RunError};
use serde::Serialize;
use thiserror::Error;

use crate::arena::{Arena, FoldData, Measure};
use crate::course::Course;
use crate::evaluation::Evaluation;
pub use crate::evidence::Lead;
use crate::evidence::Scale;
use crate::folds::{self, FoldError, FoldSizes};
pub use crate::objective::Objective;
use crate::rivals::{Rival, RivalError};
use crate::space::{Position, Space};

/// How the space is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialSearch {
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
    /// At most this fraction of unknown queries may be accepted.
    MaxFalseKnown(f64),
    /// Where F1 over known classes is best on the folds, were every class, left out or not, asked about alike often.
    BestF1,
    /// By the paper's formula, [`openness::delta`](crate::openness::delta), for whoever knows how many unknown
    /// classes will be met.
    Openness {
        /// So many, beside all classes of the data.
        unknown_classes: usize,
    },
}

impl Delta {
    /// The rule of a fit that names none: 5 % of known queries.
    pub const DEFAULT: Self = Self::MaxFalseUnknown(Rejection::DEFAULT.value());

    /// The rule if none is named: best F1 if that is the objective.
    pub fn usual(objective: Objective) -> Self {
        if objective == Objective::F1 { Self::BestF1 } else { Self::DEFAULT }
    }
}

/// How to tune.
#[derive(Debug, Clone, PartialEq)]
pub struct TuneOptions {
    /// What is not searched stays as it is here: metric, budget, update policies.
    pub base: Params,
    /// What is searched, as far as the metric allows.
    pub space: Space,
    /// How.
    pub search: TrialSearch,
    /// What trials are judged by.
    pub objective: Objective,
    /// How rejection is set.
    pub delta: Delta,
    /// Number of folds; one in so many classes is unknown in each. `None` is 3, and up to 5 where there are fewer than 12
    /// classes.
    pub folds: Option<usize>,
    /// Most rows of a fold.
    pub sizes: FoldSizes,
    /// Whether to make the model smaller where that costs less than 0.003 of the objective. A budget in `base` is kept to
    /// instead.
    pub shrink: bool,
    /// Most extreme vectors by training rows, whatever that costs.
    pub max_size: Option<f64>,
    /// Rows that are known to be of no class of the data: every fold meets them beside the classes that it leaves out.
    pub unknowns: Option<Features<'static>>,
    /// Seed of folds and search.
    pub seed: u64,
}

impl Default for TuneOptions {
    fn default() -> Self {
        Self {
            base: Params::plain(),
            space: Space::full(),
            search: TrialSearch::Bayesian { trials: 60 },
            objective: Objective::Oscr,
            delta: Delta::DEFAULT,
            folds: None,
            sizes: FoldSizes { train: 8_000, test: 2_000 },
            shrink: true,
            max_size: None,
            unknowns: None,
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
    /// The best of them and of the presets, as far as its lead over the presets can be trusted.
    pub best: Trial,
    /// What the best trial of the search is ahead of the better preset; `None` with a budget, which presets have not.
    pub lead: Option<Lead>,
    /// The best parameters of the best three ways to measure distances (whitening and smoothing) at smaller sizes,
    /// largest first; empty where the size was not asked about.
    pub sizes: Vec<Trial>,
    /// The chosen one: [`best`](Self::best), or one of [`sizes`](Self::sizes).
    pub chosen: Trial,
    /// The paper's parameters, on the same folds.
    pub paper: Trial,
    /// The parameters of [`Params::robust`], on the same folds, by the metric and columns that suit it best.
    pub robust: Trial,
    /// The rivals, on the same folds, each by the metric that suits it best.
    pub rivals: Vec<RivalResult>,
    /// On the folds, at the chosen rejection.
    pub at_delta: Evaluation,
}

/// How far a search has come.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TuneProgress<'a> {
    /// Steps finished.
    pub done: usize,
    /// Steps in all.
    pub total: usize,
    /// What was tried last.
    pub tried: &'a str,
    /// The best so far, and its objective.
    pub leader: (&'a str, f64),
    /// The best rival, and its objective.
    pub rival: Option<(&'a str, f64)>,
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
    /// Parameters do not go with the distances of a fold.
    #[error(transparent)]
    Derive(#[from] DeriveError),
    /// A fold could not be tested on.
    #[error(transparent)]
    Predict(#[from] RunError),
    /// A rival could not be asked.
    #[error(transparent)]
    Rival(#[from] RivalError),
    /// Nothing to choose from.
    #[error("the space to search is empty; give every parameter at least one value")]
    EmptySpace,
    /// A size that no model can have.
    #[error("max_size = {value}: must be above 0 and at most 1")]
    MaxSize {
        /// What was asked for.
        value: f64,
    },
    /// The observer asked to stop.
    #[error("stopped before the end, as asked")]
    Stopped,
}

/// A smaller model may cost less than this of the objective, what the folds cannot tell included.
const COST_OF_SIZE: f64 = 0.003;

/// Searches. `progress` can end it.
#[expect(clippy::disallowed_methods, reason = "the plain form, for who has no run")]
pub fn tune(
    features: &Features<'_>,
    labels: &Labels,
    options: &TuneOptions,
    progress: &mut dyn FnMut(&TuneProgress<'_>) -> ControlFlow<()>,
) -> Result<Tuned, TuneError> {
    tune_with(&Run::new(), features, labels, options, progress)
}

/// As [`tune`], sized by `run`, which may name a device for what trials fit and measure, and whose observer can stop it between steps.
pub fn tune_with(
    run: &Run<'_>,
    features: &Features<'_>,
    labels: &Labels,
    options: &TuneOptions,
    progress: &mut dyn FnMut(&TuneProgress<'_>) -> ControlFlow<()>,
) -> Result<Tuned, TuneError> {
    search_all(run, features, labels, options, progress).map_err(|error| {
        // Whatever it was doing when it was told to stop.
        if error.run_error() == Some(&RunError::Stopped) { TuneError::Stopped } else { error }
    })
}

fn search_all(
    run: &Run<'_>,
    features: &Features<'_>,
    labels: &Labels,
    options: &TuneOptions,
    progress: &mut dyn FnMut(&TuneProgress<'_>) -> ControlFlow<()>,
) -> Result<Tuned, TuneError> {
    let space = options.space.clone();
    if space.is_empty() {
        return Err(TuneError::EmptySpace);
    }
    if let Some(value) = options.max_size.filter(|size| !(*size > 0.0 && *size <= 1.0)) {
        return Err(TuneError::MaxSize { value });
    }
    options.base.check().map_err(FitError::from)?;
    let classes = labels.names().len();
    let count = options.folds.unwrap_or(if classes < 12 { classes.clamp(3, 5) } else { 3 });
    let divided = folds::folds(labels, count, options.sizes, options.seed)?;
    let folds: Vec<FoldData> = divided
        .iter()
        .map(|fold| FoldData::new(features, labels, fold, options.unknowns.as_ref()))
        .collect::<Result<_, _>>()?;
    let frames = space.frames(&options.base);
    let trials = match options.search {
        TrialSearch::Grid => space.len(),
        TrialSearch::Bayesian { trials } => trials.clamp(1, space.len()),
    };
    let mut course = Standing { total: frames.len() + 2 + trials, ..Standing::default() };

    let mut arena = Arena::new(run, folds, classes, options);
    let scale = arena.scale();
    let rivals = all_rivals(&mut arena, &frames)?;
    course.rival =
        rivals.iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).map(|best| (best.rival.name(), best.mean));
    course.step("the rivals", None, progress)?;
    let robust = best_frame(&mut arena, &frames, &mut course, progress)?;
    let Params { metric, standardize, .. } = robust.params.clone();
    let paper = arena.trial(&Params { metric: metric.clone(), ..Params::paper() })?;
    course.step("the paper's parameters", Some(&paper), progress)?;

    let base = Params { metric: metric.clone(), standardize, ..options.base.clone() };
    let options = &TuneOptions { base, space: space.for_metric(&metric), ..options.clone() };
    arena.options = options;
    let trials = search(&mut arena, &mut course, progress)?;
    let preset = if paper.lead(&robust, scale).counts() { &paper } else { &robust };
    // The presets know no budget.
    let preset = options.base.max_extreme_vectors.is_none().then_some(preset);
    let mut ranked: Vec<&Trial> = trials.iter().collect();
    ranked.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let found = ranked.first().copied().ok_or(TuneError::EmptySpace)?;
    let lead = preset.map(|preset| found.lead(preset, scale));
    let best = match preset {
        Some(preset) if lead.is_some_and(|lead| !lead.counts()) => preset,
        _ => found,
    };
    if let Some(preset) = preset {
        ranked.retain(|trial| trial.lead(preset, scale).counts());
        ranked.insert(if std::ptr::eq(best, preset) { 0 } else { ranked.len().min(1) }, preset);
    }
    let wanted = options.shrink || options.max_size.is_some();
    let sizes = if wanted && options.base.max_extreme_vectors.is_none() {
        arena.shrink(&unlike(&ranked))?
    } else {
        Vec::new()
    };
    let chosen = match options.max_size {
        // The best that is small enough; the smallest where none is.
        Some(most) => {
            let small = sizes.iter().filter(|trial| trial.vector_ratio <= most + 1e-9);
            small.max_by(|a, b| a.mean.total_cmp(&b.mean)).or(sizes.last())
        }
        None => sizes.iter().rfind(|trial| trial.lead(best, scale).costs_less_than(COST_OF_SIZE)),
    };
    let best = best.clone();
    let chosen = chosen.unwrap_or(&best).clone();
    let (at_delta, p_values) = arena.at_delta(&chosen.params)?;
    // What keeps every point is covered by the fit, by the rule that `cover_loss` has for all fits.
    let is_whole = chosen.params.cover_threshold == 1.0 && chosen.params.max_extreme_vectors.is_none();
    let cover_loss =
        if options.shrink && is_whole { Params::robust().cover_loss } else { chosen.params.cover_loss };
    let params = Params {
        cover_loss,
        strangers: Evm::strangers_of(&p_values).unwrap_or(chosen.params.strangers),
        tail_memory: options.base.tail_memory,
        tail_memory_limit: options.base.tail_memory_limit,
        search: options.base.search,
        confidence: options.base.confidence,
        ..chosen.params.clone()
    };
    Ok(Tuned { params, trials, best, lead, sizes, chosen, paper, robust, rivals, at_delta })
}

impl Trial {
    /// What it is ahead of another by.
    fn lead(&self, other: &Self, scale: Scale) -> Lead {
        Lead::of(&self.folds, &other.folds, scale)
    }
}

impl TuneError {
    /// What ended a run early, if that is what it was.
    fn run_error(&self) -> Option<&RunError> {
        match self {
            Self::Fit(FitError::Run(error))
            | Self::Derive(DeriveError::Run(error))
            | Self::Predict(error) => Some(error),
            Self::Rival(error) => error.run_error(),
            _ => None,
        }
    }
}

/// What progress is told of.
#[derive(Default)]
struct Standing {
    done: usize,
    total: usize,
    leader: (String, f64),
    rival: Option<(String, f64)>,
}

impl Standing {
    fn step(
        &mut self,
        what: &str,
        trial: Option<&Trial>,
        progress: &mut dyn FnMut(&TuneProgress<'_>) -> ControlFlow<()>,
    ) -> Result<(), TuneError> {
        self.done += 1;
        if let Some(trial) = trial.filter(|trial| self.leader.0.is_empty() || trial.mean > self.leader.1) {
            self.leader = (what.to_owned(), trial.mean);
        }
        let progress = progress(&TuneProgress {
            done: self.done,
            total: self.total,
            tried: what,
            leader: (&self.leader.0, self.leader.1),
            rival: self.rival.as_ref().map(|(name, mean)| (name.as_str(), *mean)),
        });
        if progress.is_break() { Err(TuneError::Stopped) } else { Ok(()) }
    }
}

/// Each rival by the metric that suits it best.
fn all_rivals(arena: &mut Arena<'_>, frames: &[(Metric, bool)]) -> Result<Vec<RivalResult>, TuneError> {
    let mut metrics: Vec<&Metric> = Vec::new();
    for (metric, _) in frames {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let mut best: Vec<RivalResult> = Vec::new();
    for metric in metrics {
        for found in arena.rivals(metric)? {
            match best.iter_mut().find(|other| other.rival == found.rival) {
                None => best.push(found),
                Some(other) if found.mean > other.mean => *other = found,
                Some(_) => {}
            }
        }
    }
    Ok(best)
}

/// The robust preset by the metric and the columns that suit it best; those of the parameters unless others lead.
fn best_frame(
    arena: &mut Arena<'_>,
    frames: &[(Metric, bool)],
    course: &mut Standing,
    progress: &mut dyn FnMut(&TuneProgress<'_>) -> ControlFlow<()>,
) -> Result<Trial, TuneError> {
    let mut best: Option<Trial> = None;
    for (metric, standardize) in frames {
        let params = Params { standardize: *standardize, ..Params::robust_for(metric.clone()).keeping_all() };
        let params = Params { strangers: arena.options.base.strangers, ..params };
        let trial = arena.trial(&params)?;
        let columns = if *standardize { ", standard columns" } else { "" };
        course.step(&format!("robust, {}{columns}", metric.name()), Some(&trial), progress)?;
        if best.as_ref().is_none_or(|best| trial.lead(best, arena.scale()).counts()) {
            best = Some(trial);
        }
    }
    best.ok_or(TuneError::EmptySpace)
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
    arena: &mut Arena<'_>,
    course: &mut Standing,
    progress: &mut dyn FnMut(&TuneProgress<'_>) -> ControlFlow<()>,
) -> Result<Vec<Trial>, TuneError> {
    let options = arena.options;
    let mut trials: Vec<Trial> = Vec::new();
    let mut run = |at: Position, arena: &mut Arena<'_>| -> Result<f64, TuneError> {
        let trial = arena.search(&options.space.params(&options.base, at))?;
        let mean = trial.mean;
        course.step(&format!("trial {}", trials.len() + 1), Some(&trial), progress)?;
        trials.push(trial);
        Ok(mean)
    };
    match options.search {
        TrialSearch::Grid => {
            for at in options.space.grid() {
                run(at, arena)?;
            }
        }
        TrialSearch::Bayesian { trials } => {
            let mut course = Course::new(&options.space, &options.base, trials, options.seed)?;
            for trial in 0..trials.clamp(1, options.space.len()) {
                let at = course.next(trial);
                let value = run(at, arena)?;
                course.tell(at, value);
            }
        }
    }
    Ok(trials)
}
