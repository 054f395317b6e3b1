//! Tails that are found and fitted, by whichever executor the plan names.

use std::sync::Arc;

use super::executors::cells::Near;
use super::executors::stored::{Stored, Work};
use super::executors::{device, execute};
use super::memory::{TailMemory, remembered};
use super::merge::{Merging, merge_sorted};
use super::{Problem, Rows};
use crate::error::{RunError, TailError};
use crate::plan::{Executor, Plan};
use crate::psi::weibull::fit_tail;
use crate::psi::{FitRule, PsiModel};
use crate::scratch::Scratch;
use crate::search::{Search, TailRecall};

/// A fit, and what is remembered of its tail.
pub type Fit = (PsiModel, Arc<[f32]>);

/// What is fitted, and what is kept of the tails.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// What is fitted to each tail.
    pub rule: FitRule,
    /// What extreme vectors are to remember in the end.
    pub memory: TailMemory,
    /// Whether whole tails of all rows may be held until it is known which rows stay.
    pub may_keep: bool,
    /// By row, what it found already among all but the last that it is measured against; sorted.
    pub exchanged: Option<&'a [Vec<f32>]>,
}

/// Where whole tails are, if they are to be remembered.
pub enum Whole {
    /// With the fits, or nobody wants them.
    Kept,
    /// In the scratch of the run.
    Stored(Stored),
    /// Nowhere: they are measured again for the rows that stay.
    Measure,
}

/// Fits of all rows, and how they came about.
pub struct Fitted {
    /// How they were found.
    pub plan: Plan,
    /// By row.
    pub fits: Vec<Fit>,
    /// Where whole tails are.
    pub tails: Whole,
    /// What an approximate search found.
    pub recall: Option<TailRecall>,
}

impl Problem<'_> {
    /// Plans, finds and fits the tails of all rows, each of which has one.
    pub fn fitted(&self, wish: &Wish<'_>) -> Result<Fitted, TailError> {
        let itself = Problem { against: &self.against[self.against.len() - 1..], ..*self };
        if let (plan @ Plan { executor: Executor::Blocks { .. }, .. }, Some(scratch)) =
            (itself.plan(), self.run.store())
        {
            return Ok(self.fitted_in_blocks(scratch, plan, wish)?);
        }
        let problem = if wish.exchanged.is_some() { itself } else { *self };
        let memory = match wish.memory {
            TailMemory::Full if !wish.may_keep => TailMemory::Max,
            memory => memory,
        };
        let tails = || if memory == wish.memory { Whole::Kept } else { Whole::Measure };
        let exact = |plan: Plan, fits: Vec<Fit>| Fitted { plan, fits, tails: tails(), recall: None };
        let mut plan = problem.plan();
        if plan.executor == Executor::Device && wish.exchanged.is_none() {
            if let Some(fits) = device::fits(&problem, &wish.rule, memory)? {
                return Ok(exact(plan, fits));
            }
            plan = problem.plan_without_device();
        }
        let Rows { classes, .. } = self.rows;
        let fit = |row: usize, tail: &[f32], merging: &mut Merging| {
            let size = self.sizes[classes[row] as usize];
            let tail = match wish.exchanged.map(|exchanged| &exchanged[row][..]) {
                None => tail,
                Some(nearest) if merge_sorted(nearest, tail, size, &mut merging.merged) => &merging.merged,
                Some(nearest) => nearest,
            };
            (fit_tail(tail, &wish.rule, &mut merging.workspace), remembered(tail, size, memory))
        };
        match (plan.executor, self.search.recall()) {
            (Executor::Cells, Some(asked)) => {
                let near = Near::measured(&problem, asked)?;
                let fits = near.tails(fit)?;
                let whole = |row: usize, tail: &[f32]| fit(row, tail, &mut Merging::default()).0;
                let recall = near.recall(wish.rule.model, whole, |row| &fits[row].0);
                Ok(Fitted { recall, ..exact(plan, fits) })
            }
            _ => Ok(exact(plan, execute(&plan, &problem, fit)?)),
        }
    }

    /// As [`fitted`](Self::fitted), block by block in the scratch of the run, which has whatever there is: the search is exact.
    fn fitted_in_blocks(
        &self,
        scratch: &dyn Scratch,
        plan: Plan,
        wish: &Wish<'_>,
    ) -> Result<Fitted, RunError> {
        let problem = self.searched(Search::Exact);
        let work = Work { scratch, problem: &problem, rule: &wish.rule, memory: wish.memory };
        let mut stored = work.fits(&plan)?;
        let fits = std::mem::take(&mut stored.fits);
        Ok(Fitted { plan, fits, tails: Whole::Stored(stored), recall: None })
    }
}
