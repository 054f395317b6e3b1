//! The columns of the logs.

use evmachine_eval::{Answers, Evaluation};
use serde::{Deserialize, Serialize};

use super::systems::Rule;

/// One system, one rule for its threshold, one fold, one number of unknown letters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which draw, from 1.
    pub draw: usize,
    /// Which fold of the draw, from 1.
    pub fold: usize,
    /// Which system.
    pub system: String,
    /// How its threshold was set.
    pub rule: Rule,
    /// Unknown letters in the test.
    pub unknown: usize,
    /// The score below which a letter is unknown.
    pub threshold: f64,
    /// F1, micro over the known letters.
    pub f1: f64,
    /// Right answers of all.
    pub accuracy: f64,
    /// Known letters accepted and named right.
    pub known_accuracy: Option<f64>,
    /// Unknown letters rejected.
    pub unknown_accuracy: Option<f64>,
    /// Area under the ROC curve of known against unknown.
    pub auroc: Option<f64>,
    /// Area under the OSCR curve: known letters accepted and named right against unknown ones accepted.
    pub oscr: Option<f64>,
    /// Vectors kept.
    pub vectors: usize,
    /// Points trained on.
    pub points: usize,
    /// Seconds to fit, with the choice of the threshold.
    pub fit_seconds: f64,
    /// Seconds to score all test letters.
    pub score_seconds: f64,
}

impl Row {
    pub(super) fn new(
        draw: usize,
        fold: usize,
        system: &str,
        (rule, threshold): (Rule, f64),
        (known, unknown): (usize, usize),
        answers: &Answers,
    ) -> Self {
        let evaluation = Evaluation::new(answers, known);
        Self {
            draw,
            fold,
            system: system.to_owned(),
            rule,
            unknown,
            threshold: rounded(threshold),
            f1: rounded(evaluation.f1_micro),
            accuracy: rounded(evaluation.accuracy),
            known_accuracy: evaluation.known_accuracy.map(rounded),
            unknown_accuracy: evaluation.unknown_accuracy.map(rounded),
            auroc: evaluation.auroc.map(rounded),
            oscr: evaluation.oscr.map(rounded),
            vectors: 0,
            points: 0,
            fit_seconds: 0.0,
            score_seconds: 0.0,
        }
    }

    pub(super) fn with_costs(mut self, vectors: usize, points: usize, fit: f64, score: f64) -> Self {
        (self.vectors, self.points) = (vectors, points);
        (self.fit_seconds, self.score_seconds) = ((fit * 1e2).round() / 1e2, (score * 1e2).round() / 1e2);
        self
    }
}

/// More digits than any of these figures is worth.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e5).round() / 1e5
}

/// One system trained on all letters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VectorRow {
    /// Which system.
    pub system: String,
    /// Vectors kept.
    pub vectors: usize,
    /// Points trained on.
    pub points: usize,
    /// The one by the other.
    pub vector_ratio: f64,
    /// Seconds to fit.
    pub seconds: f64,
}

impl VectorRow {
    pub(super) fn new(system: &str, vectors: usize, points: usize, seconds: f64) -> Self {
        let vector_ratio = rounded(vectors as f64 / points.max(1) as f64);
        let seconds = (seconds * 1e3).round() / 1e3;
        Self { system: system.to_owned(), vectors, points, vector_ratio, seconds }
    }
}
