//! What new points do to the Psi-models that are in the model already.

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::class::ClassModel;
use crate::params::{Refit, TailMemory};
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::psi::weibull::{Workspace, fit_tail};
use evmachine_engine::psi::{FitStatus, PsiModel};
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::memory::OPEN_TAIL;
use evmachine_engine::tail::memory::remembered;
use evmachine_engine::tail::merge::{Merging, merge_sorted};
use evmachine_engine::tail::{Against, Problem, Rows};

/// The new state of an extreme vector.
pub(crate) struct Change {
    /// Among all of the model.
    pub(crate) row: usize,
    pub(crate) psi: PsiModel,
    /// As it is remembered.
    pub(crate) tail: Arc<[f32]>,
}

/// Takes the batch, the last of `against`, into the tails of the extreme vectors, fits again what changed, and
/// returns how many that were.
///
/// With full tails the merge is exact, and `found` may hold the distances of each extreme vector to the batch that lie
/// within its tail. Otherwise an affected tail is gathered anew, from the extreme vectors and
/// the batch.
pub(crate) fn refit(
    run: &Run<'_>,
    model: &mut Machine,
    against: &[Against<'_>],
    sizes: &[usize],
    found: Option<&[Vec<f32>]>,
) -> Result<usize, RunError> {
    // What was guessed while a class was alone is no fit that could stand.
    let stands = model.params.refit == Refit::New && !model.is_guessed();
    if stands || model.extreme_vector_count() == 0 {
        return Ok(0);
    }
    let old = Old::new(model, sizes);
    let batch = &against[against.len() - 1..];
    let changes = match model.tail_memory {
        TailMemory::Full => match found {
            Some(found) => old.merged(run, found)?,
            None => old.measured(run, &old.fitted, batch)?,
        },
        TailMemory::Max if model.params.refit == Refit::Affected => {
            let affected = old.affected(run, batch)?;
            old.gathered(run, &affected, against)?
        }
        TailMemory::Max | TailMemory::None => old.gathered(run, &old.fitted, against)?,
    };
    drop(old);
    Ok(apply(model, changes))
}

/// Puts the changes, in order of rows, into the model and returns how many there were.
pub(crate) fn apply(model: &mut Machine, changes: Vec<Change>) -> usize {
    let count = changes.len();
    let ranges = model.ranges();
    let mut changes = changes.into_iter().peekable();
    let classes = model.classes.iter_mut().zip(ranges).map(|(class, range)| {
        let own = std::iter::from_fn(|| changes.next_if(|change| range.contains(&change.row)));
        (class, range.start, own.collect())
    });
    let classes: Vec<(&mut ClassModel, usize, Vec<Change>)> = classes.collect();
    classes.into_par_iter().for_each(|(class, start, changes)| {
        for Change { row, psi, tail } in changes {
            (class.psi[row - start], class.tails[row - start]) = (psi, tail);
        }
    });
    count
}

/// The extreme vectors of a model, all in a row.
pub(crate) struct Old<'a> {
    model: &'a Machine,
    /// By class, tau.
    pub(crate) sizes: &'a [usize],
    pub(crate) all: Vec<usize>,
    /// Those that have a fit of their own.
    pub(crate) fitted: Vec<usize>,
    /// Class of each.
    pub(crate) classes: Vec<u32>,
    /// Remembered tail of each.
    pub(crate) tails: Vec<&'a [f32]>,
}

impl<'a> Old<'a> {
    pub(crate) fn new(model: &'a Machine, sizes: &'a [usize]) -> Self {
        let numbered = || (0u32..).zip(&model.classes);
        let fits = model.classes.iter().flat_map(|class| &class.psi).enumerate();
        Self {
            model,
            sizes,
            all: (0..model.extreme_vector_count()).collect(),
            fitted: fits.filter(|(_, psi)| psi.status != FitStatus::Pooled).map(|(row, _)| row).collect(),
            classes: numbered()
                .flat_map(|(number, class)| std::iter::repeat_n(number, class.len()))
                .collect(),
            tails: numbered().flat_map(|(_, class)| class.tails.iter().map(|tail| &**tail)).collect(),
        }
    }

    /// By class, the sources of its extreme vectors.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &'a [u64]> {
        self.model.classes.iter().map(|class| &class.sources[..])
    }

    pub(crate) fn points(&self) -> Points<'a> {
        self.model.points()
    }

    /// Largest ranks of interest: what lies beyond the end of a full tail cannot enter it.
    pub(crate) fn bounds_of(&self, some: &[usize]) -> Vec<f32> {
        let bound = |&row: &usize| {
            let (tail, class) = (self.tails[row], self.classes[row]);
            let full = self.model.tail_memory == TailMemory::Max || tail.len() >= self.sizes[class as usize];
            match tail.last() {
                Some(&largest) if full && largest < OPEN_TAIL => {
                    self.model.params.metric.largest_rank_within(largest).next_up()
                }
                _ => f32::INFINITY,
            }
        };
        some.par_iter().map(bound).collect()
    }

    pub(crate) fn metric(&self) -> &'a Metric {
        &self.model.params.metric
    }

    /// An extreme vector with another tail, which is sorted; `None` where that is empty.
    pub(crate) fn change(&self, row: usize, tail: &[f32], workspace: &mut Workspace) -> Option<Change> {
        let size = self.sizes[self.classes[row] as usize];
        (!tail.is_empty()).then(|| Change {
            row,
            psi: fit_tail(tail, &self.model.params.fit_rule(), workspace),
            tail: remembered(tail, size, self.model.tail_memory),
        })
    }

    /// Old tails merged with distances to the batch.
    pub(crate) fn merged(&self, run: &Run<'_>, found: &[Vec<f32>]) -> Result<Vec<Change>, RunError> {
        let meter = run.meter(Stage::Refit, self.fitted.len());
        let blocks: Result<Vec<Vec<Change>>, RunError> = self
            .fitted
            .par_chunks(run.block_rows(self.fitted.len()))
            .map(|rows| {
                meter.check()?;
                let mut merging = Merging::default();
                let merge = |&row: &usize| self.merge(row, &found[row], &mut merging);
                let changes = rows.iter().filter_map(merge).collect();
                meter.advance(rows.len())?;
                Ok(changes)
            })
            .collect();
        Ok(blocks?.into_iter().flatten().collect())
    }

    /// Old tails of some extreme vectors merged with the distances to the batch, which are measured first.
    pub(crate) fn measured(
        &self,
        run: &Run<'_>,
        some: &[usize],
        batch: &[Against<'_>],
    ) -> Result<Vec<Change>, RunError> {
        let classes: Vec<u32> = some.iter().map(|&row| self.classes[row]).collect();
        let (points, bounds) = (self.points(), self.bounds_of(some));
        let rows = Rows::new(&points, some, &classes).within(&bounds);
        let problem = Problem::new((run, Stage::Refit), &self.model.params.metric, rows, batch, self.sizes);
        let changes = problem.tails(|position: usize, found: &[f32], merging: &mut Merging| {
            self.merge(some[position], found, merging)
        })?;
        Ok(changes.into_iter().flatten().collect())
    }

    /// `None` where nothing changes.
    fn merge(&self, row: usize, found: &[f32], merging: &mut Merging) -> Option<Change> {
        let params = &self.model.params;
        let size = self.sizes[self.classes[row] as usize];
        let changed = merge_sorted(self.tails[row], found, size, &mut merging.merged);
        if !changed && params.refit != Refit::All {
            return None;
        }
        let tail = if changed { &merging.merged[..] } else { self.tails[row] };
        let psi = (!tail.is_empty()).then(|| fit_tail(tail, &params.fit_rule(), &mut merging.workspace))?;
        Some(Change { row, psi, tail: tail.into() })
    }

    /// The extreme vectors into whose tail a new negative falls.
    pub(crate) fn affected(&self, run: &Run<'_>, batch: &[Against<'_>]) -> Result<Vec<usize>, RunError> {
        let (points, bounds) = (self.points(), self.bounds_of(&self.fitted));
        let classes: Vec<u32> = self.fitted.iter().map(|&row| self.classes[row]).collect();
        let rows = Rows::new(&points, &self.fitted, &classes).within(&bounds);
        let nearest_alone = vec![1; self.sizes.len()];
        let metric = &self.model.params.metric;
        let finish = |position: usize, found: &[f32], (): &mut ()| {
            let largest = self.tails[self.fitted[position]].last();
            found.first().is_some_and(|nearest| largest.is_none_or(|largest| nearest < largest))
        };
        let hit = Problem::new((run, Stage::Refit), metric, rows, batch, &nearest_alone).tails(finish)?;
        Ok(self.fitted.iter().zip(hit).filter(|(_, hit)| *hit).map(|(&row, _)| row).collect())
    }

    /// Tails gathered anew for some of the extreme vectors.
    pub(crate) fn gathered(
        &self,
        run: &Run<'_>,
        some: &[usize],
        against: &[Against<'_>],
    ) -> Result<Vec<Change>, RunError> {
        let classes: Vec<u32> = some.iter().map(|&row| self.classes[row]).collect();
        let points = self.points();
        let rows = Rows::new(&points, some, &classes);
        let finish = |position: usize, tail: &[f32], workspace: &mut Workspace| {
            self.change(some[position], tail, workspace)
        };
        let problem = Problem::new((run, Stage::Refit), self.metric(), rows, against, self.sizes);
        let changes = problem.tails(finish)?;
        Ok(changes.into_iter().flatten().collect())
    }
}
