//! Whether a confidence means what it says: of the answers given at 0.8, four in five should be right.

use serde::Serialize;
use thiserror::Error;

/// Answers whose confidences fall into one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bin {
    /// Number of answers.
    pub count: usize,
    /// Sum of their weights; the count where none are given.
    pub weight: f64,
    /// Their mean confidence, by weight. `None` where the weight is 0.
    pub confidence: Option<f64>,
    /// The rate of right ones among them, by weight. `None` where the weight is 0.
    pub accuracy: Option<f64>,
}

/// Answers by their confidence, in bins of equal width over [0, 1]. Bin i of n holds confidences from `i / n` up to but
/// not including `(i + 1) / n`; the last one holds 1 too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reliability {
    bins: Vec<Bin>,
}

/// Confidences that cannot be summed up.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ReliabilityError {
    /// No bins.
    #[error("there are no bins; ask for at least one")]
    NoBins,
    /// Two columns of different length.
    #[error("{what}: {found} where {expected} belong; give one for each confidence")]
    Length {
        /// Which column.
        what: &'static str,
        /// The number of confidences.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A confidence that is no probability.
    #[error("row {row}: {value} is no confidence; it must lie in 0 to 1")]
    Confidence {
        /// The first such row, counted from 0.
        row: usize,
        /// The value.
        value: f64,
    },
    /// A weight that weighs nothing anyone could weigh.
    #[error("row {row}: {value} is no weight; it must be finite and not negative")]
    Weight {
        /// The first such row, counted from 0.
        row: usize,
        /// The value.
        value: f64,
    },
}

impl Reliability {
    /// Sums up answers that count alike.
    ///
    /// ```
    /// use evmachine_eval::Reliability;
    ///
    /// let found = Reliability::new(&[0.9, 0.7, 0.6, 0.2], &[true, true, false, false], 2)?;
    /// assert_eq!(found.bins()[1].count, 3);
    /// // |2/3 - 2.2/3| for three answers, |0 - 0.2| for one.
    /// assert!((found.ece() - (0.2 + 0.2) / 4.0).abs() < 1e-15);
    /// # Ok::<(), evmachine_eval::ReliabilityError>(())
    /// ```
    pub fn new(confidences: &[f64], right: &[bool], bins: usize) -> Result<Self, ReliabilityError> {
        Self::weighted(confidences, right, &vec![1.0; confidences.len()], bins)
    }

    /// Sums up answers of which each counts by its weight; so answers to known and to unknown queries can be made to
    /// count alike, however many there are of each.
    pub fn weighted(
        confidences: &[f64],
        right: &[bool],
        weights: &[f64],
        bins: usize,
    ) -> Result<Self, ReliabilityError> {
        check(confidences, right, weights, bins)?;
        let mut sums = vec![Sums::default(); bins];
        for ((&confidence, &right), &weight) in confidences.iter().zip(right).zip(weights) {
            let sums = &mut sums[((confidence * bins as f64) as usize).min(bins - 1)];
            sums.count += 1;
            sums.weight += weight;
            sums.confidence += weight * confidence;
            sums.right += if right { weight } else { 0.0 };
        }
        Ok(Self { bins: sums.iter().map(Sums::bin).collect() })
    }

    /// The bins, lowest confidence first.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Expected calibration error: the mean of `|accuracy - confidence|` over the bins, by their weights. 0 where
    /// nothing weighs anything.
    pub fn ece(&self) -> f64 {
        let total: f64 = self.bins.iter().map(|bin| bin.weight).sum();
        let gaps: f64 = self.bins.iter().map(|bin| bin.weight * bin.gap()).sum();
        if total > 0.0 { gaps / total } else { 0.0 }
    }

    /// Maximum calibration error: the largest `|accuracy - confidence|` of a bin. A bin of few answers weighs as much as
    /// any other, and so many bins make it large.
    pub fn mce(&self) -> f64 {
        self.bins.iter().map(Bin::gap).fold(0.0, f64::max)
    }
}

impl Bin {
    /// `|accuracy - confidence|`; 0 where there is neither.
    pub fn gap(&self) -> f64 {
        self.accuracy.zip(self.confidence).map_or(0.0, |(accuracy, confidence)| (accuracy - confidence).abs())
    }
}

/// Sums over the answers of a bin, each by its weight.
#[derive(Clone, Default)]
struct Sums {
    count: usize,
    weight: f64,
    confidence: f64,
    right: f64,
}

impl Sums {
    fn bin(&self) -> Bin {
        let mean = |sum: f64| (self.weight > 0.0).then(|| sum / self.weight);
        Bin {
            count: self.count,
            weight: self.weight,
            confidence: mean(self.confidence),
            accuracy: mean(self.right),
        }
    }
}

fn check(confidences: &[f64], right: &[bool], weights: &[f64], bins: usize) -> Result<(), ReliabilityError> {
    if bins == 0 {
        return Err(ReliabilityError::NoBins);
    }
    let expected = confidences.len();
    for (what, found) in [("marks of right answers", right.len()), ("weights", weights.len())] {
        if found != expected {
            return Err(ReliabilityError::Length { what, expected, found });
        }
    }
    if let Some(row) = confidences.iter().position(|value| !(0.0..=1.0).contains(value)) {
        return Err(ReliabilityError::Confidence { row, value: confidences[row] });
    }
    match weights.iter().position(|&value| !(value.is_finite() && value >= 0.0)) {
        Some(row) => Err(ReliabilityError::Weight { row, value: weights[row] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_hand_computed_example() {
        let confidences = [0.0, 0.24, 0.25, 0.5, 0.7, 1.0];
        let right = [false, true, false, true, true, true];
        let found = Reliability::new(&confidences, &right, 4).unwrap();
        let counts: Vec<usize> = found.bins().iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [2, 1, 2, 1]);
        assert_eq!((found.bins()[0].confidence, found.bins()[0].accuracy), (Some(0.12), Some(0.5)));
        assert_eq!((found.bins()[2].confidence, found.bins()[2].accuracy), (Some(0.6), Some(1.0)));
        // Gaps 0.38, 0.25, 0.4 and 0, of 2, 1, 2 and 1 answers.
        assert!((found.ece() - (0.76 + 0.25 + 0.8) / 6.0).abs() < 1e-15);
        assert!((found.mce() - 0.4).abs() < 1e-15);
    }

    #[test]
    fn weights_count_as_repetitions() {
        let found =
            Reliability::weighted(&[0.9, 0.8, 0.1], &[true, false, false], &[3.0, 1.0, 0.0], 2).unwrap();
        assert_eq!(found.bins()[0], Bin { count: 1, weight: 0.0, confidence: None, accuracy: None });
        let repeated = Reliability::new(&[0.9, 0.9, 0.9, 0.8], &[true, true, true, false], 2).unwrap();
        assert_eq!(found.bins()[1].accuracy, Some(0.75));
        assert!((found.ece() - repeated.ece()).abs() < 1e-15);
        assert!((found.ece() - (0.875 - 0.75)).abs() < 1e-15);
    }

    #[test]
    fn nothing_is_no_division_by_zero() {
        let found = Reliability::new(&[], &[], 3).unwrap();
        assert_eq!((found.ece(), found.mce(), found.bins().len()), (0.0, 0.0, 3));
    }

    #[test]
    fn what_cannot_be_summed_up_is_named() {
        let error = |confidences: &[f64], right: &[bool], weights: &[f64], bins: usize| {
            Reliability::weighted(confidences, right, weights, bins).unwrap_err()
        };
        assert_eq!(error(&[], &[], &[], 0), ReliabilityError::NoBins);
        assert_eq!(
            error(&[0.5], &[], &[1.0], 2).to_string(),
            "marks of right answers: 0 where 1 belong; give one for each confidence"
        );
        assert!(matches!(
            error(&[0.5, f64::NAN], &[true; 2], &[1.0; 2], 2),
            ReliabilityError::Confidence { row: 1, .. }
        ));
        assert_eq!(error(&[0.5], &[true], &[-1.0], 2), ReliabilityError::Weight { row: 0, value: -1.0 });
    }

    proptest! {
        #[test]
        fn the_mean_error_is_at_most_the_largest(
            rows in prop::collection::vec((0.0f64..=1.0, any::<bool>(), 0.0f64..5.0), 0..60),
            bins in 1usize..20,
        ) {
            let (confidences, rest): (Vec<f64>, Vec<(bool, f64)>) =
                rows.into_iter().map(|(confidence, right, weight)| (confidence, (right, weight))).unzip();
            let (right, weights): (Vec<bool>, Vec<f64>) = rest.into_iter().unzip();
            let found = Reliability::weighted(&confidences, &right, &weights, bins).unwrap();
            prop_assert!(found.ece() <= found.mce() + 1e-12 && found.mce() <= 1.0 + 1e-12);
            prop_assert_eq!(found.bins().iter().map(|bin| bin.count).sum::<usize>(), confidences.len());
            for (position, bin) in found.bins().iter().enumerate() {
                if let Some(confidence) = bin.confidence {
                    let (low, high) = (position as f64 / bins as f64, (position + 1) as f64 / bins as f64);
                    prop_assert!(confidence >= low - 1e-12 && confidence <= high + 1e-12);
                }
            }
        }
    }
}
