//! What stands in for missing values: one number for each column, learned from the training data and kept in the model.

use serde::{Deserialize, Serialize};

/// How the number of a column is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fill {
    /// The mean of the values that are there.
    Mean,
    /// Their median.
    Median,
    /// 0.
    Zero,
}

impl Fill {
    /// All rules.
    pub const ALL: [Fill; 3] = [Fill::Mean, Fill::Median, Fill::Zero];

    /// The name of the rule.
    pub fn name(self) -> &'static str {
        match self {
            Fill::Mean => "mean",
            Fill::Median => "median",
            Fill::Zero => "zero",
        }
    }

    /// The number of each column of a row-major matrix in which NaN is what is missing; 0 for a column without any value.
    ///
    /// ```
    /// use evmachine::Fill;
    ///
    /// let nan = f32::NAN;
    /// assert_eq!(Fill::Mean.learn(&[1.0, nan, 2.0, nan, 6.0, nan], 2), [3.0, 0.0]);
    /// assert_eq!(Fill::Median.learn(&[1.0, 7.0, 2.0, nan, 6.0, 9.0], 2), [2.0, 8.0]);
    /// ```
    pub fn learn(self, values: &[f32], columns: usize) -> Vec<f32> {
        (0..columns)
            .map(|column| {
                let there = || {
                    let values = values.iter().skip(column).step_by(columns.max(1));
                    values.copied().filter(|value| !value.is_nan()).map(f64::from)
                };
                let found = match self {
                    Fill::Zero => 0.0,
                    Fill::Mean => {
                        let (count, sum) = there().fold((0u64, 0.0), |(n, sum), value| (n + 1, sum + value));
                        if count == 0 { 0.0 } else { sum / count as f64 }
                    }
                    Fill::Median => median(there().collect()),
                };
                found as f32
            })
            .collect()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// Puts the number of its column in the place of every NaN.
pub fn fill(values: &mut [f32], numbers: &[f32]) {
    for row in values.chunks_exact_mut(numbers.len().max(1)) {
        for (value, number) in row.iter_mut().zip(numbers) {
            if value.is_nan() {
                *value = *number;
            }
        }
    }
}
