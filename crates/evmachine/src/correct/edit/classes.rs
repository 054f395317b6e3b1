//! Corrections of whole classes: another name, two that become one, one that becomes two.

use std::sync::Arc;

use super::Editor;
use super::moves::{Place, positions_at};
use crate::error::EditError;
use crate::machine::class::ClassModel;
use crate::machine::lookup::Cache;
use crate::machine::margin_columns::LayoutBefore;

impl Editor<'_> {
    pub(super) fn rename(&mut self, class: &str, to: &str) -> Result<(), EditError> {
        let at = self.class(class)?;
        if to.is_empty() {
            return Err(EditError::EmptyName);
        }
        if self.model.class_index(to).is_some_and(|other| other != at) {
            return Err(EditError::NameTaken { name: to.to_owned() });
        }
        let name = std::mem::replace(&mut self.model.machine.classes[at].name, to.to_owned());
        self.rename_aside(&name, to);
        if let Some(witnesses) = &mut self.model.witnesses
            && let Some(logits) = &mut Arc::make_mut(witnesses).voices.logits
        {
            to.clone_into(&mut logits.machine.classes[at].name);
        }
        Ok(())
    }

    pub(super) fn rename_aside(&mut self, class: &str, to: &str) {
        for row in Arc::make_mut(&mut self.model.ledger.aside).iter_mut().filter(|row| row.class == class) {
            to.clone_into(&mut row.class);
        }
    }

    /// Returns the rows that moved.
    pub(super) fn merge(&mut self, class: &str, into: &str) -> Result<Vec<u64>, EditError> {
        let (from, into) = (self.class(class)?, self.class(into)?);
        if from == into {
            return Err(EditError::SameClass { name: class.to_owned() });
        }
        let ClassModel { name: old, sources, points_seen, denied, .. } =
            self.model.machine.classes[from].clone();
        let name = self.model.machine.classes[into].name.clone();
        self.change_sides(Place::Class(from), &(0..sources.len()).collect::<Vec<_>>(), &name)?;
        let into = self.class(&name)?;
        let own = &mut self.model.machine.classes[into];
        own.points_seen += points_seen - sources.len() as u64;
        if !denied.is_empty() {
            // Who is not the one is not the two who are one.
            let all = Arc::make_mut(&mut own.denied);
            all.vectors.extend(&denied.vectors);
            all.sources.extend(&denied.sources);
        }
        self.rename_aside(&old, &name);
        self.held_out.merged = Some(old);
        Ok(sources)
    }

    pub(super) fn split(&mut self, class: &str, rows: &[u64], into: &str) -> Result<(), EditError> {
        let from = self.class(class)?;
        if into.is_empty() {
            return Err(EditError::EmptyName);
        }
        if self.model.class_index(into).is_some() {
            return Err(EditError::NameTaken { name: into.to_owned() });
        }
        let found = self.find(rows)?;
        let others = found.iter().filter(|(place, _, _)| *place != Place::Class(from));
        let mut others: Vec<u64> = others.map(|(_, _, source)| *source).collect();
        others.extend(self.held_out_rows(rows, |class| class != from));
        if !others.is_empty() {
            return Err(EditError::OtherClass { rows: others, class: class.to_owned() });
        }
        if found.len() == self.model.machine.classes[from].len() {
            return Err(EditError::NothingLeft { class: class.to_owned() });
        }
        if !found.is_empty() {
            self.change_sides(Place::Class(from), &positions_at(&found, Place::Class(from)), into)?;
        }
        self.found_class(rows, into)
    }

    pub(super) fn class(&self, name: &str) -> Result<usize, EditError> {
        let missing = || EditError::UnknownClass { name: name.to_owned(), known: self.model.class_names() };
        self.model.class_index(name).ok_or_else(missing)
    }

    pub(super) fn class_or_new(&mut self, name: &str) -> usize {
        if let Some(class) = self.model.class_index(name) {
            return class;
        }
        self.report.new_classes.push(name.to_owned());
        self.model.machine.classes.push(ClassModel {
            name: name.to_owned(),
            tail_size: 1,
            ..ClassModel::default()
        });
        self.laid.iter_mut().for_each(LayoutBefore::begins);
        self.model.machine.cache = Cache::default();
        self.model.machine.classes.len() - 1
    }
}
