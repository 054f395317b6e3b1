//! The folds of a tuning run, measured once for each whitening and smoothing, and trials on them.

use std::collections::VecDeque;

use evmachine::{
    Budget, DistanceTable, Evm, Features, Labels, Params, Reduction, TailFits, TailMemory, TailModel,
    TailSize,
};

use crate::answers::Answers;
use crate::evaluation::Evaluation;
use crate::folds::Fold;
use crate::objective::{judge, mean_and_error};
use crate::openness;
use crate::rivals::{self, Contest, Rival};
use crate::tune::{Delta, RivalResult, Trial, TuneError, TuneOptions};

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
    pub(crate) fn new(features: &Features<'_>, labels: &Labels, fold: &Fold) -> Self {
        let queries = [fold.known.as_slice(), fold.unknown.as_slice()].concat();
        let train = (features.select(&fold.train), labels.select(&fold.train));
        let truth = rivals::truth(&train.1, &labels.select(&queries));
        Self { train, queries: features.select(&queries), truth, known: fold.known.len() }
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
    fn derive(&mut self, params: &Params, features: &Features<'_>) -> Result<Evm, TuneError> {
        let position = self.fits.iter().position(|fits| fits.serve(params)).unwrap_or(self.fits.len());
        if position == self.fits.len() {
            self.fits.push(self.base.fit_tails(params)?);
        }
        Ok(self.base.derive_with(&self.fits[position], params, features)?)
    }
}

/// The folds, and what was measured on them last.
pub(crate) struct Bench<'a> {
    folds: Vec<FoldData>,
    /// Classes in all of the data.
    classes: usize,
    /// How often an unknown row of the folds counts in F1, so that all classes, left out or not, count alike.
    weight: f64,
    pub(crate) options: &'a TuneOptions,
    cache: VecDeque<(Measure, Vec<Measured>)>,
}

/// What distances depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measure {
    whitening: f64,
    smoothing: f64,
    smoothing_neighbors: usize,
}

impl Measure {
    pub(crate) fn of(params: &Params) -> Self {
        let &Params { whitening, smoothing, smoothing_neighbors, .. } = params;
        Self { whitening, smoothing, smoothing_neighbors }
    }
}

/// Rivals that need nothing but the rows.
const RIVALS: [Rival; 5] = [
    Rival::NearestNeighbors(1),
    Rival::NearestNeighbors(3),
    Rival::NearestNeighbors(5),
    Rival::NearestNeighbors(10),
    Rival::NearestClassMean,
];

/// Measures whose distances are kept.
const CACHED: usize = 3;

impl<'a> Bench<'a> {
    pub(crate) fn new(folds: Vec<FoldData>, classes: usize, options: &'a TuneOptions) -> Self {
        let rates = folds.iter().map(|fold| {
            let known = fold.train.1.names().len().max(1) as f64;
            let unknown_rows = (fold.queries.rows() - fold.known).max(1) as f64;
            (classes as f64 - known) / known * (fold.known as f64 / unknown_rows)
        });
        let weight = rates.sum::<f64>() / folds.len().max(1) as f64;
        Self { folds, classes, weight, options, cache: VecDeque::new() }
    }

    fn measured(&mut self, measure: Measure) -> Result<&[Measured], TuneError> {
        if let Some(position) = self.cache.iter().position(|(key, _)| *key == measure) {
            self.cache.swap(0, position);
        } else {
            let folds =
                self.folds.iter().map(|fold| self.measure(fold, measure)).collect::<Result<Vec<_>, _>>()?;
            self.cache.truncate(CACHED - 1);
            self.cache.push_front((measure, folds));
        }
        Ok(&self.cache[0].1)
    }

    fn measure(&self, fold: &FoldData, measure: Measure) -> Result<Measured, TuneError> {
        let Measure { whitening, smoothing, smoothing_neighbors } = measure;
        let (features, labels) = &fold.train;
        let rows = features.rows();
        let largest = self.options.space.tail_fraction.iter().copied().fold(0.0, f64::max);
        // Enough for every fraction and for the paper's own rule.
        let points = (0.17 * features.columns() as f64 * labels.names().len() as f64).round() as usize;
        let tail = ((largest * rows as f64).ceil() as usize).max(points.min(rows / 2)).max(20);
        let params = Params {
            metric: self.options.base.metric.clone(),
            whitening,
            smoothing,
            smoothing_neighbors,
            tail_size: TailSize::Count(tail),
            cover_threshold: 1.0,
            tail_memory: TailMemory::Full,
            tail_memory_limit: u64::MAX,
            ..Params::default()
        };
        let (base, _) = Evm::fit(&params, features, labels)?;
        let table = base.measure(&fold.queries)?;
        Ok(Measured { base, table, fits: Vec::new() })
    }

    /// For each contrast, the answers of the parameters on each fold; and the mean vector ratio.
    fn answers(&mut self, params: &Params, contrasts: &[f64]) -> Result<(Vec<Vec<Answers>>, f64), TuneError> {
        let count = self.folds.len();
        self.measured(Measure::of(params))?;
        let mut all = vec![Vec::with_capacity(count); contrasts.len()];
        let mut ratios = Vec::with_capacity(count);
        for (fold, data) in self.cache[0].1.iter_mut().zip(&self.folds) {
            let model = fold.derive(params, &data.train.0)?;
            let decisions = model.for_each_measured(&fold.table, |_, scores| {
                contrasts.iter().map(|&contrast| model.decision_at(scores, contrast)).collect::<Vec<_>>()
            });
            for (position, all) in all.iter_mut().enumerate() {
                let mut answers = Answers::default();
                for (decisions, &truth) in decisions.iter().zip(&data.truth) {
                    let decision = decisions[position];
                    answers.push(truth, decision.best(), decision.score().support, true);
                }
                all.push(answers);
            }
            ratios.push(model.vector_ratio());
        }
        Ok((all, mean_and_error(&ratios).0))
    }

    /// The parameters as they are.
    pub(crate) fn trial(&mut self, params: &Params) -> Result<Trial, TuneError> {
        self.best_contrast(params, &[params.contrast])
    }

    /// The parameters at the best of the space's contrasts, which cost nothing beside the rest of a trial.
    pub(crate) fn search(&mut self, params: &Params) -> Result<Trial, TuneError> {
        self.best_contrast(params, &self.options.space.contrast)
    }

    fn best_contrast(&mut self, params: &Params, contrasts: &[f64]) -> Result<Trial, TuneError> {
        // Other tail models take no contrast.
        let contrasts = if params.tail_model == TailModel::Weibull { contrasts } else { &[0.0] };
        let (answers, vector_ratio) = self.answers(params, contrasts)?;
        let mut best: Option<Trial> = None;
        for (&contrast, answers) in contrasts.iter().zip(&answers) {
            let folds = judge(self.options.objective, answers, self.weight);
            let (mean, error) = mean_and_error(&folds);
            if best.as_ref().is_none_or(|best| mean > best.mean) {
                let rejection_threshold = self.delta(params.tail_model, &Answers::concat(answers));
                let params = Params { contrast, rejection_threshold, ..params.clone() };
                best = Some(Trial { params, folds, mean, error, vector_ratio });
            }
        }
        best.ok_or(TuneError::EmptySpace)
    }

    /// Where to reject, as a probability. Neither 0 nor 1, which would accept or reject everything.
    fn delta(&self, model: TailModel, answers: &Answers) -> f64 {
        let threshold = match self.options.delta {
            Delta::MaxFalseUnknown(rate) => answers.threshold_for_false_unknowns(rate),
            Delta::BestF1 => Some(answers.threshold_for_best_f1(self.weight)),
            Delta::Openness { unknown_classes } => {
                return openness::delta(self.classes, unknown_classes);
            }
        };
        let probability = model.probability_at(threshold.unwrap_or(f64::NEG_INFINITY));
        probability.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
    }

    /// The best of `trials` at smaller sizes, largest first, by whichever reduction keeps more.
    pub(crate) fn shrink(&mut self, trials: &[&Trial]) -> Result<Vec<Trial>, TuneError> {
        const RATIOS: [f64; 9] = [0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.07, 0.04, 0.02];
        let mut best: [Option<Trial>; RATIOS.len()] = Default::default();
        for from in trials {
            for (best, ratio) in best.iter_mut().zip(RATIOS).filter(|(_, ratio)| *ratio < from.vector_ratio) {
                for reduction in [Reduction::SetCover, Reduction::WeightedMaxK] {
                    let max_extreme_vectors = Some(Budget::Ratio(ratio));
                    let trial =
                        self.trial(&Params { max_extreme_vectors, reduction, ..from.params.clone() })?;
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

    pub(crate) fn rivals(&self) -> Result<Vec<RivalResult>, TuneError> {
        let mut answers: Vec<(Rival, Vec<Answers>)> = Vec::new();
        for fold in &self.folds {
            let contest = Contest {
                metric: &self.options.base.metric,
                train: (&fold.train.0, &fold.train.1),
                queries: &fold.queries,
                truth: &fold.truth,
                linear: None,
            };
            for (position, (rival, own)) in rivals::rivals(&contest, &RIVALS)?.into_iter().enumerate() {
                match answers.get_mut(position) {
                    Some((_, folds)) => folds.push(own),
                    None => answers.push((rival, vec![own])),
                }
            }
        }
        let results = answers.into_iter().map(|(rival, folds)| {
            let (mean, error) = mean_and_error(&judge(self.options.objective, &folds, self.weight));
            RivalResult { rival, mean, error }
        });
        Ok(results.collect())
    }

    /// What comes of the parameters on the folds, rejection included.
    pub(crate) fn at_delta(&mut self, params: &Params) -> Result<Evaluation, TuneError> {
        let classes = self.folds.iter().map(|fold| fold.train.1.names().len()).max().unwrap_or(0);
        let (answers, _) = self.answers(params, &[params.contrast])?;
        let threshold = params.tail_model.support_at(params.rejection_threshold);
        Ok(Evaluation::new(&Answers::concat(&answers.concat()).with_threshold(threshold), classes))
    }
}

/// Whether psi still tells queries apart where the trial rejects: a delta that rounds to 0 or 1 does not.
pub(crate) fn usable(trial: &Trial) -> bool {
    (1e-300..1.0 - 1e-9).contains(&trial.params.rejection_threshold)
}
