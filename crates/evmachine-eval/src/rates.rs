//! What a threshold comes to.

use serde::Serialize;

use crate::answers::Answers;

/// The three rates that a threshold trades against each other. Rates over nothing are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rates {
    /// Known queries accepted as the right class.
    pub known_accuracy: Option<f64>,
    /// Known queries rejected.
    pub false_unknown: Option<f64>,
    /// Unknown queries accepted.
    pub false_known: Option<f64>,
}

impl Rates {
    /// Counts them.
    ///
    /// ```
    /// use evmachine_eval::{Answers, Rates};
    ///
    /// let mut answers = Answers::default();
    /// for (truth, best, score) in [(Some(0), 0, 0.9), (Some(1), 0, 0.8), (Some(1), 1, 0.3), (None, 1, 0.5)] {
    ///     answers.push(truth, best, score, true);
    /// }
    /// let rates = Rates::new(&answers.with_threshold(0.6));
    /// assert_eq!((rates.known_accuracy, rates.false_unknown), (Some(1.0 / 3.0), Some(1.0 / 3.0)));
    /// assert_eq!(rates.false_known, Some(0.0));
    /// ```
    pub fn new(answers: &Answers) -> Self {
        let rows = || answers.truth.iter().zip(&answers.best).zip(&answers.accepted);
        let known = answers.truth.iter().flatten().count();
        let rate = |count: usize, of: usize| (of > 0).then(|| count as f64 / of as f64);
        let right = rows().filter(|((truth, best), accepted)| **accepted && **truth == Some(**best)).count();
        let rejected = rows().filter(|((truth, _), accepted)| truth.is_some() && !**accepted).count();
        let taken = rows().filter(|((truth, _), accepted)| truth.is_none() && **accepted).count();
        Self {
            known_accuracy: rate(right, known),
            false_unknown: rate(rejected, known),
            false_known: rate(taken, answers.len() - known),
        }
    }
}
