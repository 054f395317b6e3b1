//! What a classifier said, beside what was true.

use evmachine::{Decision, Evm, Features, Labels, Run, RunError};

use crate::objective;

/// One entry for each query, in columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    /// The class it belongs to, by the classifier's numbering; `None` for a class that the classifier never saw.
    pub truth: Vec<Option<usize>>,
    /// The class of highest score, accepted or not.
    pub best: Vec<usize>,
    /// The score of that class; higher is more certain.
    pub score: Vec<f64>,
    /// Whether the classifier accepted it.
    pub accepted: Vec<bool>,
}

impl Answers {
    /// Asks a model about labelled queries. A label that the model does not know makes the query unknown.
    pub fn ask(
        run: &Run<'_>,
        model: &Evm,
        queries: &Features<'_>,
        labels: &Labels,
    ) -> Result<Self, RunError> {
        let decisions = model.decide_with(run, queries)?;
        Ok(Self::of(model, &decisions, labels))
    }

    /// As [`ask`](Self::ask), for decisions that were made already.
    pub fn of(model: &Evm, decisions: &[Decision], labels: &Labels) -> Self {
        let classes: Vec<Option<usize>> = labels.names().iter().map(|name| model.class_index(name)).collect();
        let mut answers = Self::default();
        for (decision, &id) in decisions.iter().zip(labels.ids()) {
            answers.push(
                classes[id as usize],
                decision.best(),
                decision.score().support,
                decision.class().is_some(),
            );
        }
        answers
    }

    /// Adds an entry.
    pub fn push(&mut self, truth: Option<usize>, best: usize, score: f64, accepted: bool) {
        self.truth.push(truth);
        self.best.push(best);
        self.score.push(score);
        self.accepted.push(accepted);
    }

    /// The answers of several folds, one after the other. Class numbers are each fold's own.
    pub fn concat(folds: &[Self]) -> Self {
        let mut all = Self::default();
        for fold in folds {
            all.truth.extend(&fold.truth);
            all.best.extend(&fold.best);
            all.score.extend(&fold.score);
            all.accepted.extend(&fold.accepted);
        }
        all
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.truth.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.truth.is_empty()
    }

    /// The same answers, accepted from `threshold` on.
    pub fn with_threshold(mut self, threshold: f64) -> Self {
        self.accepted = self.score.iter().map(|&score| score >= threshold).collect();
        self
    }

    /// Scores of the known queries, in their order.
    pub fn known_scores(&self) -> Vec<f64> {
        (0..self.len()).filter(|&row| self.truth[row].is_some()).map(|row| self.score[row]).collect()
    }

    /// The lowest threshold at which at most `rate` of the known queries are rejected.
    ///
    /// `None` without known queries.
    pub fn threshold_for_false_unknowns(&self, rate: f64) -> Option<f64> {
        let mut known = self.known_scores();
        known.sort_unstable_by(f64::total_cmp);
        let rejected = (rate * known.len() as f64).floor() as usize;
        known.get(rejected.min(known.len().saturating_sub(1))).copied()
    }

    /// The lowest threshold at which at most `rate` of the unknown queries are accepted: just above a score, or that of nobody.
    ///
    /// `None` without unknown queries.
    pub fn threshold_for_false_knowns(&self, rate: f64) -> Option<f64> {
        let rows = (0..self.len()).filter(|&row| self.truth[row].is_none());
        let mut unknown: Vec<f64> = rows.map(|row| self.score[row]).collect();
        unknown.sort_unstable_by(|a, b| b.total_cmp(a));
        let accepted = (rate * unknown.len() as f64).floor() as usize;
        let highest_rejected = unknown.get(accepted).copied();
        (!unknown.is_empty()).then(|| highest_rejected.map_or(f64::NEG_INFINITY, f64::next_up))
    }

    /// The threshold at which micro F1 over known classes is best, an unknown query counting `weight` times; between two
    /// scores, half-way.
    pub fn threshold_for_best_f1(&self, weight: f64) -> f64 {
        objective::best_threshold(self, &|tally| objective::f1_at(tally, weight))
    }
}
