//! Corrections: classes renamed, merged and split, rows relabelled, unlearned, ignored, set aside and brought back, vectors denied of a class.
//!
//! With every point kept (cover threshold 1), whole tails, a tail size given as a count and no whitening, standardising or
//! smoothing, an edit gives the very Psi-models of a fit to the corrected rows. Otherwise it is exact as far as the model
//! remembers: rows that the cover dropped are not there to be moved, and a row that changes sides measures its own margins
//! against what the model holds.

mod deny;
mod follow;
mod moves;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::EditError;
use crate::heldout::sample::Role;
use crate::machine::class::ClassModel;
use crate::machine::lookup::Cache;
use crate::machine::margin_columns::LayoutBefore;
use crate::model::Evm;
use crate::model::aside::Aside;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;
use moves::{MovingRow, Place, positions_at};

/// A correction. Rows are given by their source, counted from 0 over all rows ever given to the model
/// ([`Evm::sources_with_id`], [`Evm::sources_with_number`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Edit {
    /// Another name for a class. Nothing else changes.
    Rename {
        /// The class.
        class: String,
        /// Its new name.
        to: String,
    },
    /// Two classes become one.
    Merge {
        /// The class that ends.
        class: String,
        /// The class that takes its rows.
        into: String,
    },
    /// Some rows of a class become a class of their own.
    Split {
        /// The class.
        class: String,
        /// Rows that leave it.
        rows: Vec<u64>,
        /// Name of the new class.
        into: String,
    },
    /// Rows get another label, of a class that is there or of a new one. Ignored samples and denials may be among them.
    Relabel {
        /// The rows.
        rows: Vec<u64>,
        /// Their class from now on.
        class: String,
    },
    /// Rows are taken out as if they had never been there, with the margins that they gave to others. A denial ([`Evm::deny`]) is withdrawn by it.
    Unlearn {
        /// The rows.
        rows: Vec<u64>,
    },
    /// Rows of classes become ignored samples.
    Ignore {
        /// The rows.
        rows: Vec<u64>,
    },
    /// Rows are taken out as by [`Unlearn`](Self::Unlearn), and kept beside the model.
    SetAside {
        /// The rows.
        rows: Vec<u64>,
    },
    /// Rows that were set aside come back.
    Restore {
        /// The rows.
        rows: Vec<u64>,
    },
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct EditReport {
    /// Rows that moved, came or went.
    pub rows: usize,
    /// Other extreme vectors whose Psi-model was fitted again.
    pub refitted: usize,
    /// Classes that are new.
    pub new_classes: Vec<String>,
    /// Classes that ended.
    pub ended_classes: Vec<String>,
    /// Extreme vectors in the model now.
    pub extreme_vectors: usize,
    /// Whether the threshold was set anew: as soon as one row in a hundred changed since it was set last, an extreme vector counting for
    /// the rows that it covers, or if a class came or went.
    pub recalibrated: bool,
}

/// # Correct
impl Evm {
    /// Makes a correction. On an error the model is as it was.
    ///
    /// Costs the distances of the rows that change to all extreme vectors; and for each extreme vector that loses a margin, its
    /// distances to all.
    ///
    /// ```
    /// # use evmachine::{Edit, Evm, Features, Labels, Params, TailSize};
    /// let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// let all = Params { tail_size: TailSize::Count(3), cover_threshold: 1.0, ..Params::paper() };
    /// let wrong = Labels::new(["low", "low", "high", "high", "high", "high"])?;
    /// let (mut evm, _) = Evm::fit(&all, &features, &wrong)?;
    /// evm.edit(&Edit::Relabel { rows: vec![2], class: "low".to_owned() })?;
    ///
    /// let right = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// assert!(evm == Evm::fit(&all, &features, &right)?.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit(&mut self, edit: &Edit) -> Result<EditReport, EditError> {
        self.edit_with(&Run::new(), edit)
    }

    /// As [`edit`](Self::edit), watched and sized by `run`.
    pub fn edit_with(&mut self, run: &Run<'_>, edit: &Edit) -> Result<EditReport, EditError> {
        let (model, report) = self.edited_with(run, edit)?;
        *self = model;
        Ok(report)
    }

    /// The model that [`edit_with`](Self::edit_with) would make of this one, which stays as it is.
    pub fn edited(&self, edit: &Edit) -> Result<(Self, EditReport), EditError> {
        self.edited_with(&Run::new(), edit)
    }

    /// As [`edited`](Self::edited), watched and sized by `run`.
    pub fn edited_with(&self, run: &Run<'_>, edit: &Edit) -> Result<(Self, EditReport), EditError> {
        let mut editor = Editor::new(run, self);
        match edit {
            Edit::Rename { class, to } => {
                editor.rename(class, to)?;
                editor.report.extreme_vectors = editor.model.extreme_vector_count();
                Ok((editor.model, editor.report))
            }
            Edit::Merge { class, into } => {
                let rows = editor.merge(class, into)?;
                editor.settle(self, &rows, Some(into))
            }
            Edit::Split { class, rows, into } => {
                editor.split(class, rows, into)?;
                editor.settle(self, rows, Some(into))
            }
            Edit::Relabel { rows, class } => {
                editor.relabel(rows, class)?;
                editor.settle(self, rows, Some(class))
            }
            Edit::Unlearn { rows } => {
                let rows = &editor.withdraw(self, rows)?[..];
                if rows.is_empty() {
                    // Nothing but Psi-models rests on a denial.
                    editor.report.extreme_vectors = editor.model.extreme_vector_count();
                    return Ok((editor.model, editor.report));
                }
                editor.unlearn(rows)?;
                editor.settle(self, rows, None)
            }
            Edit::SetAside { rows } => {
                editor.set_aside(rows)?;
                editor.settle(self, rows, None)
            }
            Edit::Ignore { rows } => {
                editor.ignore(rows)?;
                editor.settle(self, rows, None)
            }
            Edit::Restore { rows } => {
                editor.restore(rows)?;
                editor.settle(self, &[], None)
            }
        }
    }

    /// Adds samples that are no class: they stand in the tails of all classes, are never answered, and a query nearest to one
    /// of them is unknown. On an error the model is as it was.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let (mut evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// let stranger = Features::new(vec![0.6], 1)?;
    /// assert!(evm.decide(&stranger)?[0].class().is_some());
    /// evm.ignore(&stranger)?;
    /// assert_eq!(evm.decide(&stranger)?[0].class(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ignore(&mut self, features: &Features<'_>) -> Result<EditReport, EditError> {
        self.ignore_with(&Run::new(), features)
    }

    /// As [`ignore`](Self::ignore), watched and sized by `run`.
    pub fn ignore_with(&mut self, run: &Run<'_>, features: &Features<'_>) -> Result<EditReport, EditError> {
        if features.rows() == 0 {
            return Err(EditError::NoRows);
        }
        let mut editor = Editor::new(run, self);
        let points = editor.model.machine.query_points(features)?;
        let all: Vec<usize> = (0..points.len()).collect();
        let first = editor.model.machine.points_seen;
        let rows: Vec<MovingRow> = points
            .gather(&all)
            .chunks_exact(self.machine.dimensions)
            .zip(first..)
            .map(|(vector, source)| MovingRow { vector: vector.to_vec(), source })
            .collect();
        editor.model.machine.points_seen += rows.len() as u64;
        editor.report.rows = rows.len();
        let everyone = vec![0..0; editor.model.machine.classes.len()];
        editor.gain_negatives(&rows, everyone)?;
        editor.become_ignored(&rows);
        let (model, report) = editor.settle(self, &[], None)?;
        *self = model;
        Ok(report)
    }
}

struct Editor<'a> {
    run: &'a Run<'a>,
    model: Evm,
    /// Until a row joins a class.
    laid: Option<LayoutBefore<'a>>,
    report: EditReport,
    /// What becomes of rows that were held out of training.
    held_out: HeldOut,
}

/// Rows of an edit that the model never learned, because its threshold is set on them.
#[derive(Default)]
struct HeldOut {
    /// Those that are learned or ignored from now on.
    leave: HashSet<u64>,
    /// Whether those of the edit that lose their class are set aside.
    set_aside: bool,
    /// Those that come back.
    restored: HashSet<u64>,
    /// The class whose rows go with those of the edit.
    merged: Option<String>,
}

impl<'a> Editor<'a> {
    fn new(run: &'a Run<'a>, before: &'a Evm) -> Self {
        let mut model = before.clone();
        model.machine.cache = Cache::default();
        Self {
            run,
            model,
            laid: Some(LayoutBefore::new(&before.machine)),
            report: EditReport::default(),
            held_out: HeldOut::default(),
        }
    }

    fn rename(&mut self, class: &str, to: &str) -> Result<(), EditError> {
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

    fn rename_aside(&mut self, class: &str, to: &str) {
        for row in Arc::make_mut(&mut self.model.ledger.aside).iter_mut().filter(|row| row.class == class) {
            to.clone_into(&mut row.class);
        }
    }

    /// Returns the rows that moved.
    fn merge(&mut self, class: &str, into: &str) -> Result<Vec<u64>, EditError> {
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

    fn split(&mut self, class: &str, rows: &[u64], into: &str) -> Result<(), EditError> {
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

    fn relabel(&mut self, rows: &[u64], class: &str) -> Result<(), EditError> {
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

    fn unlearn(&mut self, rows: &[u64]) -> Result<(), EditError> {
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

    fn set_aside(&mut self, rows: &[u64]) -> Result<(), EditError> {
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

    fn ignore(&mut self, rows: &[u64]) -> Result<(), EditError> {
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

    fn restore(&mut self, rows: &[u64]) -> Result<(), EditError> {
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
    fn join(&mut self, class: &str, rows: &[MovingRow]) -> Result<(), EditError> {
        let class = self.class_or_new(class);
        let mut apart = vec![0..0; self.model.machine.classes.len()];
        apart[class] = 0..rows.len();
        self.report.rows += rows.len();
        self.gain_negatives(rows, apart)?;
        Ok(self.add_to_class(class, rows)?)
    }

    /// Moves rows of one place to a class.
    fn change_sides(&mut self, from: Place, positions: &[usize], class: &str) -> Result<(), EditError> {
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

    fn class(&self, name: &str) -> Result<usize, EditError> {
        let missing = || EditError::UnknownClass { name: name.to_owned(), known: self.model.class_names() };
        self.model.class_index(name).ok_or_else(missing)
    }

    fn class_or_new(&mut self, name: &str) -> usize {
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

    /// Where each of the rows is, with its position there, in order of place and position. Rows that were held out of training are in no
    /// such place.
    fn find(&self, rows: &[u64]) -> Result<Vec<(Place, usize, u64)>, EditError> {
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
    fn held_out_rows(&self, rows: &[u64], wanted: impl Fn(usize) -> bool) -> Vec<u64> {
        let Some(sample) = &self.model.held.sample else { return Vec::new() };
        let asked: HashSet<u64> = rows.iter().copied().collect();
        let held = sample.positions(|role| matches!(role, Role::Held | Role::Idle)).into_iter();
        held.filter(|&at| asked.contains(&sample.sources[at]) && wanted(sample.classes[at] as usize))
            .map(|at| sample.sources[at])
            .collect()
    }

    /// Takes rows that were held out of training as ones to be learned or ignored.
    fn take_held_out(&mut self, rows: &[u64]) -> Result<Vec<MovingRow>, EditError> {
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
    fn found_class(&mut self, rows: &[u64], class: &str) -> Result<(), EditError> {
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

    /// By class, which of `count` rows do not concern it where they concern one alone.
    fn concerning(&self, class: usize, count: usize) -> Vec<Range<usize>> {
        (0..self.model.machine.classes.len())
            .map(|other| if other == class { 0..0 } else { 0..count })
            .collect()
    }

    /// Brings everything beside the extreme vectors up to rows that went to `class`, or to no class.
    fn settle(
        mut self,
        before: &Evm,
        rows: &[u64],
        class: Option<&str>,
    ) -> Result<(Evm, EditReport), EditError> {
        if self.model.machine.classes.is_empty() {
            return Err(EditError::LastClass);
        }
        self.report.rows += self.held_out_rows(rows, |_| true).len();
        if self.report.rows == 0 {
            self.report.extreme_vectors = before.extreme_vector_count();
            return Ok((before.clone(), self.report));
        }
        if self.model.is_alone() {
            self.model.machine.be_alone(self.run)?;
        }
        self.model.machine.measure_if_needed(self.run)?;
        self.model.machine.cache = Cache::default();
        self.follow(before, rows, class)?;
        self.report.extreme_vectors = self.model.extreme_vector_count();
        Ok((self.model, self.report))
    }
}
