//! How much folds can tell: what one choice of parameters is ahead of another, and whether that counts.
//!
//! The strangers of the folds are the classes of the data, each left out once. So C classes are a sample of C strangers, and the
//! parameters that lead on them are the best of thousands that were tried. Of few classes the leader is then one that suits these
//! classes: over ten sets with 3 to 7 known classes, most of them five times drawn, it was behind the preset on test rows by 0.017 of
//! OSCR on average, and by up to 0.2. A lead therefore counts from `2 + (20 / C)^2` standard errors on: 10 for 7 classes, 2.6 for 25, 2 for 150.
//!
//! A few folds may agree by chance, most of all if they have few queries. So the standard error is at least that of folds whose figures
//! are known to `0.1 / sqrt(n)` each, n being the smaller number of their known and unknown queries: what the difference of two shares
//! near 1 of the same n queries comes to.

use serde::Serialize;

use crate::objective::mean_and_error;

/// What one choice of parameters is ahead of another on the same folds; negative if it is behind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Lead {
    /// Mean over the folds.
    pub mean: f64,
    /// Standard error of that mean.
    pub error: f64,
    /// The least mean that counts.
    pub counts_from: f64,
}

/// What a lead is judged by, beside the figures of the folds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Standard errors from which a lead counts.
    errors: f64,
    /// The least standard error of a mean over the folds.
    least: f64,
}

impl Scale {
    /// For data of so many classes, and folds each of which has at least so many known and so many unknown queries.
    pub(crate) fn new(classes: usize, queries: impl ExactSizeIterator<Item = usize>) -> Self {
        let folds = queries.len().max(1) as f64;
        let variance: f64 = queries.map(|count| 0.01 / count.max(1) as f64).sum();
        Self { errors: 2.0 + (20.0 / classes as f64).powi(2), least: variance.sqrt() / folds }
    }
}

impl Lead {
    /// Of figures on folds over those of another choice.
    pub(crate) fn of(own: &[f64], other: &[f64], scale: Scale) -> Self {
        let leads: Vec<f64> = own.iter().zip(other).map(|(own, other)| own - other).collect();
        let (mean, error) = mean_and_error(&leads);
        Self { mean, error, counts_from: scale.errors * error.max(scale.least) }
    }

    /// Whether the folds can tell that it is ahead.
    pub fn counts(&self) -> bool {
        self.mean > 0.0 && self.mean >= self.counts_from
    }

    /// Whether the folds can tell that it is behind by less than `cost`.
    pub(crate) fn costs_less_than(&self, cost: f64) -> bool {
        -self.mean + self.counts_from < cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(classes: usize) -> Scale {
        Scale::new(classes, [2_000; 3].into_iter())
    }

    #[test]
    fn a_lead_of_few_classes_must_be_large() {
        let (own, other) = ([0.90, 0.92, 0.94], [0.88, 0.91, 0.91]);
        let lead = Lead::of(&own, &other, scale(150));
        assert!((lead.mean - 0.02).abs() < 1e-12 && (lead.error - 0.01 / 3f64.sqrt()).abs() < 1e-12);
        assert!(lead.counts() && !Lead::of(&own, &other, scale(7)).counts());
        assert!(!Lead::of(&other, &own, scale(150)).counts(), "it is behind");
        assert!(!Lead::of(&own, &own, scale(150)).counts(), "a draw is no lead");
    }

    #[test]
    fn folds_that_agree_by_chance_do_not_count() {
        let (own, other) = ([0.9, 0.8], [0.89, 0.79]);
        let few = Lead::of(&own, &other, Scale::new(150, [25, 25].into_iter()));
        assert!(few.error < 1e-9 && !few.counts(), "{few:?}");
        assert!((few.counts_from - (2.0 + (20.0 / 150.0f64).powi(2)) * 0.02 / 2f64.sqrt()).abs() < 1e-12);
        assert!(Lead::of(&own, &other, Scale::new(150, [2_000, 2_000].into_iter())).counts());
    }

    #[test]
    fn a_cost_of_few_classes_must_be_sure() {
        let (own, other) = ([0.899, 0.911, 0.921], [0.900, 0.910, 0.922]);
        let costs_little = |own, other, scale| Lead::of(own, other, scale).costs_less_than(0.003);
        assert!(costs_little(&own, &other, scale(150)));
        assert!(!costs_little(&own, &other, scale(7)));
        assert!(!costs_little(&other, &other, scale(3)), "three classes that agree are still three");
    }
}
