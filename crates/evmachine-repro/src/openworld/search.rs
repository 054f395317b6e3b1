//! The paper's search (Sec. V-B): tail size, k and delta under three-fold cross-class validation on the first classes.
//!
//! The paper draws 50 pairs of tail size and k with hyperopt; here all pairs of a grid over the same ranges are tried, which
//! costs little, because models of one fold share distances and models of one tail size share fits.

use evmachine::tuning::{DistanceTable, TailFits};
use evmachine::{Evm, Features, Labels, Params, Rejection, Run, TailMemory, TailModel, TailSize};
use evmachine_eval::Answers;
use evmachine_eval::folds::{Fold, FoldSizes, folds};
use serde::{Deserialize, Serialize};

use crate::error::ReproError;
use crate::oletter::rounded;
use crate::watch::Watch;

/// Tail sizes as shares of a fold's rows: the paper's 100 to 32,000 of 43,211, and the share that it chose.
const SHARES: [f64; 10] = [0.0023, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5245, 0.74];
/// The paper's k, 1 to 10.
const FUSED: [usize; 7] = [1, 2, 3, 4, 6, 8, 10];
/// The paper's deltas.
const DELTAS: [f64; 6] = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3];
/// What the paper multiplies k by, because folds are smaller than the whole.
const FUSED_SCALE: f64 = 1.5;
/// Folds, as in the paper.
const FOLDS: usize = 3;
/// All rows train; so many of the known and of the unknown test.
const SIZES: FoldSizes = FoldSizes { train: usize::MAX, test: 1_000 };

/// A pair of tail size and k, at the best delta.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Candidate {
    /// Which EVM was searched for.
    pub(super) system: String,
    /// Tail size by the rows of a fold.
    pub(super) tail_share: f64,
    /// The paper's k.
    pub(super) n_fused: usize,
    /// The best of the deltas.
    pub(super) delta: f64,
    /// F1 over all folds, every class, left out or not, counting alike.
    pub(super) f1: f64,
    /// Mean vector ratio of the folds.
    pub(super) vector_ratio: f64,
}

impl Candidate {
    /// The parameters for all rows: the tail size, a count from then on, in proportion to them.
    pub(super) fn params(&self, base: &Params, rows: usize) -> Params {
        Params {
            tail_size: TailSize::Count((self.tail_share * rows as f64).round().max(1.0) as usize),
            n_fused: (FUSED_SCALE * self.n_fused as f64).round() as usize,
            rejection_threshold: Rejection::Probability(self.delta),
            ..base.clone()
        }
    }
}

/// The best pair for a system; the first of equals.
pub(super) fn best<'a>(candidates: &'a [Candidate], system: &str) -> Option<&'a Candidate> {
    let own = candidates.iter().filter(|candidate| candidate.system == system);
    own.reduce(|best, other| if other.f1 > best.f1 { other } else { best })
}

/// A fold with all distances that any pair needs.
struct Ground {
    train: (Features<'static>, Labels),
    truth: Vec<Option<usize>>,
    base: Evm,
    table: DistanceTable,
    /// How often an unknown row counts.
    weight: f64,
}

impl Ground {
    fn new(
        params: &Params,
        features: &Features<'_>,
        labels: &Labels,
        fold: &Fold,
        run: &Run<'_>,
    ) -> Result<Self, ReproError> {
        let train = (features.select(&fold.train), labels.select(&fold.train));
        let longest = (SHARES[SHARES.len() - 1] * fold.train.len() as f64).ceil() as usize;
        let whole = Params {
            tail_size: TailSize::Count(longest.max(1)),
            cover_threshold: 1.0,
            tail_memory: TailMemory::Full,
            tail_memory_limit: u64::MAX,
            ..params.clone()
        };
        let (base, _) = Evm::fit_with(run, &whole, &train.0, &train.1)?;
        let queries = [&fold.known[..], &fold.unknown].concat();
        let table = DistanceTable::measure(run, base.machine(), &features.select(&queries))
            .map_err(|error| ReproError::System(error.into()))?;
        let truth = queries.iter().map(|&row| base.class_index(labels.name(row))).collect();
        let known = train.1.names().len() as f64;
        let left_out = labels.names().len() as f64 - known;
        let weight = left_out / known * fold.known.len() as f64 / fold.unknown.len().max(1) as f64;
        Ok(Self { train, truth, base, table, weight })
    }

    /// What a model with these parameters says of the fold, from fits that serve them; and its vector ratio.
    fn answers(&self, fits: &TailFits, params: &Params) -> Result<(Answers, f64), ReproError> {
        let model = fits.derive(&Run::new(), &self.base, params, &self.train.0)?;
        let decisions = self
            .table
            .map_queries(model.machine(), |_, scores| model.decision(scores))
            .map_err(|error| ReproError::System(error.into()))?;
        let mut answers = Answers::default();
        for (truth, decision) in self.truth.iter().zip(&decisions) {
            answers.push(*truth, decision.best(), decision.score().support, true);
        }
        Ok((answers, model.vector_ratio()))
    }
}

/// Tries all pairs. `params`: metric and tail model; the rest is the paper's.
pub(super) fn search(
    system: &str,
    params: &Params,
    features: &Features<'_>,
    labels: &Labels,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Vec<Candidate>, ReproError> {
    let folds = folds(labels, FOLDS, SIZES, seed).map_err(|error| ReproError::System(error.into()))?;
    let grounds = folds.iter().map(|fold| Ground::new(params, features, labels, fold, &watch.run()));
    let grounds: Vec<Ground> = grounds.collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for (number, tail_share) in SHARES.into_iter().enumerate() {
        watch.tell(&format!("{system}: the paper's search"), number, SHARES.len())?;
        let sized = |ground: &Ground| {
            let tail = (tail_share * ground.train.1.len() as f64).round().max(1.0) as usize;
            Params { tail_size: TailSize::Count(tail), ..params.clone() }
        };
        let fits: Vec<TailFits> = grounds
            .iter()
            .map(|ground| TailFits::new(&Run::new(), &ground.base, &sized(ground)))
            .collect::<Result<_, _>>()?;
        for n_fused in FUSED {
            let folds = grounds
                .iter()
                .zip(&fits)
                .map(|(ground, fits)| ground.answers(fits, &Params { n_fused, ..sized(ground) }));
            let folds: Vec<(Answers, f64)> = folds.collect::<Result<_, _>>()?;
            let (delta, f1) = best_delta(params.tail_model, &grounds, &folds);
            let vector_ratio = folds.iter().map(|(_, ratio)| ratio).sum::<f64>() / folds.len() as f64;
            found.push(Candidate {
                system: system.to_owned(),
                tail_share,
                n_fused,
                delta,
                f1: rounded(f1),
                vector_ratio: rounded(vector_ratio),
            });
        }
    }
    Ok(found)
}

/// The delta of best F1 over all folds, and that F1.
fn best_delta(model: TailModel, grounds: &[Ground], folds: &[(Answers, f64)]) -> (f64, f64) {
    let f1 = |delta: f64| {
        let threshold = model.support_at(delta);
        // Right; known and accepted, which F1 is taken of.
        let (mut right, mut all) = (0.0, 0.0);
        for (ground, (answers, _)) in grounds.iter().zip(folds) {
            for (row, truth) in answers.truth.iter().enumerate() {
                let accepted = answers.score[row] >= threshold;
                let counted = |holds: bool, weight: f64| if holds { weight } else { 0.0 };
                right += counted(accepted && *truth == Some(answers.best[row]), 1.0);
                let weight = if truth.is_some() { 1.0 } else { ground.weight };
                all += counted(truth.is_some(), 1.0) + counted(accepted, weight);
            }
        }
        if all > 0.0 { 2.0 * right / all } else { 0.0 }
    };
    let judged = DELTAS.map(|delta| (delta, f1(delta)));
    judged.into_iter().fold((DELTAS[0], f64::MIN), |best, other| if other.1 > best.1 { other } else { best })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn all_pairs_are_tried_and_the_tail_is_a_count_in_proportion_to_the_rows() {
        let drawn = Synthetic {
            classes: 9,
            points: 12,
            tests: 1,
            dimensions: 64,
            spread: 0.4,
            ..Synthetic::default()
        };
        let (features, labels) = drawn.draw().unwrap().train;
        let watch = |_: &str, _: usize, _: usize| ControlFlow::Continue(());
        let base = Params { tail_model: TailModel::Libmr, ..Params::paper() };
        let found = search("EVM", &base, &features, &labels, 1, &Watch::new(&watch)).unwrap();
        assert_eq!(found.len(), SHARES.len() * FUSED.len());
        let best = best(&found, "EVM").unwrap();
        assert!(found.iter().all(|other| other.f1 <= best.f1) && best.f1 > 0.3, "{best:?}");
        assert!(found.iter().all(|other| DELTAS.contains(&other.delta)));
        let chosen = Candidate { tail_share: 0.5245, n_fused: 4, delta: 0.1, ..best.clone() };
        let params = chosen.params(&base, 64_817);
        assert_eq!((params.tail_size, params.n_fused), (TailSize::Count(33_997), 6), "the paper's own");
        assert_eq!(params.rejection_threshold, Rejection::Probability(0.1));
    }
}
