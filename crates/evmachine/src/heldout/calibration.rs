//! What scores mean: p-values, thresholds, P(known) and P(class | known), from rows that were not learned from.

use std::collections::BTreeMap;

use crate::heldout::beta::Beta;
use crate::heldout::conformal;
use crate::heldout::quantile::{effective, quantile, total};
use crate::machine::score::ClassScore;
use crate::params::TailModel;
use crate::params::rejection::Rejection;
use evmachine_engine::psi::curve::support_of;

/// Scores of rows held out of training, which a query's score is compared with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Calibration {
    /// In rising order of score.
    rows: Vec<Scored>,
    /// Weight of each row and those before it.
    up_to: Vec<f64>,
    /// Weight of all, and of one row where so many of equal weight told as much.
    total: (f64, f64),
    /// How the same rows score for the classes that are not theirs, in rising order: a low estimate of what a class that the model does
    /// not have would score. Empty with one class.
    left_out: Vec<LeftOut>,
    /// Rows of classes that models of a trial did not have, in rising order; empty if there was no such trial.
    apart: Vec<Apart>,
    /// Scores of strangers that were given, in rising order.
    strangers: Vec<f64>,
    /// P(class | known) is softmax of the supports times this.
    pub(crate) sharpness: f64,
    /// Share of the rows whose best class was right when the model was fitted.
    pub(crate) accuracy: f64,
    /// Classes when the model was fitted.
    pub(crate) classes: usize,
    /// Rows that edits changed since the threshold was set.
    pub(crate) edited: f64,
    /// By class, the support from which on it is answered.
    pub(crate) thresholds: Vec<f64>,
}

/// The decision on one held-out row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scored {
    /// The support that is compared with the threshold.
    pub(crate) score: f64,
    /// The class that came out best.
    pub(crate) best: u32,
    /// How many queries it stands for.
    pub(crate) weight: f64,
}

/// A held-out row as a stranger: its decision among the other classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LeftOut {
    pub(crate) score: f64,
    /// Its own class, which was left out.
    pub(crate) class: u32,
    pub(crate) weight: f64,
}

/// A row of a class that a model of a trial did not have, as that model saw it. P-values of models with other classes and rows can be
/// compared, scores cannot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Apart {
    pub(crate) p_value: f64,
    /// The number its class had in training; the model may have lost the class since.
    pub(crate) class: u32,
    /// Classes that the model of the trial had.
    pub(crate) met: u32,
    pub(crate) weight: f64,
}

impl Apart {
    /// How many rows like this one come as near to one of so many classes as this one came to those that it met: as many times more as
    /// there are more classes.
    fn reached(&self, classes: usize) -> f64 {
        self.weight * classes as f64 / f64::from(self.met)
    }
}

/// How a rule is to be kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    pub(crate) rejection: Rejection,
    /// Of how many trainings in 1 the share holds; 0 is on average over all of them.
    pub(crate) confidence: f64,
    /// How many of the rows tell as much as one that was never learned, of how far a training may be off.
    pub(crate) told_as_one: usize,
}

/// What [`Evm::calibration`](crate::Evm::calibration) tells.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct CalibrationInfo {
    /// Rows that the threshold rests on.
    pub rows: usize,
    /// Share of them whose best class was right when the model was fitted.
    pub accuracy: f64,
    /// Classes when the model was fitted.
    pub classes: usize,
}

/// The conformal p-value of a score: `least`, and the share of every calibrating row that scores no higher
/// ([`Evm::p_value_steps`](crate::Evm::p_value_steps)).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PValueSteps {
    /// Scores of the calibrating rows, in rising order.
    pub scores: Vec<f64>,
    /// The share of each; with `least` they add up to 1.
    pub shares: Vec<f64>,
    /// The smallest p-value.
    pub least: f64,
}

impl Rule {
    /// How many rows there are to tell how often the rule is broken.
    pub(super) fn rows_that_tell(&self, rows: &[Scored]) -> usize {
        effective(rows) / if self.confidence == 0.0 { 1 } else { self.told_as_one }
    }
}

impl Calibration {
    pub(crate) fn new(
        rows: Vec<Scored>,
        left_out: Vec<LeftOut>,
        sharpness: f64,
        accuracy: f64,
        classes: usize,
    ) -> Self {
        let mut calibration = Self {
            rows: Vec::new(),
            up_to: Vec::new(),
            total: (0.0, 0.0),
            left_out: Vec::new(),
            apart: Vec::new(),
            strangers: Vec::new(),
            sharpness,
            accuracy,
            classes,
            edited: 0.0,
            thresholds: Vec::new(),
        };
        calibration.set_rows(rows, left_out);
        calibration
    }

    pub(crate) fn rows(&self) -> &[Scored] {
        &self.rows
    }

    pub(crate) fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    pub(crate) fn apart(&self) -> &[Apart] {
        &self.apart
    }

    pub(crate) fn strangers(&self) -> &[f64] {
        &self.strangers
    }

    pub(crate) fn set_rows(&mut self, mut rows: Vec<Scored>, mut left_out: Vec<LeftOut>) {
        rows.sort_by(|a, b| a.score.total_cmp(&b.score));
        left_out.sort_by(|a, b| a.score.total_cmp(&b.score));
        let sums = rows.iter().scan(0.0, |sum, row| {
            *sum += row.weight;
            Some(*sum)
        });
        self.up_to = sums.collect();
        self.total = total(&rows);
        self.edited = 0.0;
        self.rows = rows;
        self.left_out = left_out;
    }

    pub(crate) fn set_apart(&mut self, mut rows: Vec<Apart>) {
        rows.sort_by(|a, b| a.p_value.total_cmp(&b.p_value));
        self.apart = rows;
    }

    pub(crate) fn set_strangers(&mut self, mut scores: Vec<f64>) {
        scores.sort_by(f64::total_cmp);
        self.strangers = scores;
    }

    pub(crate) fn info(&self) -> CalibrationInfo {
        CalibrationInfo { rows: self.rows.len(), accuracy: self.accuracy, classes: self.classes }
    }

    /// The conformal p-value: the share of known rows, this one counted, that score no higher.
    pub(crate) fn p_value(&self, score: f64) -> f64 {
        let (total, unit) = self.total;
        let end = self.rows.partition_point(|row| row.score <= score);
        let below = if end == 0 { 0.0 } else { self.up_to[end - 1] };
        (below + unit) / (total + unit)
    }

    /// The p-value as a sum of steps.
    pub(crate) fn steps(&self) -> PValueSteps {
        let (total, unit) = self.total;
        let all = total + unit;
        PValueSteps {
            scores: self.rows.iter().map(|row| row.score).collect(),
            shares: self.rows.iter().map(|row| row.weight / all).collect(),
            least: unit / all,
        }
    }

    /// So many rows of equal weight tell as much as these do: `(sum w)^2 / sum w^2`.
    pub(crate) fn effective_rows(&self) -> usize {
        effective(&self.rows)
    }

    /// The rows whose best class this is.
    pub(crate) fn answered(&self, class: u32) -> Vec<Scored> {
        self.rows.iter().copied().filter(|row| row.best == class).collect()
    }

    /// Sets the thresholds that the rule asks for, one for each of so many classes.
    pub(crate) fn set_thresholds(&mut self, rule: Rule, model: TailModel, classes: usize) {
        let Rule { rejection, confidence, .. } = rule;
        self.thresholds = match rejection {
            Rejection::Probability(delta) => vec![support_of(model, delta); classes],
            Rejection::Support(support) => vec![support; classes],
            Rejection::FalseUnknown(rate) => vec![quantile(&self.rows, rate, &rule, model); classes],
            Rejection::FalseUnknownPerClass(rate) => {
                let shared = quantile(&self.rows, rate, &rule, model);
                (0..classes as u32)
                    .map(|class| {
                        let own = self.answered(class);
                        if rule.rows_that_tell(&own) >= conformal::rows_needed(rate, confidence) {
                            quantile(&own, rate, &rule, model)
                        } else {
                            shared
                        }
                    })
                    .collect()
            }
            // With one class and no strangers, nothing tells how strangers score.
            Rejection::FalseKnown(_)
                if self.strangers.is_empty() && self.apart.is_empty() && self.left_out.is_empty() =>
            {
                vec![quantile(&self.rows, Rejection::DEFAULT.value(), &rule, model); classes]
            }
            Rejection::FalseKnown(rate) => vec![self.above_strangers(rate, confidence, classes); classes],
        };
    }

    /// The lowest threshold that accepts at most `rate` of the strangers: by the order statistic of those that were given, with its
    /// finite-sample correction; else, as an estimate, by rows of classes that a trial left out, or by rows of the model's own classes.
    fn above_strangers(&self, rate: f64, confidence: f64, classes: usize) -> f64 {
        if rate >= 1.0 {
            return f64::MIN;
        }
        if !self.strangers.is_empty() {
            let count = self.strangers.len();
            let accepted = conformal::mistakes_allowed(count, rate, confidence);
            // Fewer strangers than the rate takes are refused before they come here; the highest of them is what is left then.
            return self.strangers[count - accepted.clamp(1, count)].next_up();
        }
        if !self.apart.is_empty() {
            let total: f64 = self.apart.iter().map(|row| row.weight).sum();
            let p_values = self.apart.iter().map(|row| (row.p_value, row.reached(classes)));
            let highest = first_too_many(p_values, rate * total).unwrap_or(1.0);
            let end = (0..self.rows.len()).find(|&row| self.rank(self.rows[row].score) > highest);
            return end.map_or(f64::INFINITY, |row| self.rows[row].score);
        }
        let total: f64 = self.left_out.iter().map(|row| row.weight).sum();
        let scores = self.left_out.iter().map(|row| (row.score, row.weight));
        first_too_many(scores, rate * total).map_or(f64::INFINITY, f64::next_up)
    }

    /// The p-value that a query needs more than, to score this or more.
    fn rank(&self, score: f64) -> f64 {
        self.p_value(score.next_down())
    }

    /// The share of known rows below the threshold of their class.
    pub(crate) fn known_rejected(&self) -> f64 {
        let is_below = |row: &&Scored| row.score < self.thresholds[row.best as usize];
        let rejected: f64 = self.rows.iter().filter(is_below).map(|row| row.weight).sum();
        rejected / self.total.0.max(f64::MIN_POSITIVE)
    }

    /// By class with rows, the share of its rows that would be accepted at a threshold if the model did not have the class; in rising
    /// order.
    pub(crate) fn left_out_accepted(&self, threshold: f64, classes: usize) -> Vec<f64> {
        if self.apart.is_empty() {
            let rows = self.left_out.iter();
            let accepted = |row: &LeftOut| if row.score >= threshold { row.weight } else { 0.0 };
            return shares(rows.map(|row| (row.class, row.weight, accepted(row))));
        }
        let rank = self.rank(threshold);
        let accepted = |row: &Apart| if row.p_value > rank { row.reached(classes) } else { 0.0 };
        shares(self.apart.iter().map(|row| (row.class, row.weight, accepted(row))))
    }
}

/// Of values in rising order with their weights, the highest that more weight reaches than is allowed.
fn first_too_many(rows: impl DoubleEndedIterator<Item = (f64, f64)>, allowed: f64) -> Option<f64> {
    let mut above = 0.0;
    let is_too_many = |(_, weight): &(f64, f64)| {
        above += weight;
        above > allowed
    };
    rows.rev().find(is_too_many).map(|(value, _)| value)
}

/// By class, the share of its weight that is accepted; in rising order.
fn shares(rows: impl Iterator<Item = (u32, f64, f64)>) -> Vec<f64> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (class, weight, accepted) in rows {
        let sums = sums.entry(class).or_default();
        *sums = (sums.0 + weight, sums.1 + accepted);
    }
    let mut shares: Vec<f64> = sums.values().map(|(all, accepted)| (accepted / all).min(1.0)).collect();
    shares.sort_by(f64::total_cmp);
    shares
}

/// P(known) of a p-value where known and unknown queries come alike often: by Bayes, p-values of known queries being
/// uniform.
pub(crate) fn probability_known(p_value: f64, strangers: Beta, prior: f64) -> f64 {
    let odds = (1.0 - prior) / prior * strangers.ln_density(p_value).exp();
    1.0 / (1.0 + odds)
}

/// Softmax of the supports times `sharpness`. Where several are infinite, they share.
pub(crate) fn class_probabilities(scores: &[ClassScore], sharpness: f64) -> Vec<f64> {
    let most = scores.iter().map(|score| score.support).fold(f64::NEG_INFINITY, f64::max);
    let power = |support: f64| {
        if support == most { 1.0 } else { (sharpness * (support - most)).exp() }
    };
    let mut powers: Vec<f64> = scores.iter().map(|score| power(score.support)).collect();
    let sum: f64 = powers.iter().sum();
    for power in &mut powers {
        *power /= sum;
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Rule = Rule { rejection: Rejection::FalseUnknown(0.05), confidence: 0.0, told_as_one: 1 };

    fn scored(scores: impl Iterator<Item = f64>) -> Vec<Scored> {
        scores.map(|score| Scored { score, best: 0, weight: 2.0 }).collect()
    }

    #[test]
    fn p_values_of_known_rows_are_uniform() {
        let calibration = Calibration::new(scored((0..99).rev().map(f64::from)), Vec::new(), 1.0, 1.0, 1);
        assert!((calibration.p_value(49.0) - 0.51).abs() < 1e-12);
        assert!((calibration.p_value(-1.0) - 0.01).abs() < 1e-12);
        assert_eq!(calibration.p_value(1e9), 1.0);
    }

    #[test]
    fn a_class_with_few_rows_has_the_threshold_of_all() {
        let rows: Vec<Scored> =
            (0..100).map(|i| Scored { score: f64::from(i), best: u32::from(i >= 95), weight: 1.0 }).collect();
        let mut calibration = Calibration::new(rows, Vec::new(), 1.0, 1.0, 2);
        let rule = |rejection| Rule { rejection, ..PLAIN };
        calibration.set_thresholds(rule(Rejection::FalseUnknownPerClass(0.1)), TailModel::Weibull, 2);
        assert_eq!(calibration.thresholds, [8.0, 9.0]);
    }

    #[test]
    fn strangers_that_were_given_are_counted_and_others_estimated_from_classes_left_out() {
        let left_out = |i: u32| LeftOut { score: f64::from(i) - 100.0, class: i % 2, weight: 1.0 };
        let rows = scored((0..50).map(f64::from));
        let mut calibration = Calibration::new(rows, (0..100).map(left_out).collect(), 1.0, 1.0, 2);
        let rule = |rate| Rule { rejection: Rejection::FalseKnown(rate), ..PLAIN };
        calibration.set_thresholds(rule(0.1), TailModel::Weibull, 2);
        let accepted = |threshold: f64| (0..100).filter(|&i| left_out(i).score >= threshold).count();
        assert_eq!(accepted(calibration.thresholds[0]), 10);
        assert_eq!(calibration.left_out_accepted(calibration.thresholds[0], 2), [0.1, 0.1]);
        // Of strangers with the p-values 0.01, 0.02, ... that met one class, 20 of 100 may come as near to one of two classes.
        let apart = |i: u32| Apart { p_value: f64::from(i) / 100.0, class: i % 2, met: 1, weight: 1.0 };
        calibration.set_apart((0..100).map(apart).collect());
        calibration.set_thresholds(rule(0.2), TailModel::Weibull, 2);
        let rows = calibration.rows().iter().filter(|row| row.score < calibration.thresholds[0]).count();
        assert_eq!(rows, 45, "the first p-value above 0.89 is 46 / 51");
        assert_eq!(calibration.left_out_accepted(calibration.thresholds[0], 2), [0.16, 0.2]);
        calibration.set_strangers((0..99).map(f64::from).collect());
        calibration.set_thresholds(rule(0.1), TailModel::Weibull, 2);
        // Of 100, the stranger to come counted, 10 may be accepted: 9 of the 99.
        assert_eq!((0..99).filter(|&i| f64::from(i) >= calibration.thresholds[0]).count(), 9);
    }

    #[test]
    fn what_is_as_likely_from_both_is_known_by_half() {
        let uniform = Beta { a: 1.0, b: 1.0 };
        assert!((probability_known(0.3, uniform, 0.5) - 0.5).abs() < 1e-12);
        let strangers = Beta { a: 0.3, b: 2.0 };
        assert!(probability_known(0.01, strangers, 0.5) < probability_known(0.2, strangers, 0.5));
        assert!(probability_known(0.5, strangers, 0.9) > probability_known(0.5, strangers, 0.5));
    }

    #[test]
    fn infinite_supports_share() {
        let score = |support| ClassScore { ln_probability: 0.0, support };
        let found = class_probabilities(&[score(f64::INFINITY), score(1.0), score(f64::INFINITY)], 2.0);
        assert_eq!(found, [0.5, 0.0, 0.5]);
        let none = class_probabilities(&[score(f64::NEG_INFINITY); 2], 2.0);
        assert_eq!(none, [0.5, 0.5]);
    }
}
