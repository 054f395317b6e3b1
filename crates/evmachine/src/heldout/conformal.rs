//! How many of the rows that a threshold is set on may be mistaken.
//!
//! A threshold at the k-th lowest of m scores that are exchangeable with those to come rejects a share of known rows that is
//! distributed as Beta(k, m + 1 - k) over trainings: k / (m + 1) on average. The same holds, from above, for strangers.

use crate::heldout::beta::Beta;

/// How many of `rows` may lie on the wrong side of the threshold, the one to come counted: the most that keep the share at or below
/// `rate` on average, or in `confidence` of all trainings. 0 where the rows are too few.
pub(crate) fn mistakes_allowed(rows: usize, rate: f64, confidence: f64) -> usize {
    let average = ((rate * (rows + 1) as f64 + 1e-9) as usize).min(rows);
    if confidence == 0.0 {
        return average;
    }
    let holds = |k: usize| share_of(rows, k).below(rate) >= confidence;
    // The more that may be mistaken, the less often the share is kept.
    let (mut kept, mut broken) = (0, average.max(1) + 1);
    while broken - kept > 1 {
        let middle = usize::midpoint(kept, broken);
        if holds(middle) { kept = middle } else { broken = middle }
    }
    kept
}

/// The fewest rows of which one may be mistaken: 19 for 5 %, 99 for 1 %, and with a confidence of 95 % 59 for 5 %.
pub(crate) fn rows_needed(rate: f64, confidence: f64) -> usize {
    if rate <= 0.0 {
        return usize::MAX;
    }
    if rate >= 1.0 {
        return 1;
    }
    let rows = if confidence == 0.0 { 1.0 / rate - 1.0 } else { (1.0 - confidence).ln() / (1.0 - rate).ln() };
    ((rows - 1e-9).ceil() as usize).max(1)
}

/// The distribution over trainings of the share beyond the k-th of so many rows.
fn share_of(rows: usize, k: usize) -> Beta {
    Beta { a: k.max(1) as f64, b: (rows + 1 - k.min(rows)) as f64 }
}

/// So many rows that models of folds scored tell as much of the share of mistakes as one that was never learned: measured over draws
/// of data with small tails, where the threshold varied most.
pub(crate) const FOLDED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_a_share_takes() {
        assert_eq!(rows_needed(0.05, 0.0), 19);
        assert_eq!(rows_needed(0.01, 0.0), 99);
        assert_eq!(rows_needed(0.001, 0.0), 999);
        assert_eq!(rows_needed(0.05, 0.95), 59);
        assert_eq!(rows_needed(0.0, 0.0), usize::MAX);
        for (rate, confidence) in [(0.05, 0.0), (0.01, 0.0), (0.05, 0.95), (0.2, 0.5), (0.003, 0.99)] {
            let rows = rows_needed(rate, confidence);
            assert_eq!(mistakes_allowed(rows, rate, confidence), 1, "{rate} {confidence}");
            assert_eq!(mistakes_allowed(rows - 1, rate, confidence), 0, "{rate} {confidence}");
        }
    }

    #[test]
    fn mistakes_that_keep_the_share_on_average_or_with_confidence() {
        assert_eq!(mistakes_allowed(999, 0.05, 0.0), 50);
        assert_eq!(mistakes_allowed(998, 0.05, 0.0), 49);
        assert_eq!(mistakes_allowed(999, 0.05, 0.95), 39);
        assert!(mistakes_allowed(20_000, 0.05, 0.95) > 940);
    }
}
