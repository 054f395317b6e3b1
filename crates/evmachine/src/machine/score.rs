//! Scores of classes: psi of their extreme vectors, put together (Eq. 3).

use serde::{Deserialize, Serialize};

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::class::ClassModel;
use crate::machine::ignored;
use crate::machine::support::{QueryMemory, keep_largest};
use crate::machine::sweep::{Caller, Near, NearVectors, Sweep, SweptVectors};
use crate::params::TailModel;
use evmachine_engine::device::Supports;
use evmachine_engine::features::Features;
use evmachine_engine::psi::curve::{ln_psi, support_of, support_of_ln};
use evmachine_engine::run::Run;

/// P(class | query), in two forms that do not underflow with it. Either may be infinite, which JSON writes as null.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClassScore {
    /// ln P: of the mean of the `n_fused` largest psi.
    #[serde(with = "crate::json")]
    pub ln_probability: f64,
    /// Rises with P, and orders queries so far out that ln P has underflowed too. Scores are compared by it.
    #[serde(with = "crate::json")]
    pub support: f64,
}

/// That of a class that the query cannot be.
pub(crate) const DENIED: ClassScore =
    ClassScore { ln_probability: f64::NEG_INFINITY, support: f64::NEG_INFINITY };

impl ClassScore {
    /// P itself.
    pub fn psi(&self) -> f64 {
        self.ln_probability.exp()
    }
}

impl Machine {
    /// k, or the size of the largest class where that is less.
    pub(crate) fn fused(&self) -> usize {
        self.params.n_fused.min(self.classes.iter().map(ClassModel::len).max().unwrap_or(1))
    }

    /// As [`near_vectors`](Self::near_vectors), for a machine that decides alone, by psi of its best class.
    pub(crate) fn near_vectors_alone(&self, run: &Run<'_>) -> Result<Option<&NearVectors>, RunError> {
        let threshold = support_of(self.params.tail_model, self.params.rejection_threshold.value());
        let call = |scores: &[ClassScore]| {
            let best = best_of(scores);
            (best, (scores[best].support >= threshold).then_some(best))
        };
        self.near_vectors(run, &Caller { rows: None, call: &call })
    }

    /// Supports of all classes, rows x classes; without the extreme vectors of the given sources, one for each query, if they are given.
    pub(crate) fn supports(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        without: Option<&[u64]>,
    ) -> Result<Vec<f64>, RunError> {
        let supports = |scores: &[ClassScore]| scores.iter().map(|score| score.support).collect::<Vec<f64>>();
        let rows = match without {
            None => {
                let near = || self.near_vectors_alone(run);
                self.feature_scores(run, (queries, &near), |_, scores| supports(scores))?
            }
            Some(without) => {
                self.for_each_without(run, queries, without, |_, _| Ok(()), |(), _, scores| supports(scores))?
            }
        };
        Ok(rows.concat())
    }

    /// Calls `each(row, scores by class)` for every query, on many threads, and collects what it returns.
    pub(crate) fn feature_scores<R: Send>(
        &self,
        run: &Run<'_>,
        queries: (&Features<'_>, &Near<'_>),
        each: impl Fn(usize, &[ClassScore]) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        let (fused, classes) = (self.fused(), self.classes.len());
        let sweep = Sweep {
            start: vec![f64::NEG_INFINITY; classes * fused],
            offer: |part: &SweptVectors<'_>,
                    first,
                    ranks: &[f32],
                    best: &mut Vec<f64>,
                    scratch: &mut QueryMemory| {
                part.offer(first, ranks, &self.params.metric, best, scratch);
            },
            merge: |best: &mut Vec<f64>, other: &Vec<f64>| {
                for (best, other) in best.chunks_exact_mut(fused).zip(other.chunks_exact(fused)) {
                    keep_largest(best, other);
                }
            },
            fused: Some(fused),
            found: |supports: &Supports, query: usize| {
                supports.values[query * classes * fused..(query + 1) * classes * fused].to_vec()
            },
        };
        self.sweep(run, queries, &sweep, |row, loss, best| {
            let mut scores: Vec<ClassScore> = self.scored(best, loss.fall).collect();
            loss.deny(&mut scores);
            each(row, &scores)
        })
    }

    /// The score of each class, from its largest supports, [`fused`](Self::fused) each, less a fall.
    pub(crate) fn scored(&self, best: &[f64], fall: f64) -> impl Iterator<Item = ClassScore> {
        let (model, fused) = (self.params.tail_model, self.fused());
        best.chunks_exact(fused).zip(&self.classes).map(move |(supports, class)| {
            fallen(model, score(model, &supports[..fused.min(class.len())]), fall)
        })
    }
}

/// The class of highest support; of equal ones the first.
pub(crate) fn best_of(scores: &[ClassScore]) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if score.support > scores[best].support {
            best = class;
        }
    }
    best
}

/// The score less so much support.
pub(crate) fn fallen(model: TailModel, score: ClassScore, fall: f64) -> ClassScore {
    if fall == 0.0 {
        return score;
    }
    let support = score.support.min(ignored::MOST_SUPPORT) - fall;
    ClassScore { ln_probability: ln_psi(model, support), support }
}

/// The mean of psi over supports sorted from the largest down.
pub(crate) fn score(model: TailModel, supports: &[f64]) -> ClassScore {
    let support = supports[0];
    let largest = ln_psi(model, support);
    if supports.len() == 1 || largest == f64::NEG_INFINITY {
        return ClassScore { ln_probability: largest, support };
    }
    let sum: f64 = supports.iter().map(|&support| (ln_psi(model, support) - largest).exp()).sum();
    let ln_probability = largest + (sum / supports.len() as f64).ln();
    ClassScore { ln_probability, support: support_of_ln(model, ln_probability) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evmachine_engine::psi::curve::support_of;

    #[test]
    fn the_score_is_the_mean_of_psi() {
        let supports: Vec<f64> = [0.9, 0.5, 0.1].iter().map(|&p| support_of(TailModel::Weibull, p)).collect();
        let found = score(TailModel::Weibull, &supports).ln_probability.exp();
        assert!((found - 0.5).abs() < 1e-12, "{found}");
    }

    #[test]
    fn far_out_the_mean_does_not_underflow() {
        let found = score(TailModel::Weibull, &[-7.0, -8.0]).ln_probability;
        let expected = -(7.0f64.exp()) - 2.0f64.ln();
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}
