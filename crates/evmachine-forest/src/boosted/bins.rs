//! Columns as few whole numbers: which of at most 255 bins each value falls into.

use evmachine_engine::Features;
use rayon::prelude::*;

use crate::random::Random;
use crate::tree::halfway;

/// Bins of a column at most.
const MOST: usize = 255;
/// Rows that thresholds are taken from at most.
const SAMPLE: usize = 200_000;

/// The bins of training rows, column after column.
pub(crate) struct Bins {
    /// A value is in the first bin whose threshold it does not exceed; the last bin has none.
    pub(crate) thresholds: Vec<Vec<f32>>,
    codes: Vec<u8>,
    rows: usize,
}

impl Bins {
    /// A bin for each value of a column, or, if it has more than 255, bins of about as many rows each.
    pub(crate) fn new(features: &Features<'_>, rows: &[usize], seed: u64) -> Self {
        let sample = sampled(rows, seed);
        let count = rows.len();
        let mut codes = vec![0; count * features.columns()];
        let thresholds = codes
            .par_chunks_exact_mut(count)
            .enumerate()
            .map(|(column, codes)| {
                let mut values: Vec<f32> = sample.iter().map(|&row| features.row(row)[column]).collect();
                values.sort_unstable_by(f32::total_cmp);
                let thresholds = thresholds(&values);
                for (code, &row) in codes.iter_mut().zip(rows) {
                    *code = bin(&thresholds, features.row(row)[column]) as u8;
                }
                thresholds
            })
            .collect();
        Self { thresholds, codes, rows: count }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The bins of all rows in a column.
    pub(crate) fn column(&self, column: usize) -> &[u8] {
        &self.codes[column * self.rows..(column + 1) * self.rows]
    }
}

/// All rows, or one of every stretch of them.
fn sampled(rows: &[usize], seed: u64) -> Vec<usize> {
    if rows.len() <= SAMPLE {
        return rows.to_vec();
    }
    let mut random = Random::new(seed, u64::MAX);
    let start = |part: usize| part * rows.len() / SAMPLE;
    (0..SAMPLE).map(|part| rows[start(part) + random.below(start(part + 1) - start(part))]).collect()
}

/// The bin of a value.
fn bin(thresholds: &[f32], value: f32) -> usize {
    thresholds.partition_point(|&threshold| threshold < value)
}

/// Thresholds of sorted values.
fn thresholds(sorted: &[f32]) -> Vec<f32> {
    let mut distinct = sorted.to_vec();
    distinct.dedup();
    if distinct.len() <= MOST {
        return distinct.windows(2).map(|pair| halfway(pair[0], pair[1])).collect();
    }
    let count = sorted.len();
    let quantiles = (1..MOST).map(|part| {
        let (whole, rest) = (part * count / MOST, part * count % MOST);
        // The inverse of the distribution function; halfway where it jumps.
        if rest == 0 { f32::midpoint(sorted[whole - 1], sorted[whole]) } else { sorted[whole] }
    });
    let mut thresholds: Vec<f32> = quantiles.collect();
    thresholds.dedup();
    thresholds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_have_a_bin_each_and_many_share() {
        assert_eq!(thresholds(&[1.0, 1.0, 2.0, 5.0]), [1.5, 3.5]);
        assert_eq!(thresholds(&[4.0; 9]), [0.0; 0]);
        assert_eq!([1.0, 1.5, 2.0, 5.0, 9.0].map(|value| bin(&[1.5, 3.5], value)), [0, 0, 1, 2, 2]);
        let many: Vec<f32> = (0..510u16).map(f32::from).collect();
        let found = thresholds(&many);
        assert_eq!((found.len(), found[0], found[253]), (254, 1.5, 507.5));
        // Bins of equal thresholds are one.
        let mut skewed = vec![0.0; 5000];
        skewed.extend((1..=300u16).map(f32::from));
        assert!(thresholds(&skewed).len() < 20);
    }
}
