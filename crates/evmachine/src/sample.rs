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

/// A row that may join a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRow {
    /// By which its values are asked for.
    pub(crate) index: usize,
    pub(crate) class: u32,
    pub(crate) source: u64,
    pub(crate) optimism: f64,
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
    /// first, then by a hash of their number. `values` gives the values of a row that is kept.
    pub(crate) fn extend<'a>(
        &mut self,
        rows: impl Iterator<Item = NewRow>,
        values: impl Fn(usize) -> &'a [f32],
        probe: bool,
        classes: usize,
    ) {
        let room = (MOST_VALUES / self.columns.max(1) / classes.max(1)).max(2);
        let most = Self::calibrating_of_each(classes).max(if probe { REHEARSED } else { 0 }).min(room);
        let mut new: Vec<Vec<NewRow>> = vec![Vec::new(); classes];
        for row in rows {
            new[row.class as usize].push(row);
        }
        let old = std::mem::replace(self, Self::empty(self.columns));
        let mut first = 0;
        for (class, rows) in new.iter_mut().enumerate() {
            let end = first + old.classes[first..].partition_point(|&other| other as usize <= class);
            for row in first..end.min(first + most) {
                self.push(old.row(row), class as u32, old.sources[row], old.optimism[row]);
            }
            rows.sort_by_key(|row| spread(row.source));
            for row in rows.iter().take(most.saturating_sub(end - first)) {
                self.push(values(row.index), row.class, row.source, row.optimism);
            }
            first = end;
        }
    }

    pub(crate) fn push(&mut self, values: &[f32], class: u32, source: u64, optimism: f64) {
        self.values.extend_from_slice(values);
        self.classes.push(class);
        self.sources.push(source);
        self.optimism.push(optimism);
    }

    pub(crate) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..(row + 1) * self.columns]
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
            let moved = self.classes[row] - u32::from(self.classes[row] as usize > class);
            kept.push(self.row(row), moved, self.sources[row], self.optimism[row]);
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
        let numbers: Vec<f32> = (0..10_000u16).map(f32::from).collect();
        let rows = |class: u32, from: usize| {
            (from..from + 600).map(move |index| NewRow { index, class, source: index as u64, optimism: 0.5 })
        };
        let value = |index: usize| &numbers[index..=index];
        sample.extend(rows(0, 0).chain(rows(1, 1000)), value, false, 2);
        assert_eq!(sample.len(), 1000);
        assert!(sample.sources.iter().zip(&sample.values).all(|(source, value)| *source as f32 == *value));
        let before = sample.sources.clone();
        sample.extend(rows(1, 5000), value, false, 2);
        assert_eq!(sample.sources, before);
        sample.extend(rows(2, 9000), value, false, 3);
        assert_eq!(sample.len(), 3 * 333);
        assert_eq!(sample.calibrating(3).len(), 999);
        let fewer = sample.without(1);
        assert_eq!((fewer.len(), fewer.classes.last()), (666, Some(&1)));
        assert_eq!(fewer.values.len(), 666);
        assert_eq!(sample.mean_optimism(), 0.5);
    }
}
