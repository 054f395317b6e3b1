//! Corrections: classes renamed, merged and split, rows relabelled, unlearned, ignored, set aside and brought back, vectors denied of a class.
//!
//! With every point kept (cover threshold 1), whole tails, a tail size given as a count and no whitening, standardising or
//! smoothing, an edit gives the very Psi-models of a fit to the corrected rows. Otherwise it is exact as far as the model
//! remembers: rows that the cover dropped are not there to be moved, and a row that changes sides measures its own margins
//! against what the model holds.

mod classes;
mod deny;
mod find;
mod follow;
mod moves;
mod rows;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::EditError;
use crate::machine::lookup::Cache;
use crate::machine::margin_columns::LayoutBefore;
use crate::model::Evm;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;
use moves::MovingRow;

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
