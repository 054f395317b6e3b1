//! Where the rows of an edit are: in the model, or among those that were held out of training.

use std::collections::HashSet;

use super::Editor;
use super::moves::{MovingRow, Place};
use crate::error::EditError;
use crate::heldout::sample::Role;

impl Editor<'_> {
    /// Where each of the rows is, with its position there, in order of place and position. Rows that were held out of training are in no
    /// such place.
    pub(super) fn find(&self, rows: &[u64]) -> Result<Vec<(Place, usize, u64)>, EditError> {
        if rows.is_empty() {
            return Err(EditError::NoRows);
        }
        let seen = self.model.machine.points_seen;
        let never: Vec<u64> = rows.iter().copied().filter(|&row| row >= seen).collect();
        if !never.is_empty() {
            return Err(EditError::NeverGiven { rows: never, seen });
        }
        let asked: HashSet<u64> = rows.iter().copied().collect();
        let classes = self.model.machine.classes.iter().enumerate();
        let lists = classes
            .map(|(class, model)| (Place::Class(class), &model.sources))
            .chain(std::iter::once((Place::Ignored, &self.model.machine.ignored.sources)));
        let denied = self.model.machine.classes.iter().enumerate();
        let denied = denied.map(|(class, model)| (Place::Denied(class), &model.denied.sources));
        let lists = lists.chain(denied);
        let found: Vec<(Place, usize, u64)> = lists
            .flat_map(|(place, sources)| {
                sources.iter().enumerate().map(move |(position, &source)| (place, position, source))
            })
            .filter(|(_, _, source)| asked.contains(source))
            .collect();
        let held_out = self.held_out_rows(rows, |_| true);
        if found.len() + held_out.len() < asked.len() {
            let there = found.iter().map(|(_, _, source)| *source);
            let there: HashSet<u64> = there.chain(held_out).collect();
            let mut missing: Vec<u64> = asked.difference(&there).copied().collect();
            missing.sort_unstable();
            return Err(EditError::NotHeld { missing, asked: asked.len() });
        }
        Ok(found)
    }

    /// Of the rows, those that were held out of training, of classes that are wanted.
    pub(super) fn held_out_rows(&self, rows: &[u64], wanted: impl Fn(usize) -> bool) -> Vec<u64> {
        let Some(sample) = &self.model.held.sample else { return Vec::new() };
        let asked: HashSet<u64> = rows.iter().copied().collect();
        let held = sample.positions(|role| matches!(role, Role::Held | Role::Idle)).into_iter();
        held.filter(|&at| asked.contains(&sample.sources[at]) && wanted(sample.classes[at] as usize))
            .map(|at| sample.sources[at])
            .collect()
    }

    /// Takes rows that were held out of training as ones to be learned or ignored.
    pub(super) fn take_held_out(&mut self, rows: &[u64]) -> Result<Vec<MovingRow>, EditError> {
        let sources = self.held_out_rows(rows, |_| true);
        let Some(sample) = self.model.held.sample.clone().filter(|_| !sources.is_empty()) else {
            return Ok(Vec::new());
        };
        let at: Vec<usize> = (0..sample.len()).filter(|&at| sources.contains(&sample.sources[at])).collect();
        let features = sample.features().select(&at);
        let points = self.model.machine.query_points(&features)?;
        let vectors = points.gather(&(0..at.len()).collect::<Vec<_>>());
        self.held_out.leave.extend(&sources);
        let rows = vectors.chunks_exact(self.model.machine.dimensions).zip(&at);
        Ok(rows
            .map(|(vector, &at)| MovingRow { vector: vector.to_vec(), source: sample.sources[at] })
            .collect())
    }

    /// Has rows that were held out of training learned where they are the first of their class.
    pub(super) fn found_class(&mut self, rows: &[u64], class: &str) -> Result<(), EditError> {
        if self.model.class_index(class).is_some() {
            return Ok(());
        }
        let rows = self.take_held_out(rows)?;
        if rows.is_empty() {
            return Ok(());
        }
        self.join(class, &rows)?;
        self.report.rows -= rows.len();
        Ok(())
    }
}
