//! What scores mean: p-values, thresholds, P(known) and P(class | known), from rows that were not learned from.

use crate::beta::Beta;
use crate::curve::support_of;
use crate::decision::ClassScore;
use crate::params::TailModel;
use crate::rejection::Rejection;

/// Scores of rows held out of training, which a query's score is compared with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Calibration {
    /// In rising order of score.
    rows: Vec<Scored>,
    /// Weight of each row and those before it.
    up_to: Vec<f64>,
    /// P(class | known) is softmax of the supports times this.
    pub(crate) sharpness: f64,
    /// Share of the rows whose best class was right when the model was fitted.
    pub(crate) accuracy: f64,
    /// Classes when the model was fitted.
    pub(crate) classes: usize,
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

impl Calibration {
    pub(crate) fn new(rows: Vec<Scored>, sharpness: f64, accuracy: f64, classes: usize) -> Self {
        let (up_to, thresholds) = (Vec::new(), Vec::new());
        let mut calibration = Self { rows, up_to, sharpness, accuracy, classes, thresholds };
        calibration.sort();
        calibration
    }

    pub(crate) fn rows(&self) -> &[Scored] {
        &self.rows
    }

    pub(crate) fn set_rows(&mut self, rows: Vec<Scored>) {
        self.rows = rows;
        self.sort();
    }

    fn sort(&mut self) {
        self.rows.sort_by(|a, b| a.score.total_cmp(&b.score));
        let sums = self.rows.iter().scan(0.0, |sum, row| {
            *sum += row.weight;
            Some(*sum)
        });
        self.up_to = sums.collect();
    }

    pub(crate) fn info(&self) -> CalibrationInfo {
        CalibrationInfo { rows: self.rows.len(), accuracy: self.accuracy, classes: self.classes }
    }

    /// The conformal p-value: the share of known rows, this one counted, that score no higher.
    pub(crate) fn p_value(&self, score: f64) -> f64 {
        let total = *self.up_to.last().expect("a calibration has rows");
        let unit = total / self.rows.len() as f64;
        let end = self.rows.partition_point(|row| row.score <= score);
        let below = if end == 0 { 0.0 } else { self.up_to[end - 1] };
        (below + unit) / (total + unit)
    }

    /// Sets the thresholds that the rule asks for, one for each of so many classes.
    pub(crate) fn set_thresholds(
        &mut self,
        rule: Rejection,
        strangers: Beta,
        model: TailModel,
        classes: usize,
    ) {
        let all: Vec<Scored> = self.rows.clone();
        self.thresholds = match rule {
            Rejection::Probability(delta) => vec![support_of(model, delta); classes],
            Rejection::FalseUnknown(rate) => vec![quantile(&all, rate, model); classes],
            Rejection::FalseUnknownPerClass(rate) => {
                let shared = quantile(&all, rate, model);
                (0..classes as u32)
                    .map(|class| {
                        let own: Vec<Scored> = all.iter().copied().filter(|row| row.best == class).collect();
                        if (own.len() + 1) as f64 * rate >= 1.0 {
                            quantile(&own, rate, model)
                        } else {
                            shared
                        }
                    })
                    .collect()
            }
            Rejection::FalseKnown(rate) => {
                let least = strangers.quantile(1.0 - rate);
                let reached = self.rows.iter().find(|row| self.p_value(row.score) >= least);
                vec![reached.map_or(f64::INFINITY, |row| row.score); classes]
            }
        };
    }
}

/// Rows from which on their scores tell how they fall off: as many as 5 % take.
const FEWEST: usize = 19;

/// Weight of all, and of one on average.
fn total(rows: &[Scored]) -> (f64, f64) {
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    (total, total / rows.len().max(1) as f64)
}

/// The highest score below which at most `rate` of the rows lie, one more counted: the conformal quantile. Where there are
/// too few rows for the rate, it lies below all of them, see [`below_all`]; of less than [`FEWEST`] rows it is the lowest score, or delta of
/// the paper where that is lower.
///
/// A rate of 0 asks that nothing known is rejected: all that is within the model's reach is then accepted.
fn quantile(sorted: &[Scored], rate: f64, model: TailModel) -> f64 {
    const WITHIN_REACH: f64 = -1e6;
    let (total, unit) = total(sorted);
    let (mut below, mut threshold) = (unit, None);
    for row in sorted {
        if below > rate * (total + unit) + 1e-9 * total {
            break;
        }
        threshold = Some(row.score);
        below += row.weight;
    }
    let lowest = sorted.first().map_or(f64::INFINITY, |row| row.score);
    if rate == 0.0 {
        return lowest.min(WITHIN_REACH);
    }
    threshold.unwrap_or_else(|| below_all(sorted, rate).unwrap_or(lowest.min(support_of(model, 0.05))))
}

/// Where scores would be below with a chance of `rate`, which is less than the rows can tell: below the lowest of n rows by
/// `m ln(1 / ((n + 1) rate))`, as if they fell off exponentially below their median, by m on average.
fn below_all(sorted: &[Scored], rate: f64) -> Option<f64> {
    if sorted.len() < FEWEST {
        return None;
    }
    let (lowest, median) = (sorted[0].score, sorted[sorted.len() / 2].score);
    let half = &sorted[..sorted.len() / 2];
    let mean = half.iter().map(|row| median - row.score).sum::<f64>() / half.len() as f64;
    let below = lowest - mean * (1.0 / ((sorted.len() + 1) as f64 * rate)).ln().max(0.0);
    below.is_finite().then_some(below)
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

    fn scored(scores: impl Iterator<Item = f64>) -> Vec<Scored> {
        scores.map(|score| Scored { score, best: 0, weight: 2.0 }).collect()
    }

    #[test]
    fn the_threshold_is_the_conformal_quantile() {
        let rows = scored((0..99).map(f64::from));
        // Of 100 rows, the query counted, 5 may be rejected: those below the fifth lowest score are 4 of 99.
        assert_eq!(quantile(&rows, 0.05, TailModel::Weibull), 4.0);
        assert_eq!(quantile(&rows, 0.049, TailModel::Weibull), 3.0);
        assert_eq!(quantile(&rows, 0.01, TailModel::Weibull), 0.0);
        // Too few rows to tell: 25 below the median on average, and ten times rarer than the lowest.
        assert!((quantile(&rows, 0.001, TailModel::Weibull) + 25.0 * 10f64.ln()).abs() < 1e-9);
        assert!((quantile(&rows, 0.0099, TailModel::Weibull) + 0.25).abs() < 0.01, "without a leap");
        let delta = support_of(TailModel::Weibull, 0.05);
        assert_eq!(
            quantile(&rows[..18], 0.05, TailModel::Weibull),
            delta.min(0.0),
            "nothing to tell it from"
        );
        assert_eq!(quantile(&rows[..19], 0.05, TailModel::Weibull), 0.0);
        let same = scored([7.0; 30].into_iter());
        assert_eq!(quantile(&same, 0.01, TailModel::Weibull), 7.0);
        let endless = scored([1.0].into_iter().chain([f64::INFINITY; 30]));
        assert_eq!(quantile(&endless, 0.01, TailModel::Weibull), delta.min(1.0));
        assert_eq!(quantile(&rows, 0.0, TailModel::Weibull), -1e6);
    }

    #[test]
    fn p_values_of_known_rows_are_uniform() {
        let calibration = Calibration::new(scored((0..99).rev().map(f64::from)), 1.0, 1.0, 1);
        assert!((calibration.p_value(49.0) - 0.51).abs() < 1e-12);
        assert!((calibration.p_value(-1.0) - 0.01).abs() < 1e-12);
        assert_eq!(calibration.p_value(1e9), 1.0);
    }

    #[test]
    fn a_class_with_few_rows_has_the_threshold_of_all() {
        let rows: Vec<Scored> =
            (0..100).map(|i| Scored { score: f64::from(i), best: u32::from(i >= 95), weight: 1.0 }).collect();
        let mut calibration = Calibration::new(rows, 1.0, 1.0, 2);
        let strangers = Beta { a: 0.3, b: 1.0 };
        calibration.set_thresholds(Rejection::FalseUnknownPerClass(0.1), strangers, TailModel::Weibull, 2);
        assert_eq!(calibration.thresholds, [8.0, 9.0]);
        calibration.set_thresholds(Rejection::FalseKnown(0.2), strangers, TailModel::Weibull, 2);
        // p^0.3 = 0.8 at p = 0.475; the score of that p-value.
        assert_eq!(calibration.thresholds, [47.0, 47.0]);
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
