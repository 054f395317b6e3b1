//! Scores of classes for queries.

use evmachine::Labels;
use evmachine::labels::are_same;
use evmachine_eval::Answers;

/// One row for each query, one column for each class.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    classes: usize,
    values: Vec<f64>,
}

impl Scores {
    /// `rows` hold a score for each class, in order.
    pub(crate) fn new(classes: usize, rows: &[Vec<f64>]) -> Self {
        Self { classes, values: rows.concat() }
    }

    /// Number of queries.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len() / self.classes.max(1)
    }

    /// The scores of a query.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.classes..(row + 1) * self.classes]
    }

    /// The class of highest score and that score; the first where several have it.
    #[must_use]
    pub fn best(&self, row: usize) -> (usize, f64) {
        let start = (0, f64::NEG_INFINITY);
        self.row(row).iter().enumerate().fold(
            start,
            |best, (class, &score)| {
                if score > best.1 { (class, score) } else { best }
            },
        )
    }

    /// The class of highest score where it reaches the threshold.
    #[must_use]
    pub fn decide(&self, row: usize, threshold: f64) -> Option<usize> {
        let (class, score) = self.best(row);
        (score >= threshold).then_some(class)
    }

    /// What was said beside what was true. `names`: the classes of the columns; a label that is none of them makes
    /// the query unknown.
    #[must_use]
    pub fn answers(&self, names: &[String], labels: &Labels, threshold: f64) -> Answers {
        let class_of = |label: &String| names.iter().position(|name| are_same(name, label));
        let classes: Vec<Option<usize>> = labels.names().iter().map(class_of).collect();
        let mut answers = Answers::default();
        for (row, &label) in labels.ids().iter().enumerate() {
            let (best, score) = self.best(row);
            answers.push(classes[label as usize], best, score, score >= threshold);
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_highest_decides_and_low_scores_are_unknown() {
        let scores = Scores::new(3, &[vec![0.1, 0.7, 0.7], vec![0.2, 0.1, 0.0]]);
        assert_eq!((scores.rows(), scores.best(0)), (2, (1, 0.7)));
        assert_eq!((scores.decide(0, 0.7), scores.decide(1, 0.3)), (Some(1), None));
        let names = ["a", "b", "c"].map(str::to_owned);
        let answers = scores.answers(&names, &Labels::new(["b", "z"]).unwrap(), 0.3);
        assert_eq!(answers.truth, [Some(1), None]);
        assert_eq!((answers.best, answers.accepted), (vec![1, 0], vec![true, false]));
    }

    #[test]
    fn a_label_is_the_class_that_it_names_in_any_format() {
        let scores = Scores::new(2, &[vec![0.1, 0.7]]);
        let names = ["2", "true"].map(str::to_owned);
        for (label, truth) in [("2.0", 0), ("True", 1)] {
            let answers = scores.answers(&names, &Labels::new([label]).unwrap(), 0.0);
            assert_eq!(answers.truth, [Some(truth)]);
        }
    }
}
