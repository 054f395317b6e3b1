//! A bounded sample of the rows learned from, as they came: what a model needs to fit its probe again and to set its
//! threshold anew when classes come and go.

use crate::features::Features;
use crate::holdout::spread;

/// Rows of each class that are kept where a probe has to be fitted again.
const REHEARSED: usize = 50;
/// Rows in all, of each class alike and five at least, that thresholds are set on.
const CALIBRATING: usize = 1_000;
/// Values that are kept, at most.
const MOST_VALUES: usize = 1 << 24;
/// The source of a row that was never learned from.
pub(crate) const NOT_LEARNED: u64 = u64::MAX;

/// Rows grouped by class, those that calibrate first in each.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sample {
    pub(crate) values: Vec<f32>,
    pub(crate) columns: usize,
    pub(crate) classes: Vec<u32>,
    /// Number of the training row, [`NOT_LEARNED`] for a row that was only calibrated on.
    pub(crate) sources: Vec<u64>,
    /// What the score of the row in the model, its own extreme vector left out, lacks to that of a row never seen.
    pub(crate) optimism: Vec<f64>,
}

impl Sample {
    pub(crate) fn empty(columns: usize) -> Self {
        Self { columns, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    /// Rows that calibrate, of a class among so many.
    pub(crate) fn calibrating_of_each(classes: usize) -> usize {
        (CALIBRATING / classes.max(1)).max(5)
    }

    /// Adds rows, and keeps as many of each class as a model with or without a probe needs: those that are there longest
    /// first, then by a hash of their number.
    pub(crate) fn extend(
        &mut self,
        rows: impl Iterator<Item = (Vec<f32>, u32, u64, f64)>,
        probe: bool,
        classes: usize,
    ) {
        let room = (MOST_VALUES / self.columns.max(1) / classes.max(1)).max(2);
        let most = Self::calibrating_of_each(classes).max(if probe { REHEARSED } else { 0 }).min(room);
        let mut by_class: Vec<Vec<(Vec<f32>, u64, f64)>> = vec![Vec::new(); classes];
        for row in 0..self.len() {
            let values = self.values[row * self.columns..(row + 1) * self.columns].to_vec();
            by_class[self.classes[row] as usize].push((values, self.sources[row], self.optimism[row]));
        }
        let old: Vec<usize> = by_class.iter().map(Vec::len).collect();
        for (values, class, source, optimism) in rows {
            by_class[class as usize].push((values, source, optimism));
        }
        *self = Self::empty(self.columns);
        for (class, (mut rows, old)) in by_class.into_iter().zip(old).enumerate() {
            rows[old..].sort_by_key(|row| spread(row.1));
            for (values, source, optimism) in rows.into_iter().take(most) {
                self.values.extend(values);
                self.classes.push(class as u32);
                self.sources.push(source);
                self.optimism.push(optimism);
            }
        }
    }

    /// Positions of the rows that calibrate.
    pub(crate) fn calibrating(&self, classes: usize) -> Vec<usize> {
        let most = Self::calibrating_of_each(classes);
        let mut seen = vec![0; classes];
        let first = |&row: &usize| {
            let seen = &mut seen[self.classes[row] as usize];
            *seen += 1;
            *seen <= most
        };
        (0..self.len()).filter(first).collect()
    }

    pub(crate) fn features(&self) -> Features<'_> {
        Features::checked_view(&self.values, self.columns)
    }

    /// Without the rows of a class; later classes move up.
    pub(crate) fn without(&self, class: usize) -> Self {
        let mut kept = Self::empty(self.columns);
        for row in (0..self.len()).filter(|&row| self.classes[row] as usize != class) {
            kept.values.extend(&self.values[row * self.columns..(row + 1) * self.columns]);
            kept.classes.push(self.classes[row] - u32::from(self.classes[row] as usize > class));
            kept.sources.push(self.sources[row]);
            kept.optimism.push(self.optimism[row]);
        }
        kept
    }

    /// The mean optimism of the rows that were learned from.
    pub(crate) fn mean_optimism(&self) -> f64 {
        let learned = self.sources.iter().zip(&self.optimism).filter(|(source, _)| **source != NOT_LEARNED);
        let (count, sum) = learned.fold((0usize, 0.0), |(count, sum), (_, value)| (count + 1, sum + value));
        if count == 0 { 0.0 } else { sum / count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_keeps_so_many_and_what_was_there_stays() {
        let mut sample = Sample::empty(1);
        let rows = |class: u32, from: u64| (from..from + 600).map(move |i| (vec![i as f32], class, i, 0.5));
        sample.extend(rows(0, 0).chain(rows(1, 1000)), false, 2);
        assert_eq!(sample.len(), 1000);
        let before = sample.sources.clone();
        sample.extend(rows(1, 5000), false, 2);
        assert_eq!(sample.sources, before);
        sample.extend(rows(2, 9000), false, 3);
        assert_eq!(sample.len(), 3 * 333);
        assert_eq!(sample.calibrating(3).len(), 999);
        let fewer = sample.without(1);
        assert_eq!((fewer.len(), fewer.classes.last()), (666, Some(&1)));
        assert_eq!(fewer.values.len(), 666);
        assert_eq!(sample.mean_optimism(), 0.5);
    }
}
