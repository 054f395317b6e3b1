//! The conformal quantile of scores that stand for more or fewer queries.

use super::calibration::{Rule, Scored};
use super::conformal;
use crate::params::TailModel;
use crate::params::rejection::DELTA;
use evmachine_engine::psi::curve::support_of;

/// Thresholds end here: a row with less has no psi left, and is unknown whatever the threshold.
const LOWEST: f64 = -1e9;
/// Rows from which on their scores tell how they fall off: as many as 5 % take.
const FEWEST: usize = 19;

/// Weight of all, and of one row where so many of equal weight told as much.
pub(super) fn total(rows: &[Scored]) -> (f64, f64) {
    let sum: f64 = rows.iter().map(|row| row.weight).sum();
    let squares: f64 = rows.iter().map(|row| row.weight * row.weight).sum();
    (sum, if sum > 0.0 { squares / sum } else { 0.0 })
}

pub(crate) fn effective(rows: &[Scored]) -> usize {
    let (total, unit) = total(rows);
    if unit > 0.0 { (total / unit + 1e-9) as usize } else { 0 }
}

/// The highest score below which at most `rate` of the rows lie, one more counted: the conformal quantile, or with a confidence
/// that of as many rows as it allows. Where there are too few rows for the rate, it lies below all of them, see [`below_all`]; of less
/// than [`FEWEST`] rows it is the lowest score, or delta of the paper where that is lower.
///
/// A rate of 0 asks that nothing known is rejected: all that is within the model's reach is then accepted.
pub(super) fn quantile(sorted: &[Scored], rate: f64, rule: &Rule, model: TailModel) -> f64 {
    const WITHIN_REACH: f64 = -1e6;
    let lowest = sorted.first().map_or(f64::INFINITY, |row| row.score);
    if rate == 0.0 {
        return lowest.min(WITHIN_REACH);
    }
    let (count, confidence) = (rule.rows_that_tell(sorted), rule.confidence);
    let share = if confidence == 0.0 {
        rate
    } else {
        conformal::mistakes_allowed(count, rate, confidence) as f64 / (count + 1) as f64
    };
    let (total, unit) = total(sorted);
    let (mut below, mut threshold) = (unit, None);
    for row in sorted {
        if below > share * (total + unit) + 1e-9 * total {
            break;
        }
        threshold = Some(row.score);
        below += row.weight;
    }
    let threshold = threshold.unwrap_or_else(|| {
        let needed = conformal::rows_needed(rate, confidence);
        below_all(sorted, count as f64 / needed as f64).unwrap_or(lowest.min(support_of(model, DELTA)))
    });
    threshold.max(LOWEST)
}

/// Where scores would lie that are so much rarer than the lowest row, `share` being below 1: below the lowest by `m ln(1 / share)`, as
/// if scores fell off exponentially below their median, by m on average.
fn below_all(sorted: &[Scored], share: f64) -> Option<f64> {
    if sorted.len() < FEWEST {
        return None;
    }
    let (lowest, median) = (sorted[0].score, sorted[sorted.len() / 2].score);
    let half = &sorted[..sorted.len() / 2];
    let mean = half.iter().map(|row| median - row.score).sum::<f64>() / half.len() as f64;
    let below = lowest - mean * (1.0 / share).ln().max(0.0);
    below.is_finite().then_some(below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::rejection::Rejection;

    const PLAIN: Rule = Rule { rejection: Rejection::FalseUnknown(0.05), confidence: 0.0, told_as_one: 1 };

    fn scored(scores: impl Iterator<Item = f64>) -> Vec<Scored> {
        scores.map(|score| Scored { score, best: 0, weight: 2.0 }).collect()
    }

    #[test]
    fn the_threshold_is_the_conformal_quantile() {
        let rows = scored((0..99).map(f64::from));
        // Of 100 rows, the query counted, 5 may be rejected: those below the fifth lowest score are 4 of 99.
        let quantile = |rows: &[Scored], rate: f64| quantile(rows, rate, &PLAIN, TailModel::Weibull);
        assert_eq!(quantile(&rows, 0.05), 4.0);
        assert_eq!(quantile(&rows, 0.049), 3.0);
        assert_eq!(quantile(&rows, 0.01), 0.0);
        // Too few rows to tell: 25 below the median on average, and 999 rows would be needed.
        assert!((quantile(&rows, 0.001) + 25.0 * (999.0 / 99.0f64).ln()).abs() < 1e-9);
        assert!((quantile(&rows, 0.0099) + 25.0 * (101.0 / 99.0f64).ln()).abs() < 1e-9, "101 rows would do");
        let delta = support_of(TailModel::Weibull, 0.05);
        assert_eq!(quantile(&rows[..18], 0.05), delta.min(0.0), "nothing to tell it from");
        assert_eq!(quantile(&rows[..19], 0.05), 0.0);
        let same = scored([7.0; 30].into_iter());
        assert_eq!(quantile(&same, 0.01), 7.0);
        let endless = scored([1.0].into_iter().chain([f64::INFINITY; 30]));
        assert_eq!(quantile(&endless, 0.01), delta.min(1.0));
        assert_eq!(quantile(&rows, 0.0), -1e6);
    }

    #[test]
    fn a_row_that_stands_for_many_counts_as_many() {
        let rows: Vec<Scored> = (0..200)
            .map(|i| Scored { score: f64::from(i), best: 0, weight: if i < 10 { 10.0 } else { 1.0 } })
            .collect();
        // Of a weight of 290, ten rows have 100: a fifth lies below the sixth row.
        assert_eq!(quantile(&rows, 0.2, &PLAIN, TailModel::Weibull), 5.0);
        assert_eq!(effective(&rows), 290 * 290 / (10 * 100 + 190));
    }

    #[test]
    fn with_confidence_fewer_rows_may_lie_below() {
        let rows = scored((0..999).map(f64::from));
        let average = quantile(&rows, 0.05, &PLAIN, TailModel::Weibull);
        let sure = quantile(&rows, 0.05, &Rule { confidence: 0.95, ..PLAIN }, TailModel::Weibull);
        // P(Beta(39, 961) <= 0.05) = 0.953, P(Beta(40, 960) <= 0.05) = 0.938.
        assert_eq!((average, sure), (49.0, 38.0));
    }
}
