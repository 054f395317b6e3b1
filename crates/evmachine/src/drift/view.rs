//! What is looked at of a vector, whatever the model says of it: length, evenness, and where it lies.

use serde::{Deserialize, Serialize};

use crate::model::Evm;
use evmachine_engine::math::spread;
use evmachine_engine::metric::Metric;

/// Fixed directions that vectors are looked at along.
pub(crate) const DIRECTIONS: usize = 4;
/// Numbers that a vector is looked at by.
pub(crate) const NUMBERS: usize = 3 + DIRECTIONS;
/// What they are called.
pub(crate) const NAMES: [&str; NUMBERS] =
    ["norm", "distance", "evenness", "direction 1", "direction 2", "direction 3", "direction 4"];
/// Extreme vectors that means and deviations are taken from, at most.
const MOST_VECTORS: usize = 4096;

/// Means and deviations by column of what the model learned. Rows that calibrate have no part in them: were they to set the scale that
/// they are ranked on, they would not be exchangeable with the stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct View {
    means: Vec<f32>,
    deviations: Vec<f32>,
    /// Whether lengths are without meaning, as for cosine; the norm is looked at for itself.
    unit: bool,
}

impl View {
    pub(crate) fn of(evm: &Evm) -> Self {
        let columns = evm.dimensions();
        let unit = evm.params().metric == Metric::Cosine && !evm.params().standardize;
        let every = evm.extreme_vector_count().div_ceil(MOST_VECTORS).max(1);
        let (mut sums, mut squares, mut rows) = (vec![0.0f64; columns], vec![0.0f64; columns], 0.0f64);
        for vector in evm.extreme_vectors().step_by(every) {
            for (column, value) in evm.in_feature_space(vector.vector).into_iter().enumerate() {
                let value = f64::from(value);
                sums[column] += value;
                squares[column] += value * value;
            }
            rows += 1.0;
        }
        let rows = rows.max(1.0);
        let means: Vec<f32> = sums.iter().map(|sum| (sum / rows) as f32).collect();
        let deviation = |column: usize| {
            let mean = sums[column] / rows;
            let deviation = (squares[column] / rows - mean * mean).max(0.0).sqrt();
            // A column that never varied has no scale of its own.
            if deviation > 1e-6 * mean.abs() && deviation > 0.0 {
                deviation as f32
            } else {
                mean.abs().max(1e-6) as f32
            }
        };
        Self { means, deviations: (0..columns).map(deviation).collect(), unit }
    }

    /// Whether there is a mean and a deviation for each column, which a file may get wrong.
    pub(crate) fn is_whole(&self, columns: usize) -> bool {
        self.means.len() == columns && self.deviations.len() == columns
    }

    /// The numbers of a row, in the order of [`NAMES`].
    pub(crate) fn numbers(&self, row: &[f32]) -> [f64; NUMBERS] {
        let norm = row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        let length = if self.unit && norm > 0.0 { norm } else { 1.0 };
        let (mut absolute, mut squares, mut along) = (0.0, 0.0, [0.0; DIRECTIONS]);
        for (column, &value) in row.iter().enumerate() {
            let scaled = (f64::from(value) / length - f64::from(self.means[column]))
                / f64::from(self.deviations[column]);
            absolute += scaled.abs();
            squares += scaled * scaled;
            let signs = spread(column as u64);
            for (direction, sum) in along.iter_mut().enumerate() {
                *sum += if signs >> direction & 1 == 0 { scaled } else { -scaled };
            }
        }
        let [one, two, three, four] = along;
        [norm, squares.sqrt(), absolute / squares.sqrt().max(f64::MIN_POSITIVE), one, two, three, four]
    }
}
