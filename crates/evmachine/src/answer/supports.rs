//! Supports of all classes, and how far an approximate search is to be trusted with them.

use crate::error::RunError;
use crate::machine::score::ClassScore;
use crate::machine::sweep::{Caller, DecisionRecall, NearVectors};
use crate::model::Evm;
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;

/// # Ask
impl Evm {
    /// How often decisions are those of an exact search, where the search is approximate ([`Params::search`](crate::Params::search)):
    /// `None` where every query meets all extreme vectors, because they are few, other witnesses or a
    /// [`background`](crate::Params::background) need the supports of all classes, or the recall takes more than a quarter of them.
    ///
    /// Takes as long as some thousand exact decisions when it is first asked for, by this or by a decision.
    pub fn decision_recall(&self) -> Result<Option<DecisionRecall>, RunError> {
        self.decision_recall_with(&Run::new())
    }

    /// As [`decision_recall`](Self::decision_recall), sized by `run`.
    pub fn decision_recall_with(&self, run: &Run<'_>) -> Result<Option<DecisionRecall>, RunError> {
        Ok(self.near_vectors(run)?.and_then(|near| near.recall))
    }

    /// The extreme vectors in cells, where decisions are made by them.
    pub(crate) fn near_vectors(&self, run: &Run<'_>) -> Result<Option<&NearVectors>, RunError> {
        if self.witnesses.is_some() || self.machine.params.background > 0.0 {
            return Ok(None);
        }
        let sample = self.held.sample.as_deref().filter(|sample| sample.len() > 0);
        let call = |scores: &[ClassScore]| {
            let decision = self.decision(scores);
            (decision.best(), decision.class())
        };
        let rows = sample.map(|sample| (sample.features(), &sample.sources[..]));
        self.machine.near_vectors(run, &Caller { rows, call: &call })
    }

    /// The support of every class for every query, rows x classes, witnesses included; without the extreme vectors of the
    /// given sources, one for each query, where they are given.
    pub(crate) fn supports(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        without: Option<&[u64]>,
    ) -> Result<Vec<f64>, RunError> {
        let supports = |scores: &[ClassScore]| scores.iter().map(|score| score.support).collect::<Vec<f64>>();
        let Some(without) = without else {
            return Ok(self.map_queries_with(run, queries, |_, scores| supports(scores))?.concat());
        };
        let classes = self.machine.classes.len();
        let additions = |first: usize, part: &Features<'_>| match &self.witnesses {
            Some(witnesses) => {
                let points = Points::prepare(part, &self.machine.params.metric)?;
                let rows: Vec<usize> = (0..points.len()).collect();
                let without = &without[first..first + rows.len()];
                witnesses.additions(run, &points, &rows, Some(without), classes)
            }
            None => Ok(vec![0.0; part.rows() * classes]),
        };
        let found =
            self.machine.for_each_without(run, queries, without, additions, |additions, row, scores| {
                let additions = additions[row * classes..(row + 1) * classes].iter().copied();
                supports(&self.mixed(scores, additions).collect::<Vec<ClassScore>>())
            })?;
        Ok(found.concat())
    }
}
