//! Columns brought to the range from 0 to 1, as the practical guide to LIBSVM asks for.

use evmachine::Features;

/// The least value of each column and the factor that brings its range to 1.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scaling {
    low: Vec<f32>,
    factor: Vec<f32>,
}

impl Scaling {
    pub(crate) fn of(features: &Features<'_>) -> Self {
        let d = features.columns();
        let (mut low, mut high) = (vec![f32::INFINITY; d], vec![f32::NEG_INFINITY; d]);
        for row in features.values().chunks_exact(d) {
            for ((low, high), &value) in low.iter_mut().zip(&mut high).zip(row) {
                *low = low.min(value);
                *high = high.max(value);
            }
        }
        let factor = low
            .iter()
            .zip(&high)
            .map(|(low, high)| if high > low { 1.0 / (high - low) } else { 0.0 })
            .collect();
        Self { low, factor }
    }

    pub(crate) fn columns(&self) -> usize {
        self.low.len()
    }

    /// All rows, scaled, one after the other.
    pub(crate) fn apply(&self, features: &Features<'_>) -> Vec<f32> {
        let d = self.low.len();
        let mut values = Vec::with_capacity(features.values().len());
        for row in features.values().chunks_exact(d) {
            let scaled = row.iter().zip(&self.low).zip(&self.factor);
            values.extend(scaled.map(|((value, low), factor)| (value - low) * factor));
        }
        values
    }
}
