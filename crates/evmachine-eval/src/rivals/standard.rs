//! Columns of one scale: less their mean, in units of their deviation.

use faer::Mat;

use super::rows::Rows;

/// The least share of the median deviation that a column's own counts as, as for the library's probe: a column that is constant, or
/// nearly so, must not drown the others.
const LEAST_SHARE: f64 = 1e-3;

/// Mean and deviation of each column.
pub(crate) struct Standard {
    mean: Vec<f64>,
    pub(crate) deviation: Vec<f64>,
}

impl Standard {
    pub(crate) fn fit(rows: &Rows<'_>) -> Self {
        let mean: Vec<f64> = rows.means(1, |_| 0).col(0).iter().copied().collect();
        let mut squares = vec![0.0; mean.len()];
        for block in rows.blocks() {
            for column in rows.columns(block).col_iter() {
                for ((square, value), mean) in squares.iter_mut().zip(column.iter()).zip(&mean) {
                    *square += (value - mean) * (value - mean);
                }
            }
        }
        let mut deviation: Vec<f64> = squares.iter().map(|sum| (sum / rows.len() as f64).sqrt()).collect();
        let mut sorted = deviation.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (median, largest) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
        let floor = LEAST_SHARE * if median > 0.0 { median } else { largest };
        for value in &mut deviation {
            *value = if floor > 0.0 { value.max(floor) } else { 1.0 };
        }
        Self { mean, deviation }
    }

    /// Rows, which are the columns of a matrix, brought to that scale.
    pub(crate) fn apply(&self, columns: &mut Mat<f64>) {
        for column in columns.col_iter_mut() {
            for ((value, mean), deviation) in column.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *value = (*value - mean) / deviation;
            }
        }
    }

    /// All rows in that scale, one after the other, in single precision.
    pub(crate) fn values(&self, rows: &Rows<'_>) -> Vec<f32> {
        let mut values = Vec::with_capacity(rows.len() * rows.dimensions());
        for block in rows.blocks() {
            let mut columns = rows.columns(block);
            self.apply(&mut columns);
            values.extend(columns.col_iter().flat_map(|column| column.iter().map(|&value| value as f32)));
        }
        values
    }
}
