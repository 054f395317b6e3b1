//! Rows that a model keeps as they came: those that its threshold is set on, and some to fit its probe again from.

use evmachine_engine::features::Features;
use evmachine_engine::math::spread;

/// For what learned rows are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rehearsal {
    /// No witness learns again.
    Nothing,
    /// A probe is fitted again.
    Probe,
    /// A forest is grown again, which needs more of them.
    Forest,
}

impl Rehearsal {
    /// Rows of each class that are kept, at most.
    fn rows(self) -> usize {
        match self {
            Rehearsal::Nothing => 0,
            Rehearsal::Probe => 50,
            Rehearsal::Forest => 1_000,
        }
    }
}

/// Values of learned rows that are kept, at most.
const MOST_VALUES: usize = 1 << 24;
/// The source of a row that is no training row.
pub(crate) const NOT_LEARNED: u64 = u64::MAX;

/// What a row of the sample is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Learned; the probe is fitted on it again.
    Rehearsed,
    /// Learned, and calibrates by what a model without it said ([`Sample::optimism`]); the probe is fitted on it too.
    Folded,
    /// Held out of training: never learned, calibrates.
    Held,
    /// Given to calibrate on; not a training row.
    Fresh,
    /// Held out of training; fresh rows calibrate in its place.
    Idle,
    /// Held out of training, and set aside by a person.
    Aside,
}

impl Role {
    pub(crate) const ALL: [Role; 6] =
        [Role::Rehearsed, Role::Folded, Role::Held, Role::Fresh, Role::Idle, Role::Aside];

    pub(crate) fn is_learned(self) -> bool {
        matches!(self, Role::Rehearsed | Role::Folded)
    }

    /// Whether it is a training row that was held out for good.
    pub(crate) fn is_held_out(self) -> bool {
        matches!(self, Role::Held | Role::Idle | Role::Aside)
    }
}

/// Rows grouped by class. Columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sample {
    pub(crate) values: Vec<f32>,
    pub(crate) columns: usize,
    pub(crate) classes: Vec<u32>,
    /// Number of the training row; [`NOT_LEARNED`] for a fresh one.
    pub(crate) sources: Vec<u64>,
    pub(crate) roles: Vec<Role>,
    /// Of a folded row: what its score in the model, its own extreme vector left out, lacks to that of a row never seen. Else 0.
    pub(crate) optimism: Vec<f64>,
    /// How many queries a folded or a fresh row stands for.
    pub(crate) weight: f64,
    /// Values of rows that were given as strangers.
    pub(crate) strangers: Vec<f32>,
}

/// A row that may join a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRow {
    /// By which its values are asked for.
    pub(crate) index: usize,
    pub(crate) class: u32,
    pub(crate) source: u64,
    pub(crate) role: Role,
    pub(crate) optimism: f64,
}

impl NewRow {
    pub(crate) fn new(index: usize, class: u32, source: u64, role: Role) -> Self {
        Self { index, class, source, role, optimism: 0.0 }
    }
}

impl Sample {
    pub(crate) fn empty(columns: usize) -> Self {
        Self { columns, weight: 1.0, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    /// Adds rows: all that calibrate, and of those to rehearse as many as the witnesses of the model need of each class, those that
    /// are there longest first, then by a hash of their number. `values` gives the values of a row that is kept.
    pub(crate) fn extend<'a>(
        &mut self,
        rows: impl Iterator<Item = NewRow>,
        values: impl Fn(usize) -> &'a [f32],
        rehearsal: Rehearsal,
        classes: usize,
    ) {
        let room = (MOST_VALUES / self.columns.max(1) / classes.max(1)).max(2);
        let most = rehearsal.rows().min(room);
        let mut new: Vec<Vec<NewRow>> = vec![Vec::new(); classes];
        for row in rows {
            new[row.class as usize].push(row);
        }
        let old = self.take_rows();
        let mut first = 0;
        for (class, rows) in new.iter_mut().enumerate() {
            let end = first + old.classes[first..].partition_point(|&other| other as usize <= class);
            let mut learned = 0;
            let mut has_room = |role: Role| {
                learned += usize::from(role.is_learned());
                role != Role::Rehearsed || learned <= most
            };
            for row in (first..end).filter(|&row| has_room(old.roles[row])) {
                self.push(old.row(row), NewRow { class: class as u32, ..old.new_row(row) });
            }
            rows.sort_by_key(|row| (row.role == Role::Rehearsed, spread(row.source)));
            for row in rows.iter().filter(|row| has_room(row.role)) {
                self.push(values(row.index), *row);
            }
            first = end;
        }
    }

    /// Its rows; what it has beside them stays.
    pub(crate) fn take_rows(&mut self) -> Self {
        let empty = Self {
            weight: self.weight,
            strangers: std::mem::take(&mut self.strangers),
            ..Self::empty(self.columns)
        };
        std::mem::replace(self, empty)
    }

    pub(crate) fn push(&mut self, values: &[f32], row: NewRow) {
        self.values.extend_from_slice(values);
        self.classes.push(row.class);
        self.sources.push(row.source);
        self.roles.push(row.role);
        self.optimism.push(row.optimism);
    }

    pub(crate) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// A row as one that may join another sample.
    pub(crate) fn new_row(&self, row: usize) -> NewRow {
        NewRow {
            index: row,
            class: self.classes[row],
            source: self.sources[row],
            role: self.roles[row],
            optimism: self.optimism[row],
        }
    }

    /// Positions of the rows whose role is wanted.
    pub(crate) fn positions(&self, wanted: impl Fn(Role) -> bool) -> Vec<usize> {
        (0..self.len()).filter(|&row| wanted(self.roles[row])).collect()
    }

    pub(crate) fn features(&self) -> Features<'_> {
        Features::checked_view(&self.values, self.columns)
    }

    /// The rows with another class each, or without it where there is none.
    pub(crate) fn moved(&self, classes: usize, class_of: impl Fn(usize) -> Option<usize>) -> Self {
        let mut by_class: Vec<Vec<usize>> = vec![Vec::new(); classes];
        for row in 0..self.len() {
            if let Some(class) = class_of(row) {
                by_class[class].push(row);
            }
        }
        let mut moved =
            Self { weight: self.weight, strangers: self.strangers.clone(), ..Self::empty(self.columns) };
        for (class, rows) in by_class.iter().enumerate() {
            for &row in rows {
                moved.push(self.row(row), NewRow { class: class as u32, ..self.new_row(row) });
            }
        }
        moved
    }

    /// Without the rows of a class; later classes move up.
    pub(crate) fn without(&self, class: usize) -> Self {
        let classes = self.classes.last().map_or(0, |&last| last as usize + 1);
        self.moved(classes, |row| {
            let own = self.classes[row] as usize;
            (own != class).then(|| own - usize::from(own > class))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_rehearses_so_many_and_all_that_calibrate_stay() {
        let mut sample = Sample::empty(1);
        let numbers: Vec<f32> = (0..10_000u16).map(f32::from).collect();
        let rows = |class: u32, from: usize, role: Role| {
            (from..from + 600).map(move |index| NewRow::new(index, class, index as u64, role))
        };
        let value = |index: usize| &numbers[index..=index];
        let both = rows(0, 0, Role::Held).chain(rows(1, 1000, Role::Rehearsed));
        sample.extend(both, value, Rehearsal::Probe, 2);
        assert_eq!(sample.len(), 650);
        assert!(sample.sources.iter().zip(&sample.values).all(|(source, value)| *source as f32 == *value));
        let before = sample.sources.clone();
        sample.extend(rows(1, 5000, Role::Rehearsed), value, Rehearsal::Probe, 2);
        assert_eq!(sample.sources, before, "there is no room for more");
        sample.extend(rows(2, 9000, Role::Folded), value, Rehearsal::Probe, 3);
        assert_eq!(sample.len(), 1250);
        assert_eq!(sample.positions(|role| role != Role::Rehearsed).len(), 1200);
        let fewer = sample.without(1);
        assert_eq!((fewer.len(), fewer.classes.last()), (1200, Some(&1)));
        assert_eq!(fewer.values.len(), 1200);
        sample.extend(std::iter::empty(), value, Rehearsal::Nothing, 3);
        assert_eq!(sample.len(), 1200, "without a probe nothing is rehearsed");
    }
}
