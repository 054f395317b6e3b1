//! Corrections of rows: another class, none, the ignored samples, and the rows beside the model.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::Editor;
use super::moves::{MovingRow, Place, positions_at};
use crate::error::EditError;
use crate::heldout::sample::Role;
use crate::model::aside::Aside;

impl Editor<'_> {
    pub(super) fn relabel(&mut self, rows: &[u64], class: &str) -> Result<(), EditError> {
        if class.is_empty() {
            return Err(EditError::EmptyName);
        }
        let mut left: Vec<u64> = rows.to_vec();
        // Places change as classes end, so each group is looked up when it is its turn.
        while !left.is_empty() {
            let found = self.find(&left)?;
            let Some(&(from, _, _)) = found.first() else { break };
            let target = self.model.class_index(class).map(Place::Class);
            if target != Some(from) {
                self.change_sides(from, &positions_at(&found, from), class)?;
            }
            let rest = found.iter().filter(|(place, _, _)| *place != from);
            left = rest.map(|(_, _, source)| *source).collect();
        }
        self.found_class(rows, class)
    }

    pub(super) fn unlearn(&mut self, rows: &[u64]) -> Result<(), EditError> {
        let found = self.find(rows)?;
        let (mut gone, mut apart) = (Vec::new(), Vec::new());
        for class in 0..self.model.machine.classes.len() {
            let start = gone.len();
            gone.extend(self.take(Place::Class(class), &positions_at(&found, Place::Class(class))));
            apart.push(start..gone.len());
        }
        gone.extend(self.take(Place::Ignored, &positions_at(&found, Place::Ignored)));
        let apart = self.end_empty_classes(apart);
        self.lose_negatives(&gone, apart)
    }

    pub(super) fn set_aside(&mut self, rows: &[u64]) -> Result<(), EditError> {
        let found = self.find(rows)?;
        let strangers = positions_at(&found, Place::Ignored);
        if !strangers.is_empty() {
            let rows = strangers.iter().map(|&at| self.model.machine.ignored.sources[at]).collect();
            return Err(EditError::Strangers { rows });
        }
        let denied = found.iter().filter(|(place, _, _)| matches!(place, Place::Denied(_)));
        let denied: Vec<u64> = denied.map(|(_, _, source)| *source).collect();
        if !denied.is_empty() {
            return Err(EditError::Denials { rows: denied });
        }
        let d = self.model.machine.dimensions;
        let aside = found.iter().filter_map(|(place, at, source)| match place {
            Place::Class(class) => {
                let class = &self.model.machine.classes[*class];
                let vector = class.vectors[at * d..(at + 1) * d].to_vec();
                Some(Aside { class: class.name.clone(), source: *source, vector })
            }
            Place::Ignored | Place::Denied(_) => None,
        });
        let aside: Vec<Aside> = aside.collect();
        Arc::make_mut(&mut self.model.ledger.aside).extend(aside);
        self.held_out.set_aside = true;
        self.unlearn(rows)
    }

    pub(super) fn ignore(&mut self, rows: &[u64]) -> Result<(), EditError> {
        let found = self.find(rows)?;
        for class in 0..self.model.machine.classes.len() {
            let positions = positions_at(&found, Place::Class(class));
            let rows = self.take(Place::Class(class), &positions);
            let count = rows.len();
            let apart = self.concerning(class, count);
            self.gain_negatives(&rows, apart)?;
            self.become_ignored(&rows);
        }
        let mut others = self.take_held_out(rows)?;
        for class in 0..self.model.machine.classes.len() {
            others.extend(self.take(Place::Denied(class), &positions_at(&found, Place::Denied(class))));
        }
        if !others.is_empty() {
            let everyone = vec![0..0; self.model.machine.classes.len()];
            self.gain_negatives(&others, everyone)?;
            self.become_ignored(&others);
        }
        self.end_empty_classes(vec![(); self.model.machine.classes.len()]);
        Ok(())
    }

    pub(super) fn restore(&mut self, rows: &[u64]) -> Result<(), EditError> {
        if rows.is_empty() {
            return Err(EditError::NoRows);
        }
        let asked: HashSet<u64> = rows.iter().copied().collect();
        let (back, stay): (Vec<Aside>, Vec<Aside>) =
            self.model.ledger.aside.iter().cloned().partition(|row| asked.contains(&row.source));
        let there: HashSet<u64> = back.iter().map(|row| row.source).collect();
        let held_out: HashSet<u64> = match &self.model.held.sample {
            Some(sample) => {
                let aside = sample.positions(|role| role == Role::Aside);
                aside.into_iter().map(|at| sample.sources[at]).filter(|row| asked.contains(row)).collect()
            }
            None => HashSet::new(),
        };
        let is_missing = |row: &u64| !there.contains(row) && !held_out.contains(row);
        let missing: Vec<u64> = rows.iter().copied().filter(is_missing).collect();
        if !missing.is_empty() {
            return Err(EditError::NotAside { rows: missing });
        }
        self.model.ledger.aside = Arc::new(stay);
        self.report.rows += held_out.len();
        self.held_out.restored = held_out;
        let mut names: Vec<&str> = back.iter().map(|row| &row.class[..]).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let rows = back.iter().filter(|row| row.class == name);
            let rows: Vec<MovingRow> =
                rows.map(|row| MovingRow { vector: row.vector.clone(), source: row.source }).collect();
            self.join(name, &rows)?;
        }
        Ok(())
    }

    /// Adds rows that are in no place to a class.
    pub(super) fn join(&mut self, class: &str, rows: &[MovingRow]) -> Result<(), EditError> {
        let class = self.class_or_new(class);
        let mut apart = vec![0..0; self.model.machine.classes.len()];
        apart[class] = 0..rows.len();
        self.report.rows += rows.len();
        self.gain_negatives(rows, apart)?;
        Ok(self.add_to_class(class, rows)?)
    }

    /// Moves rows of one place to a class.
    pub(super) fn change_sides(
        &mut self,
        from: Place,
        positions: &[usize],
        class: &str,
    ) -> Result<(), EditError> {
        let rows = self.take(from, positions);
        if let Place::Denied(_) = from {
            // No tail that is kept has it yet.
            self.report.rows -= rows.len();
            return self.join(class, &rows);
        }
        if let Some(into) = self.model.class_index(class) {
            let apart = self.concerning(into, rows.len());
            self.lose_negatives(&rows, apart)?;
        }
        if let Place::Class(from) = from {
            let apart = self.concerning(from, rows.len());
            self.gain_negatives(&rows, apart)?;
        }
        self.end_empty_classes(vec![(); self.model.machine.classes.len()]);
        let into = self.class_or_new(class);
        Ok(self.add_to_class(into, &rows)?)
    }

    /// By class, which of `count` rows do not concern it where they concern one alone.
    pub(super) fn concerning(&self, class: usize, count: usize) -> Vec<Range<usize>> {
        (0..self.model.machine.classes.len())
            .map(|other| if other == class { 0..0 } else { 0..count })
            .collect()
    }
}
