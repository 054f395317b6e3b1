//! The forest: extremely randomised trees over the features themselves, which know tables of measurements better than distances do.
//!
//! It says the logarithm of the probability of a class, `t = ln(p + 0.001)`, from -6.9 to 0. Because t is bounded, the forest cannot
//! have a query accepted that is far from all data.

use evmachine_forest::{Forest, ForestArrays, ForestError, ForestOptions};

use crate::error::{FeatureError, RunError};
use crate::input::labels::Labels;
use evmachine_engine::features::Features;
use evmachine_engine::math::spread;
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;

/// Trees of a forest. Every forest of a fit has as many, so that what the forests of folds say is what the model's would.
const TREES: usize = 200;
/// Least probability that is told from 0.
const FLOOR: f64 = 1e-3;
/// Rows x the square root of their columns that a forest grows from, at most: a second or two on two cores. Of more rows, as many of
/// each class as fit are taken.
const MOST_WORK: f64 = 200_000.0;

/// A forest among the witnesses. For tuners; a fit grows one itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestWitness {
    pub(crate) forest: Forest,
}

/// Rows that a forest grows from.
#[derive(Clone, Copy)]
pub(crate) struct Grove<'a> {
    pub(crate) points: &'a Points<'a>,
    pub(crate) rows: &'a [usize],
    /// Class of every point.
    pub(crate) classes: &'a [u32],
    pub(crate) class_count: usize,
}

impl ForestWitness {
    /// The forest that a fit to these rows would hear.
    pub fn fit(
        run: &Run<'_>,
        metric: &Metric,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<Self, RunError> {
        let points = Points::prepare(features, metric)?;
        let rows: Vec<usize> = (0..points.len()).collect();
        let (classes, class_count) = (labels.ids(), labels.names().len());
        Self::grow(run, &Grove { points: &points, rows: &rows, classes, class_count })
    }

    /// What it says of queries: rows x classes.
    pub fn ask(&self, metric: &Metric, queries: &Features<'_>) -> Result<Vec<f64>, RunError> {
        let (expected, found) = (self.forest.columns(), queries.columns());
        if expected != found {
            return Err(FeatureError::Dimensions { expected, found }.into());
        }
        let points = Points::prepare(queries, metric)?;
        let rows: Vec<usize> = (0..points.len()).collect();
        Ok(self.says(&points, &rows))
    }

    pub(crate) fn grow(run: &Run<'_>, grove: &Grove<'_>) -> Result<Self, RunError> {
        let rows = thinned(grove);
        let features = gathered(grove.points, &rows);
        let labels: Vec<u32> = rows.iter().map(|&row| grove.classes[row]).collect();
        let options = ForestOptions { trees: TREES, ..ForestOptions::extra_trees() };
        let forest =
            Forest::fit(run, &features, &labels, grove.class_count, &options).map_err(
                |error| match error {
                    ForestError::Run(error) => error,
                    // Rows and labels were checked on their way here, and the trees of so few rows have few nodes.
                    other => unreachable!("{other}"),
                },
            )?;
        Ok(Self { forest })
    }

    /// What the forest says: rows x classes.
    pub(crate) fn says(&self, points: &Points<'_>, rows: &[usize]) -> Vec<f64> {
        let probabilities = self
            .forest
            .probabilities(&gathered(points, rows))
            .unwrap_or_else(|error| unreachable!("the columns are those of the model: {error}"));
        probabilities.into_iter().map(|probability| (probability + FLOOR).ln()).collect()
    }

    /// As [`says`](Self::says), for one row that is ready for the metric, on this thread.
    pub(crate) fn says_of_one(&self, ready: &[f32], said: &mut Vec<f64>) {
        self.forest
            .probabilities_of_one(ready, said)
            .unwrap_or_else(|error| unreachable!("the columns are those of the model: {error}"));
        for value in said {
            *value = (*value + FLOOR).ln();
        }
    }

    /// As arrays, for the file.
    pub(crate) fn arrays(&self) -> ForestArrays {
        ForestArrays::from(&self.forest)
    }
}

/// Rows as a forest wants them: of unit length for cosine, as they came for other metrics.
fn gathered(points: &Points<'_>, rows: &[usize]) -> Features<'static> {
    Features::checked(points.gather(rows), points.dimensions())
}

/// As many rows of each class as the work allows, in rising order.
fn thinned(grove: &Grove<'_>) -> Vec<usize> {
    let most = (MOST_WORK / (grove.points.dimensions() as f64).sqrt()) as usize;
    if grove.rows.len() <= most {
        return grove.rows.to_vec();
    }
    let mut by_class: Vec<Vec<usize>> = vec![Vec::new(); grove.class_count];
    for &row in grove.rows {
        by_class[grove.classes[row] as usize].push(row);
    }
    let each = |share: usize| by_class.iter().map(|rows| rows.len().min(share)).sum::<usize>();
    // The largest share of a class at which all of them fit; at least 2.
    let (mut low, mut high) = (2, most.max(2));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if each(middle) <= most { low = middle } else { high = middle - 1 }
    }
    let mut rows: Vec<usize> = Vec::new();
    for own in &mut by_class {
        own.sort_unstable_by_key(|&row| (spread(row as u64), row));
        rows.extend(own.iter().take(low));
    }
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_is_bounded_and_right_within_the_data() {
        let features = Features::new((0..60).map(|row| row as f32).collect::<Vec<_>>(), 1).unwrap();
        let points = Points::prepare(&features, &Metric::Euclidean).unwrap();
        let classes: Vec<u32> = (0..60).map(|row| row / 20).collect();
        let rows: Vec<usize> = (0..60).collect();
        let grove = Grove { points: &points, rows: &rows, classes: &classes, class_count: 3 };
        let forest = ForestWitness::grow(&Run::new(), &grove).unwrap();
        let queries = Features::new(vec![5.0, 30.0, 1e9], 1).unwrap();
        let said = forest.says(&Points::prepare(&queries, &Metric::Euclidean).unwrap(), &[0, 1, 2]);
        assert!(said.iter().all(|value| (FLOOR.ln()..=0.001).contains(value)), "{said:?}");
        assert!(said[0] > said[1] && said[4] > said[3] && said[4] > said[5], "{said:?}");
    }

    #[test]
    fn many_rows_are_thinned_evenly_and_small_classes_stay_whole() {
        let count = MOST_WORK as usize * 2;
        let features = Features::new(vec![0.0; count], 1).unwrap();
        let points = Points::prepare(&features, &Metric::Euclidean).unwrap();
        let classes: Vec<u32> = (0..count).map(|row| u32::from(row % 1000 == 0)).collect();
        let rows: Vec<usize> = (0..count).collect();
        let grove = Grove { points: &points, rows: &rows, classes: &classes, class_count: 2 };
        let kept = thinned(&grove);
        assert_eq!(kept.len(), MOST_WORK as usize);
        assert_eq!(kept.iter().filter(|&&row| classes[row] == 1).count(), count / 1000);
        assert!(kept.is_sorted());
    }
}
