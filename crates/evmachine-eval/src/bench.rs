//! The folds of a tuning run, measured once for each smoothing, and trials on them.

use std::collections::VecDeque;

use evmachine::{Budget, DistanceTable, Evm, Features, Labels, Params, TailMemory, TailModel, TailSize};

use crate::answers::Answers;
use crate::evaluation::Evaluation;
use crate::folds::Fold;
use crate::objective::{best_threshold, f1_at, judge, mean_and_error};
use crate::rivals::{self, Rival};
use crate::tune::{Delta, RivalResult, Trial, TuneError, TuneOptions};

/// The rows of a fold.
pub(crate) struct FoldData {
    train: (Features<'static>, Labels),
    queries: Features<'static>,
    labels: Labels,
}

impl FoldData {
    pub(crate) fn new(features: &Features<'_>, labels: &Labels, fold: &Fold) -> Self {
        let queries = [fold.known.as_slice(), fold.unknown.as_slice()].concat();
        Self {
            train: (features.select(&fold.train), labels.select(&fold.train)),
            queries: features.select(&queries),
            labels: labels.select(&queries),
        }
    }
}

/// A fold, measured for one smoothing.
struct Measured {
    base: Evm,
    table: DistanceTable,
    truth: Vec<Option<usize>>,
}

/// The folds, and what was measured on them last.
pub(crate) struct Bench<'a> {
    folds: Vec<FoldData>,
    pub(crate) options: &'a TuneOptions,
    cache: VecDeque<(Smoothing, Vec<Measured>)>,
}

type Smoothing = (f64, usize);

/// Smoothings whose distances are kept.
const CACHED: usize = 4;

impl<'a> Bench<'a> {
    pub(crate) fn new(folds: Vec<FoldData>, options: &'a TuneOptions) -> Self {
        Self { folds, options, cache: VecDeque::new() }
    }

    fn measured(&mut self, smoothing: Smoothing) -> Result<&[Measured], TuneError> {
        if let Some(position) = self.cache.iter().position(|(key, _)| *key == smoothing) {
            self.cache.swap(0, position);
        } else {
            let folds =
                self.folds.iter().map(|fold| self.measure(fold, smoothing)).collect::<Result<Vec<_>, _>>()?;
            self.cache.truncate(CACHED - 1);
            self.cache.push_front((smoothing, folds));
        }
        Ok(&self.cache[0].1)
    }

    fn measure(
        &self,
        fold: &FoldData,
        (smoothing, smoothing_neighbors): Smoothing,
    ) -> Result<Measured, TuneError> {
        let (features, labels) = &fold.train;
        let rows = features.rows();
        let largest = self.options.space.tail_fraction.iter().copied().fold(0.0, f64::max);
        // Enough for every fraction and for the paper's own rule.
        let points = (0.17 * features.columns() as f64 * labels.names().len() as f64).round() as usize;
        let tail = ((largest * rows as f64).ceil() as usize).max(points.min(rows / 2)).max(20);
        let params = Params {
            metric: self.options.base.metric.clone(),
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
        let classes: Vec<Option<usize>> =
            fold.labels.names().iter().map(|name| base.class_index(name)).collect();
        let truth = fold.labels.ids().iter().map(|&id| classes[id as usize]).collect();
        Ok(Measured { base, table, truth })
    }

    /// Answers of the parameters on each fold, with the vector ratio.
    fn answers(&mut self, params: &Params) -> Result<Vec<(Answers, f64)>, TuneError> {
        let folds = self.measured((params.smoothing, params.smoothing_neighbors))?;
        let mut all = Vec::with_capacity(folds.len());
        for fold in folds {
            let model = fold.base.derive(params)?;
            let decisions = model.for_each_measured(&fold.table, |_, scores| model.decision(scores));
            let mut answers = Answers::default();
            for (decision, &truth) in decisions.iter().zip(&fold.truth) {
                answers.push(truth, decision.best(), decision.score().support, true);
            }
            all.push((answers, model.vector_ratio()));
        }
        Ok(all)
    }

    pub(crate) fn trial(&mut self, params: &Params) -> Result<Trial, TuneError> {
        let answers = self.answers(params)?;
        let (answers, ratios): (Vec<Answers>, Vec<f64>) = answers.into_iter().unzip();
        let folds = judge(self.options.objective, &answers);
        let (mean, error) = mean_and_error(&folds);
        Ok(Trial { params: params.clone(), folds, mean, error, vector_ratio: mean_and_error(&ratios).0 })
    }

    /// The trial at smaller sizes, largest first.
    pub(crate) fn shrink(&mut self, best: &Trial) -> Result<Vec<Trial>, TuneError> {
        const RATIOS: [f64; 8] = [0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02];
        let ratios = RATIOS.iter().filter(|ratio| **ratio < best.vector_ratio);
        ratios
            .map(|&ratio| {
                self.trial(&Params { max_extreme_vectors: Some(Budget::Ratio(ratio)), ..best.params.clone() })
            })
            .collect::<Result<Vec<_>, _>>()
            .map(|mut trials| {
                // Each class keeps one point, and so the smallest ratios may come to the same.
                trials.dedup_by(|a, b| a.vector_ratio == b.vector_ratio);
                trials
            })
    }

    pub(crate) fn rivals(&mut self) -> Result<Vec<RivalResult>, TuneError> {
        let objective = self.options.objective;
        let queries: Vec<Features<'static>> = self.folds.iter().map(|fold| fold.queries.clone()).collect();
        let folds = self.measured((0.0, 10))?;
        let mut results = Vec::new();
        for rival in [
            Rival::NearestNeighbors(1),
            Rival::NearestNeighbors(3),
            Rival::NearestNeighbors(5),
            Rival::NearestNeighbors(10),
            Rival::NearestClassMean,
        ] {
            let answers: Vec<Answers> = folds
                .iter()
                .zip(&queries)
                .map(|(fold, queries)| match rival {
                    Rival::NearestNeighbors(k) => {
                        rivals::nearest_neighbors(&fold.base, &fold.table, k, &fold.truth)
                    }
                    Rival::NearestClassMean => rivals::nearest_class_mean(&fold.base, queries, &fold.truth),
                })
                .collect();
            let (mean, error) = mean_and_error(&judge(objective, &answers));
            results.push(RivalResult { rival, mean, error });
        }
        Ok(results)
    }

    /// The support at which to reject, and what comes of it on the folds.
    pub(crate) fn delta(&mut self, params: &Params) -> Result<(f64, Evaluation), TuneError> {
        let classes = self.folds.iter().map(|fold| fold.train.1.names().len()).max().unwrap_or(0);
        let (answers, _): (Vec<Answers>, Vec<f64>) = self.answers(params)?.into_iter().unzip();
        let all = Answers::concat(&answers);
        let threshold = match self.options.delta {
            Delta::MaxFalseUnknown(rate) => all.threshold_for_false_unknowns(rate),
            Delta::BestF1 => Some(best_threshold(&all, f1_at)),
        };
        let threshold = representable(params.tail_model, threshold.unwrap_or(f64::NEG_INFINITY));
        Ok((threshold, Evaluation::new(&all.with_threshold(threshold), classes)))
    }
}

/// The threshold as it comes back from the probability that a model stores: neither 0 nor 1, which would accept
/// or reject everything.
fn representable(model: TailModel, threshold: f64) -> f64 {
    let probability = model.probability_at(threshold).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
    model.support_at(probability)
}
