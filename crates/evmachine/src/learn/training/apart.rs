//! Classes left out in turn, to estimate how strangers score.

use std::sync::Arc;

use super::{Data, fit};
use crate::error::FitError;
use crate::heldout::calibration::Apart;
use crate::input::holdout::some_of;
use crate::model::Evm;
use crate::params::Params;
use crate::params::rejection::Rejection;

/// Models that are fitted, each without so many of the classes.
const GROUPS: usize = 5;
/// Rows that they learn from, at most: what is estimated hardly depends on more.
const MOST_ROWS: usize = 10_000;
/// Rows of left-out classes that each is asked about, at most.
const MOST_ASKED: usize = 2_000;
/// A model that lacks a class must have two others.
const LEAST_CLASSES: usize = 3;

impl Data<'_> {
    /// If the rule is a share of strangers, fits models without some of the classes, each class left out once, and keeps which p-values
    /// these give to the rows of the classes that they lack. Costs up to five fits of up to 10,000 rows.
    pub(super) fn leave_classes_out(&self, model: &mut Evm) -> Result<(), FitError> {
        let classes = self.class_count();
        let Rejection::FalseKnown(_) = model.machine.params.rejection_threshold else { return Ok(()) };
        if classes < LEAST_CLASSES || model.held.calibration.is_none() {
            return Ok(());
        }
        let rejection_threshold = Rejection::DEFAULT;
        let params = Params { rejection_threshold, confidence: 0.0, ..Params::clone(&model.machine.params) }
            .check()?;
        let run = &self.run.in_memory();
        let all: Vec<usize> = (0..self.labels.len()).collect();
        let some = some_of(&all, MOST_ROWS);
        let groups = GROUPS.min(classes);
        let mut apart = Vec::new();
        for group in 0..groups {
            let is_out = |row: &usize| self.labels.ids()[*row] as usize % groups == group;
            let (out, learned): (Vec<usize>, Vec<usize>) = some.iter().partition(|row| is_out(row));
            if out.is_empty() || learned.is_empty() {
                continue;
            }
            let (features, labels) = (self.features.select(&learned), self.labels.select(&learned));
            let (trial, _) = fit(run, params.clone(), &features, &labels, self.ignored)?;
            let asked = some_of(&out, MOST_ASKED);
            let weight = out.len() as f64 / asked.len() as f64;
            let decisions = trial.decide_with(run, &self.features.select(&asked))?;
            for (&row, decision) in asked.iter().zip(decisions) {
                if let Some(p_value) = decision.p_value() {
                    let (class, met) = (self.labels.ids()[row], trial.machine.classes.len() as u32);
                    apart.push(Apart { p_value, class, met, weight });
                }
            }
        }
        if let Some(calibration) = &mut model.held.calibration {
            Arc::make_mut(calibration).set_apart(apart);
        }
        model.set_thresholds();
        Ok(())
    }
}
