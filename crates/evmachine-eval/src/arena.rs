//! The folds of a tuning run, measured once for each metric, whitening and smoothing, and trials on them.

use std::collections::VecDeque;

use evmachine::tuning::{DistanceTable, TailFits};
use evmachine::{
    Budget, Evm, FeatureError, Features, FitError, Labels, Metric, Params, Reduction, Rejection, Run,
    TailMemory, TailModel, TailSize,
};
use rayon::prelude::*;

use crate::answers::Answers;
use crate::evaluation::Evaluation;
use crate::evidence::Scale;
use crate::folds::Fold;
use crate::objective::{judge, mean_and_error};
use crate::openness;
use crate::rivals::{self, Contest, Rival};
use crate::tune::{Delta, RivalResult, Trial, TuneError, TuneOptions};
use crate::voices::{Raise, Voices, Votes, Weights};

/// The rows of a fold.
pub(crate) struct FoldData {
    train: (Features<'static>, Labels),
    queries: Features<'static>,
    /// The class of each query, by the numbering of the training labels.
    truth: Vec<Option<usize>>,
    /// How many of the queries are of known classes.
    known: usize,
}

impl FoldData {
    /// Queries are rows held out of known classes, rows of classes left out, and those of `unknowns`.
    pub(crate) fn new(
        features: &Features<'_>,
        labels: &Labels,
        fold: &Fold,
        unknowns: Option<&Features<'_>>,
    ) -> Result<Self, TuneError> {
        let queries = [fold.known.as_slice(), fold.unknown.as_slice()].concat();
        let train = (features.select(&fold.train), labels.select(&fold.train));
        let mut truth = rivals::truth(&train.1, &labels.select(&queries));
        let mut values = features.select(&queries).values().to_vec();
        if let Some(unknowns) = unknowns {
            let (expected, found) = (features.columns(), unknowns.columns());
            if expected != found {
                return Err(FitError::from(FeatureError::Dimensions { expected, found }).into());
            }
            values.extend(unknowns.values());
            truth.resize(truth.len() + unknowns.rows(), None);
        }
        let queries = Features::new(values, features.columns()).map_err(FitError::from)?;
        Ok(Self { train, queries, truth, known: fold.known.len() })
    }
}

/// A fold, measured once.
struct Measured {
    base: Evm,
    table: DistanceTable,
    /// What was fitted so far; small beside the tails.
    fits: Vec<TailFits>,
}

impl Measured {
    /// The model of these parameters. Tails that were fitted before are not fitted again.
    fn derive(&mut self, run: &Run<'_>, params: &Params, features: &Features<'_>) -> Result<Evm, TuneError> {
        let position = self.fits.iter().position(|fits| fits.serve(params)).unwrap_or(self.fits.len());
        if position == self.fits.len() {
            self.fits.push(TailFits::new(run, &self.base, params)?);
        }
        Ok(self.fits[position].derive(run, &self.base, params, features)?)
    }
}

/// The folds, and what was measured on them last.
pub(crate) struct Arena<'a> {
    folds: Vec<FoldData>,
    /// Classes in all of the data.
    classes: usize,
    /// How often an unknown row of the folds counts in F1, so that all classes, left out or not, count alike.
    weight: f64,
    pub(crate) options: &'a TuneOptions,
    run: &'a Run<'a>,
    cache: VecDeque<(Measure, Vec<Measured>)>,
    voices: Vec<Heard>,
}

/// The witnesses of the folds by a metric, the machine over logits being of a size.
struct Heard {
    metric: Metric,
    size: (Option<Budget>, Reduction),
    voices: Vec<Voices>,
}

/// Weights and raise as they were judged.
struct Judged {
    /// Among the weights.
    position: usize,
    raise: Raise,
    folds: Vec<f64>,
    mean: f64,
    error: f64,
}

/// Weights that are tried at all raises.
const FINALISTS: usize = 3;

/// What distances depend on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    metric: Metric,
    standardize: bool,
    whitening: f64,
    smoothing: f64,
    smoothing_neighbors: usize,
}

impl Measure {
    pub(crate) fn of(params: &Params) -> Self {
        let &Params { standardize, whitening, smoothing, smoothing_neighbors, .. } = params;
        Self { metric: params.metric.clone(), standardize, whitening, smoothing, smoothing_neighbors }
    }
}

/// Measures whose distances are kept.
const CACHED: usize = 3;

impl<'a> Arena<'a> {
    pub(crate) fn new(
        run: &'a Run<'a>,
        folds: Vec<FoldData>,
        classes: usize,
        options: &'a TuneOptions,
    ) -> Self {
        let rates = folds.iter().map(|fold| {
            let known = fold.train.1.names().len().max(1) as f64;
            let unknown_rows = (fold.queries.rows() - fold.known).max(1) as f64;
            (classes as f64 - known) / known * (fold.known as f64 / unknown_rows)
        });
        let weight = rates.sum::<f64>() / folds.len().max(1) as f64;
        Self { folds, classes, weight, options, run, cache: VecDeque::new(), voices: Vec::new() }
    }

    /// What leads on these folds are judged by.
    pub(crate) fn scale(&self) -> Scale {
        let queries = |fold: &FoldData| fold.known.min(fold.queries.rows() - fold.known);
        Scale::new(self.classes, self.folds.iter().map(queries))
    }

    fn measured(&mut self, measure: &Measure) -> Result<(), TuneError> {
        if let Some(position) = self.cache.iter().position(|(key, _)| key == measure) {
            self.cache.swap(0, position);
        } else {
            let folds =
                self.folds.iter().map(|fold| self.measure(fold, measure)).collect::<Result<Vec<_>, _>>()?;
            self.cache.truncate(CACHED - 1);
            self.cache.push_front((measure.clone(), folds));
        }
        Ok(())
    }

    fn measure(&self, fold: &FoldData, measure: &Measure) -> Result<Measured, TuneError> {
        let (features, labels) = &fold.train;
        let rows = features.rows();
        let largest = self.options.space.tail_fraction.iter().copied().fold(0.0, f64::max);
        // Enough for every fraction, for the robust preset and for the paper's own rule.
        let points = (0.17 * features.columns() as f64 * labels.names().len() as f64).round() as usize;
        let tail = ((largest * rows as f64).ceil() as usize).max(points.min(rows / 2)).max(200);
        let params = Params {
            metric: measure.metric.clone(),
            standardize: measure.standardize,
            whitening: measure.whitening,
            smoothing: measure.smoothing,
            smoothing_neighbors: measure.smoothing_neighbors,
            tail_size: TailSize::Count(tail),
            cover_threshold: 1.0,
            tail_memory: TailMemory::Full,
            tail_memory_limit: u64::MAX,
            ..Params::paper()
        };
        let (base, _) = Evm::fit_with(self.run, &params, features, labels)?;
        let table = DistanceTable::measure(self.run, base.machine(), &fold.queries)?;
        Ok(Measured { base, table, fits: Vec::new() })
    }

    /// Asks the witnesses beside the features about the folds, for a metric and a size, unless that was done.
    fn hear(&mut self, metric: &Metric, size: &Params) -> Result<usize, TuneError> {
        let size = (size.max_extreme_vectors, size.reduction);
        if let Some(position) =
            self.voices.iter().position(|heard| heard.metric == *metric && heard.size == size)
        {
            return Ok(position);
        }
        let params =
            Params { max_extreme_vectors: size.0, reduction: size.1, ..Params::robust_for(metric.clone()) };
        let whole = self.voices.iter().find(|heard| heard.metric == *metric);
        let voices = self.folds.iter().enumerate().map(|(fold, data)| {
            let train = (&data.train.0, &data.train.1);
            let given = whole.map(|heard| &heard.voices[fold]);
            Voices::new(self.run, &params, given, train, &data.queries, data.known)
        });
        let voices = voices.collect::<Result<Vec<_>, _>>()?;
        self.voices.push(Heard { metric: metric.clone(), size, voices });
        Ok(self.voices.len() - 1)
    }

    /// The votes of the parameters on each fold, at each of the weights; and the mean vector ratio.
    fn votes(&mut self, params: &Params, weights: &[Weights]) -> Result<(Vec<Votes>, f64), TuneError> {
        self.measured(&Measure::of(params))?;
        let voices = self.hear(&params.metric, params)?;
        // The machine in feature space alone; witnesses are put beside it here.
        let params = Params { rejection_threshold: Rejection::PAPER, ..Weights::NONE.into_params(params) };
        let (mut votes, mut ratios) = (Vec::with_capacity(self.folds.len()), Vec::new());
        let folds = self.cache[0].1.iter_mut().zip(&self.folds).zip(&self.voices[voices].voices);
        for ((fold, data), voices) in folds {
            let model = fold.derive(self.run, &params, &data.train.0)?;
            let supports = fold.table.map_queries(model.machine(), |_, scores| {
                scores.iter().map(|score| score.support).collect::<Vec<f64>>()
            })?;
            votes.push(voices.votes(&supports.concat(), &data.truth, data.known, weights));
            ratios.push(model.vector_ratio());
        }
        Ok((votes, mean_and_error(&ratios).0))
    }

    /// The parameters as they are.
    pub(crate) fn trial(&mut self, params: &Params) -> Result<Trial, TuneError> {
        self.best_of(params, &[Weights::of(params)], &[Raise::of(params)])
    }

    /// The parameters at the best of the space's weights, contrasts and backgrounds, which cost little beside the rest of a trial.
    pub(crate) fn search(&mut self, params: &Params) -> Result<Trial, TuneError> {
        let space = &self.options.space;
        let raises: Vec<Raise> = space
            .contrast
            .iter()
            .flat_map(|&contrast| {
                space.background.iter().map(move |&background| Raise { contrast, background })
            })
            .collect();
        self.best_of(params, &space.weights.clone(), &raises)
    }

    /// The best weights at the raise that the robust preset has, or the first one, are tried at all raises.
    fn best_of(
        &mut self,
        params: &Params,
        weights: &[Weights],
        raises: &[Raise],
    ) -> Result<Trial, TuneError> {
        // Other tail models take neither contrast nor background.
        let none = [Raise { contrast: 0.0, background: 0.0 }];
        let raises = if params.tail_model == TailModel::Weibull { raises } else { &none };
        let (votes, vector_ratio) = self.votes(params, weights)?;
        let usual = Raise::of(&Params::robust());
        let usual = raises.iter().copied().find(|raise| *raise == usual).unwrap_or(raises[0]);
        let judged = |position: usize, raise: Raise| {
            let answers: Vec<Answers> = votes.iter().map(|fold| fold.answers(position, raise)).collect();
            let folds = judge(self.options.objective, &answers, self.weight);
            let (mean, error) = mean_and_error(&folds);
            Judged { position, raise, folds, mean, error }
        };
        let mut first: Vec<Judged> =
            (0..weights.len()).into_par_iter().map(|position| judged(position, usual)).collect();
        first.sort_by(|a, b| b.mean.total_cmp(&a.mean));
        first.truncate(FINALISTS);
        let others = raises.iter().filter(|raise| **raise != usual);
        let pairs: Vec<(usize, Raise)> =
            others.flat_map(|&raise| first.iter().map(move |judged| (judged.position, raise))).collect();
        let more: Vec<Judged> =
            pairs.into_par_iter().map(|(position, raise)| judged(position, raise)).collect();
        let best = first.into_iter().chain(more).max_by(|a, b| a.mean.total_cmp(&b.mean));
        let Judged { position, raise, folds, mean, error } = best.ok_or(TuneError::EmptySpace)?;
        let answers: Vec<Answers> = votes.iter().map(|fold| fold.answers(position, raise)).collect();
        let params = Params {
            contrast: raise.contrast,
            background: raise.background,
            rejection_threshold: self.rejection(&answers),
            ..weights[position].into_params(params)
        };
        Ok(Trial { params, folds, mean, error, vector_ratio })
    }

    /// Where to reject: as the share of known queries that is rejected, which holds for models of any size.
    fn rejection(&self, folds: &[Answers]) -> Rejection {
        match self.options.delta {
            Delta::MaxFalseUnknown(rate) => Rejection::FalseUnknown(rate),
            Delta::MaxFalseKnown(rate) => Rejection::FalseKnown(rate),
            Delta::BestF1 => {
                let rates = folds.iter().map(|answers| {
                    let threshold = answers.threshold_for_best_f1(self.weight);
                    let known = answers.known_scores();
                    let rejected = known.iter().filter(|score| **score < threshold).count() as f64;
                    // That none was rejected is no reason to reject nothing: it is less than can be told from so many rows.
                    (rejected / known.len().max(1) as f64).max(1.0 / (known.len() + 1) as f64)
                });
                let rates: Vec<f64> = rates.collect();
                Rejection::FalseUnknown(mean_and_error(&rates).0)
            }
            Delta::Openness { unknown_classes } => {
                Rejection::Probability(openness::delta(self.classes, unknown_classes))
            }
        }
    }

    /// The best of `trials` at smaller sizes, largest first, by whichever reduction keeps more.
    pub(crate) fn shrink(&mut self, trials: &[&Trial]) -> Result<Vec<Trial>, TuneError> {
        const RATIOS: [f64; 6] = [0.7, 0.5, 0.25, 0.1, 0.04, 0.02];
        let mut best: [Option<Trial>; RATIOS.len()] = Default::default();
        for from in trials {
            for (best, ratio) in best.iter_mut().zip(RATIOS).filter(|(_, ratio)| *ratio < from.vector_ratio) {
                for reduction in [Reduction::SetCover, Reduction::WeightedMaxK] {
                    let max_extreme_vectors = Some(Budget::Ratio(ratio));
                    // A risk goes with a threshold, not with a budget.
                    let params =
                        Params { max_extreme_vectors, reduction, cover_risk: 0.0, ..from.params.clone() };
                    let trial = self.trial(&params)?;
                    if best.as_ref().is_none_or(|best| trial.mean > best.mean) {
                        *best = Some(trial);
                    }
                }
            }
        }
        let mut trials: Vec<Trial> = best.into_iter().flatten().collect();
        // Each class keeps one point, and so the smallest ratios may come to the same.
        trials.dedup_by(|a, b| a.vector_ratio == b.vector_ratio);
        Ok(trials)
    }

    /// The rivals by a metric.
    pub(crate) fn rivals(&mut self, metric: &Metric) -> Result<Vec<RivalResult>, TuneError> {
        let voices = self.hear(metric, &Params::paper())?;
        let sizes = self.folds.iter().map(|fold| (fold.train.0.rows(), fold.train.0.columns()));
        let quick = sizes.max().map_or_else(Vec::new, |(rows, columns)| Rival::quick(rows, columns));
        let by_fold = self.folds.iter().zip(&self.voices[voices].voices).map(|(fold, voices)| {
            let contest = Contest {
                metric,
                train: (&fold.train.0, &fold.train.1),
                queries: &fold.queries,
                truth: &fold.truth,
                linear: Some(voices.linear()),
            };
            rivals::rivals_with(self.run, &contest, &quick)
        });
        let by_fold = by_fold.collect::<Result<Vec<_>, _>>()?;
        let asked = by_fold.first().map_or(0, Vec::len);
        Ok((0..asked)
            .map(|position| {
                let answers: Vec<Answers> = by_fold.iter().map(|fold| fold[position].1.clone()).collect();
                let folds = judge(self.options.objective, &answers, self.weight);
                let (mean, error) = mean_and_error(&folds);
                RivalResult { rival: by_fold[0][position].0, mean, error }
            })
            .collect())
    }

    /// What comes of the parameters on the folds, rejection included, and the p-values of unknown queries.
    pub(crate) fn at_delta(&mut self, params: &Params) -> Result<(Evaluation, Vec<f64>), TuneError> {
        let classes = self.folds.iter().map(|fold| fold.train.1.names().len()).max().unwrap_or(0);
        let (votes, _) = self.votes(params, &[Weights::of(params)])?;
        let folds = votes.iter().map(|votes| votes.answers(0, Raise::of(params)));
        let mut p_values = Vec::new();
        let mut decided = Vec::new();
        for answers in folds {
            let mut known = answers.known_scores();
            known.sort_unstable_by(f64::total_cmp);
            let p_value = |score: f64| {
                let below = known.partition_point(|other| *other <= score);
                (below + 1) as f64 / (known.len() + 1) as f64
            };
            let unknown = answers.truth.iter().zip(&answers.score).filter(|(truth, _)| truth.is_none());
            let own: Vec<f64> = unknown.map(|(_, &score)| p_value(score)).collect();
            let threshold = match params.rejection_threshold {
                Rejection::Probability(delta) => params.tail_model.support_at(delta),
                Rejection::Support(support) => support,
                Rejection::FalseKnown(rate) => {
                    // The lowest score whose p-value no more than the rate of the unknown reach.
                    let mut own = own.clone();
                    own.sort_unstable_by(f64::total_cmp);
                    let accepted = (rate * own.len() as f64).floor() as usize;
                    let least = own.get(own.len().saturating_sub(accepted + 1)).copied().unwrap_or(0.0);
                    known.iter().copied().find(|&score| p_value(score) > least).unwrap_or(f64::INFINITY)
                }
                rule => answers.threshold_for_false_unknowns(rule.value()).unwrap_or(f64::NEG_INFINITY),
            };
            p_values.extend(own);
            decided.push(answers.with_threshold(threshold));
        }
        Ok((Evaluation::new(&Answers::concat(&decided), classes), p_values))
    }
}
