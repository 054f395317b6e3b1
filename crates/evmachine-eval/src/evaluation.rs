//! The figures that open-set papers report.

use serde::Serialize;

use crate::answers::Answers;
use crate::curves;
use crate::rates::Rates;

/// A summary of [`Answers`]. Rates over nothing are `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evaluation {
    /// Queries of known classes.
    pub known: usize,
    /// Queries of classes that the classifier never saw.
    pub unknown: usize,
    /// Rate of right answers: the right class for known queries, rejection for unknown ones.
    pub accuracy: f64,
    /// Rate of known queries whose best class is right, accepted or not.
    pub closed_accuracy: Option<f64>,
    /// Rate of known queries accepted as the right class (AKS).
    pub known_accuracy: Option<f64>,
    /// Rate of known queries rejected.
    pub false_unknown: Option<f64>,
    /// Rate of unknown queries rejected (AUS).
    pub unknown_accuracy: Option<f64>,
    /// Mean of the two (Mendes Junior et al. 2017), unknowns weighing as much as knowns.
    pub normalized_accuracy: Option<f64>,
    /// Harmonic mean of the two.
    pub harmonic_normalized_accuracy: Option<f64>,
    /// `2 TP / (2 TP + FP + FN)` over the known classes together: an accepted unknown is a false positive of the
    /// class it was taken for, a rejected known a false negative of its own; a rejected unknown counts nowhere.
    pub f1_micro: f64,
    /// The same for each known class that occurs, averaged.
    pub f1_macro: f64,
    /// Area under the ROC curve of known against unknown.
    pub auroc: Option<f64>,
    /// Area under the OSCR curve.
    pub oscr: Option<f64>,
    /// Rate of unknown queries accepted at the threshold that accepts 95 % of the known ones; lower is better.
    pub fpr95: Option<f64>,
}

impl Evaluation {
    /// Sums up the answers of a classifier with that many classes.
    pub fn new(answers: &Answers, classes: usize) -> Self {
        let known = answers.truth.iter().flatten().count();
        let unknown = answers.len() - known;
        let rate = |count: usize, of: usize| (of > 0).then(|| count as f64 / of as f64);
        let mut counts = vec![Counts::default(); classes];
        let (mut right, mut rejected_unknown, mut closed) = (0, 0, 0);
        for row in 0..answers.len() {
            let (best, accepted) = (answers.best[row], answers.accepted[row]);
            match answers.truth[row] {
                None if accepted => counts[best].false_positives += 1,
                None => rejected_unknown += 1,
                Some(class) => {
                    counts[class].occurs = true;
                    closed += usize::from(class == best);
                    if accepted && class == best {
                        right += 1;
                        counts[class].true_positives += 1;
                    } else {
                        counts[class].false_negatives += 1;
                        if accepted {
                            counts[best].false_positives += 1;
                        }
                    }
                }
            }
        }
        let total = counts.iter().fold(Counts::default(), Counts::plus);
        let occurring: Vec<f64> = counts.iter().filter(|counts| counts.occurs).map(Counts::f1).collect();
        let (aks, aus) = (rate(right, known), rate(rejected_unknown, unknown));
        let both = aks.zip(aus);
        Self {
            known,
            unknown,
            accuracy: rate(right + rejected_unknown, answers.len()).unwrap_or(0.0),
            closed_accuracy: rate(closed, known),
            known_accuracy: aks,
            false_unknown: Rates::new(answers).false_unknown,
            unknown_accuracy: aus,
            normalized_accuracy: both.map(|(aks, aus)| f64::midpoint(aks, aus)),
            harmonic_normalized_accuracy: both
                .map(|(aks, aus)| if aks + aus > 0.0 { 2.0 * aks * aus / (aks + aus) } else { 0.0 }),
            f1_micro: total.f1(),
            f1_macro: occurring.iter().fold(0.0, |sum, f1| sum + f1) / occurring.len().max(1) as f64,
            auroc: curves::auroc(answers),
            oscr: curves::oscr(answers),
            fpr95: curves::fpr_at_tpr(answers, 0.95),
        }
    }
}

#[derive(Clone, Default)]
struct Counts {
    occurs: bool,
    true_positives: usize,
    false_positives: usize,
    false_negatives: usize,
}

impl Counts {
    fn plus(mut self, other: &Self) -> Self {
        self.true_positives += other.true_positives;
        self.false_positives += other.false_positives;
        self.false_negatives += other.false_negatives;
        self
    }

    fn f1(&self) -> f64 {
        let right = 2 * self.true_positives;
        let all = right + self.false_positives + self.false_negatives;
        if all > 0 { right as f64 / all as f64 } else { 0.0 }
    }
}

/// How often each class was answered for each: `classes + 1` rows by true class, `classes + 1` columns by answer,
/// the last of each for unknown.
pub fn confusion(answers: &Answers, classes: usize) -> Vec<Vec<u64>> {
    let mut matrix = vec![vec![0; classes + 1]; classes + 1];
    for row in 0..answers.len() {
        let answer = if answers.accepted[row] { answers.best[row] } else { classes };
        matrix[answers.truth[row].unwrap_or(classes)][answer] += 1;
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_computed_example() {
        let mut answers = Answers::default();
        // Class 0: one right, one taken for 1, one rejected. Class 1: one right. Unknown: one taken for 1, two
        // rejected.
        answers.push(Some(0), 0, 0.9, true);
        answers.push(Some(0), 1, 0.8, true);
        answers.push(Some(0), 0, 0.1, false);
        answers.push(Some(1), 1, 0.9, true);
        answers.push(None, 1, 0.7, true);
        answers.push(None, 0, 0.1, false);
        answers.push(None, 0, 0.0, false);
        let found = Evaluation::new(&answers, 3);
        assert_eq!((found.known, found.unknown), (4, 3));
        assert_eq!(found.accuracy, 4.0 / 7.0);
        assert_eq!(found.closed_accuracy, Some(0.75));
        assert_eq!(found.known_accuracy, Some(0.5));
        assert_eq!((found.unknown_accuracy, found.false_unknown), (Some(2.0 / 3.0), Some(0.25)));
        assert_eq!(found.normalized_accuracy, Some(f64::midpoint(0.5, 2.0 / 3.0)));
        let harmonic = found.harmonic_normalized_accuracy.unwrap();
        assert!((harmonic - 2.0 / (2.0 + 1.5)).abs() < 1e-15);
        // Micro: TP 2, FP 2 (both of class 1), FN 2. Class 0: TP 1, FN 2; class 1: TP 1, FP 2.
        assert_eq!(found.f1_micro, 0.5);
        assert_eq!(found.f1_macro, 0.5);
        // The 5 % quantile of 0.1, 0.8, 0.9, 0.9 lies at 0.1 + 0.15 * 0.7 = 0.205; one of three unknowns is above.
        assert_eq!(found.fpr95, Some(1.0 / 3.0));
        let matrix = confusion(&answers, 3);
        assert_eq!(matrix, [[1, 1, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 2]]);
    }

    #[test]
    fn nothing_at_all_is_no_division_by_zero() {
        let found = Evaluation::new(&Answers::default(), 2);
        assert_eq!((found.accuracy, found.f1_micro, found.closed_accuracy), (0.0, 0.0, None));
        assert!(found.f1_macro.is_sign_positive(), "a sum over nothing is 0, not -0");
    }
}
