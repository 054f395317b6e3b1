//! Columns of one scale: `x' = (x - mean) / deviation`, column by column, over the rows of the first batch.
//!
//! A deviation counts as at least a thousandth of the median one, so that a column that is constant, or nearly so,
//! does not drown the others; where most columns are constant, as at least a thousandth of the largest.

use rayon::prelude::*;

use evmachine_engine::points::Points;

/// The least share of the median deviation that a column's own counts as.
const LEAST_SHARE: f64 = 1e-3;

/// Stands in where all values are 0, the mean of all rows, which has no direction.
const NO_DIRECTION: f32 = 1e-30;

/// Mean and deviation of each column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standard {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Standard {
    /// Over the given rows. Columns without any spread at all are left as they are, less their mean.
    pub(crate) fn estimate(points: &Points<'_>, rows: &[usize]) -> Self {
        const BLOCK: usize = 1024;
        let d = points.dimensions();
        let count = rows.len().max(1) as f64;
        let sums = |centre: &[f64], power: i32| -> Vec<f64> {
            let blocks: Vec<Vec<f64>> = rows
                .par_chunks(BLOCK)
                .map(|rows| {
                    let (mut row, mut sums) = (vec![0.0; d], vec![0.0; d]);
                    for &index in rows {
                        points.write_row(index, &mut row);
                        for ((sum, &value), centre) in sums.iter_mut().zip(&row).zip(centre) {
                            *sum += (f64::from(value) - centre).powi(power);
                        }
                    }
                    sums
                })
                .collect();
            let mut total = vec![0.0; d];
            for sums in &blocks {
                total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            }
            total.iter().map(|sum| sum / count).collect()
        };
        let mean = sums(&vec![0.0; d], 1);
        let mut deviation: Vec<f64> = sums(&mean, 2).into_iter().map(f64::sqrt).collect();
        let mut sorted = deviation.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (median, largest) = (sorted[d / 2], sorted[d - 1]);
        let floor = LEAST_SHARE * if median > 0.0 { median } else { largest };
        for value in &mut deviation {
            *value = if floor > 0.0 { value.max(floor) } else { 1.0 };
        }
        Self { mean, deviation }
    }

    /// `None` unless they are what [`estimate`](Self::estimate) can give.
    pub(crate) fn from_parts(mean: Vec<f64>, deviation: Vec<f64>) -> Option<Self> {
        let possible = mean.len() == deviation.len()
            && mean.iter().all(|value| value.is_finite())
            && deviation.iter().all(|value| value.is_finite() && *value > 0.0);
        possible.then_some(Self { mean, deviation })
    }

    pub(crate) fn mean(&self) -> &[f64] {
        &self.mean
    }

    pub(crate) fn deviation(&self) -> &[f64] {
        &self.deviation
    }

    /// Writes the row, standardised, over itself.
    pub(crate) fn apply(&self, row: &mut [f32]) {
        for ((value, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
            *value = ((f64::from(*value) - mean) / deviation) as f32;
        }
    }

    /// Writes rows, standardised, over themselves. None is left without a direction.
    pub(crate) fn apply_to_all(&self, rows: &mut [f32]) {
        rows.par_chunks_exact_mut(self.mean.len()).for_each(|row| self.apply_to_one(row));
    }

    /// Writes a row, standardised, over itself. It is not left without a direction.
    pub(crate) fn apply_to_one(&self, row: &mut [f32]) {
        self.apply(row);
        if row.iter().all(|&value| value == 0.0) {
            row[0] = NO_DIRECTION;
        }
    }

    /// The x of which `row` is the standardised.
    pub(crate) fn undo(&self, row: &mut [f32]) {
        for ((value, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
            *value = (f64::from(*value) * deviation + mean) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_mean_zero_and_deviation_one() {
        let points = Points::ready(vec![1.0, 5.0, 100.0, 3.0, 5.0, 300.0], 3);
        let standard = Standard::estimate(&points, &[0, 1]);
        assert_eq!(standard.mean(), [2.0, 5.0, 200.0]);
        assert_eq!(
            standard.deviation(),
            [1.0, 1e-3, 100.0],
            "a constant column has a thousandth of the median"
        );
        let mut row = [3.0, 5.0, 100.0];
        standard.apply(&mut row);
        assert_eq!(row, [1.0, 0.0, -1.0]);
        standard.undo(&mut row);
        assert_eq!(row, [3.0, 5.0, 100.0]);
    }

    #[test]
    fn one_row_is_only_centred() {
        let points = Points::ready(vec![1.0, 5.0], 2);
        assert_eq!(Standard::estimate(&points, &[0]).deviation(), [1.0, 1.0]);
    }
}
