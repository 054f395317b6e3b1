//! What trials are judged by, and the thresholds that go with it.

use serde::Serialize;

use crate::answers::Answers;
use crate::curves;

/// What a trial is judged by, always on rows and classes that it was not trained on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Area under the OSCR curve: right and accepted, over all thresholds.
    Oscr,
    /// F1 over known classes (micro), at the best threshold of the trial.
    F1,
    /// Normalised accuracy, at the best threshold of the trial.
    NormalizedAccuracy,
    /// Rate of known queries accepted and right where this fraction of them is rejected.
    AccuracyAtFalseUnknowns(f64),
}

const BOTH: &str = "a fold tests known and unknown rows";

/// The objective on each fold. Thresholds are shared by the folds; an unknown query counts `weight` times in F1.
pub(crate) fn judge(objective: Objective, folds: &[Answers], weight: f64) -> Vec<f64> {
    let shared = |figure: &dyn Fn(Tally) -> f64| {
        let threshold = best_threshold(&Answers::concat(folds), figure);
        folds.iter().map(|fold| figure(Tally::at(fold, threshold))).collect()
    };
    match objective {
        Objective::Oscr => folds.iter().map(|fold| curves::oscr(fold).expect(BOTH)).collect(),
        Objective::F1 => shared(&|tally| f1_at(tally, weight)),
        Objective::NormalizedAccuracy => shared(&normalized_accuracy_at),
        Objective::AccuracyAtFalseUnknowns(rate) => folds
            .iter()
            .map(|fold| {
                let threshold = fold.threshold_for_false_unknowns(rate).expect(BOTH);
                let tally = Tally::at(fold, threshold);
                tally.right as f64 / tally.known.max(1) as f64
            })
            .collect(),
    }
}

/// Counts at a threshold.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    known: usize,
    unknown: usize,
    /// Known, accepted, right.
    right: usize,
    /// Known, accepted, wrong.
    wrong: usize,
    /// Unknown, accepted.
    taken: usize,
}

impl Tally {
    fn at(answers: &Answers, threshold: f64) -> Self {
        let mut tally = Self::default();
        for row in 0..answers.len() {
            tally.count(answers, row);
            if answers.score[row] >= threshold {
                tally.accept(answers, row);
            }
        }
        tally
    }

    fn count(&mut self, answers: &Answers, row: usize) {
        if answers.truth[row].is_some() { self.known += 1 } else { self.unknown += 1 }
    }

    fn accept(&mut self, answers: &Answers, row: usize) {
        match answers.truth[row] {
            None => self.taken += 1,
            Some(class) if class == answers.best[row] => self.right += 1,
            Some(_) => self.wrong += 1,
        }
    }
}

/// Micro F1 over known classes, as in [`Evaluation::f1_micro`] where the weight of an unknown query is 1.
pub(crate) fn f1_at(tally: Tally, weight: f64) -> f64 {
    let twice = 2.0 * tally.right as f64;
    let missed = (tally.known - tally.right) as f64;
    let all = twice + tally.wrong as f64 + weight * tally.taken as f64 + missed;
    if all > 0.0 { twice / all } else { 0.0 }
}

fn normalized_accuracy_at(tally: Tally) -> f64 {
    let known = tally.right as f64 / tally.known.max(1) as f64;
    let unknown = (tally.unknown - tally.taken) as f64 / tally.unknown.max(1) as f64;
    f64::midpoint(known, unknown)
}

/// The score from which on accepting makes the figure largest; between two scores, half-way.
pub(crate) fn best_threshold(answers: &Answers, figure: &dyn Fn(Tally) -> f64) -> f64 {
    let mut order: Vec<usize> = (0..answers.len()).collect();
    order.sort_by(|&a, &b| answers.score[b].total_cmp(&answers.score[a]));
    let mut tally = Tally::default();
    for &row in &order {
        tally.count(answers, row);
    }
    let mut best = (figure(tally), f64::INFINITY);
    for (position, &row) in order.iter().enumerate() {
        tally.accept(answers, row);
        let score = answers.score[row];
        let next = order.get(position + 1).map(|&next| answers.score[next]);
        if next != Some(score) && figure(tally) > best.0 {
            let threshold = match next {
                Some(next) if next.is_finite() && score.is_finite() => f64::midpoint(score, next),
                _ => score,
            };
            best = (figure(tally), threshold);
        }
    }
    best.1
}

pub(crate) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evaluation::Evaluation;

    proptest! {
        #[test]
        fn the_best_threshold_is_as_good_as_any(
            rows in prop::collection::vec((prop::option::of(0usize..3), 0usize..3, 0u8..12), 1..40),
        ) {
            let mut answers = Answers::default();
            for (truth, best, score) in rows {
                answers.push(truth, best, f64::from(score), true);
            }
            let weighted = |tally| f1_at(tally, 0.4);
            for figure in [&weighted as &dyn Fn(Tally) -> f64, &normalized_accuracy_at] {
                let found = figure(Tally::at(&answers, best_threshold(&answers, figure)));
                for threshold in 0..14 {
                    prop_assert!(found >= figure(Tally::at(&answers, f64::from(threshold) - 0.5)) - 1e-12);
                }
            }
            let threshold = best_threshold(&answers, &|tally| f1_at(tally, 1.0));
            let evaluated = Evaluation::new(&answers.clone().with_threshold(threshold), 3);
            prop_assert!((evaluated.f1_micro - f1_at(Tally::at(&answers, threshold), 1.0)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_error_is_that_of_the_mean() {
        let (mean, error) = mean_and_error(&[1.0, 2.0, 3.0]);
        assert_eq!(mean, 2.0);
        assert!((error - (1.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(mean_and_error(&[5.0]), (5.0, 0.0));
    }
}
