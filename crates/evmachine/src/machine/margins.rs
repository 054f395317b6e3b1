//! What rows that change sides do to the tails of the others.
//!
//! A row of a class stops being a negative of it, and becomes one of the class that it leaves. With whole tails both are exact:
//! what is lost is taken out of a tail and filled up from beyond its end, what is gained is merged into it.

use std::ops::Range;

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::lookup::Cache;
use crate::machine::margin_columns::{LayoutBefore, MarginColumns, remove_each};
use crate::machine::refit::{Change, Old, apply};
use crate::params::{Refit, TailMemory};
use evmachine_engine::distance::{self, Columns};
use evmachine_engine::points::Points;
use evmachine_engine::psi::weibull::Workspace;
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::{Against, Problem, Rows};

/// Rows that are not, or not yet, where they belong in the model.
pub(crate) struct Moving<'a> {
    columns: Box<dyn Columns>,
    vectors: &'a [f32],
    /// By class of the model, which of the rows do not concern it.
    apart: Vec<Range<usize>>,
}

impl<'a> Moving<'a> {
    /// Rows, ready for the metric, and by class which of them do not concern it.
    pub(crate) fn new(model: &Machine, vectors: &'a [f32], apart: Vec<Range<usize>>) -> Self {
        let points = Points::ready(vectors, model.dimensions);
        let all: Vec<usize> = (0..points.len()).collect();
        Self { columns: distance::columns(&model.params.metric, &points, &all), vectors, apart }
    }

    fn against(&self) -> Against<'_> {
        Against { columns: self.columns.as_ref(), own: &self.apart }
    }

    pub(super) fn points(&self, dimensions: usize) -> Points<'a> {
        Points::ready(self.vectors, dimensions)
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether a row concerns a class.
    pub(super) fn concerns(&self, row: usize, class: u32) -> bool {
        !self.apart[class as usize].contains(&row)
    }

    fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }
}

/// Takes the margins to rows that left out of all tails that they concern, and fits again what changed. Returns how many
/// that were.
pub(crate) fn lose(
    run: &Run<'_>,
    model: &mut Machine,
    laid: Option<&LayoutBefore<'_>>,
    gone: &Moving<'_>,
) -> Result<usize, RunError> {
    if model.params.refit == Refit::New || gone.is_empty() {
        return Ok(0);
    }
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();
    let old = Old::new(model, &sizes);
    let rows = concerned(&old, gone);
    let changes = if model.tail_memory == TailMemory::None {
        gathered(run, &old, &MarginColumns::new(model, laid), &rows)?
    } else {
        // The distances of one class are few, and no reason to pass over all of them.
        let many = 2 * rows.len() > old.all.len();
        let found: Vec<(usize, Vec<f32>)> = match laid.filter(|laid| many && laid.serves(gone, true)) {
            Some(laid) => {
                let mut found = laid.distances(run, &old, gone)?;
                old.fitted.iter().map(|&row| (row, std::mem::take(&mut found[row]))).collect()
            }
            None => rows.iter().copied().zip(distances_to(run, model, &old, &rows, gone)?).collect(),
        };
        let (hit, found): (Vec<usize>, Vec<Vec<f32>>) =
            found.into_iter().filter(|(_, found)| !found.is_empty()).unzip();
        if hit.is_empty() {
            return Ok(0);
        }
        let here = MarginColumns::new(model, laid);
        match model.tail_memory {
            TailMemory::Full => filled(run, &old, &here, &found, &hit)?,
            _ => gathered(run, &old, &here, &hit)?,
        }
    };
    drop(old);
    Ok(apply(model, changes))
}

/// Takes rows that came into all tails that they concern, and fits again what changed. Returns how many that were.
pub(crate) fn gain(
    run: &Run<'_>,
    model: &mut Machine,
    laid: Option<&LayoutBefore<'_>>,
    come: &Moving<'_>,
) -> Result<usize, RunError> {
    // What was guessed while a class was alone is no fit that could stand.
    let stands = model.params.refit == Refit::New && !model.is_guessed();
    if stands || come.is_empty() {
        return Ok(0);
    }
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();
    let old = Old::new(model, &sizes);
    let batch = [come.against()];
    let changes = if model.tail_memory == TailMemory::Full {
        let rows = if model.params.refit == Refit::All { old.fitted.clone() } else { concerned(&old, come) };
        match laid.filter(|laid| 2 * rows.len() > old.all.len() && laid.serves(come, false)) {
            Some(laid) => old.merged(run, &laid.distances(run, &old, come)?)?,
            None => old.measured(run, &rows, &batch)?,
        }
    } else {
        let here = MarginColumns::new(model, None);
        let mut here = here.against();
        here.push(come.against());
        if model.tail_memory == TailMemory::Max && model.params.refit == Refit::Affected {
            let affected = old.affected(run, &batch)?;
            old.gathered(run, &affected, &here)?
        } else {
            old.gathered(run, &old.fitted, &here)?
        }
    };
    drop(old);
    Ok(apply(model, changes))
}

/// Measures and fits extreme vectors, by their places among all, from nothing.
pub(crate) fn measure(
    run: &Run<'_>,
    model: &mut Machine,
    laid: Option<&LayoutBefore<'_>>,
    places: &[usize],
) -> Result<(), RunError> {
    model.cache = Cache::default();
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();
    let changes = gathered(run, &Old::new(model, &sizes), &MarginColumns::new(model, laid), places)?;
    apply(model, changes);
    Ok(())
}

/// Of all extreme vectors that have a fit of their own, those that one of the rows concerns.
fn concerned(old: &Old<'_>, moving: &Moving<'_>) -> Vec<usize> {
    let concerns = |row: &usize| moving.apart[old.classes[*row] as usize].len() < moving.columns.len();
    old.fitted.iter().copied().filter(concerns).collect()
}

/// Tails gathered anew for some of the extreme vectors.
fn gathered(
    run: &Run<'_>,
    old: &Old<'_>,
    here: &MarginColumns<'_>,
    some: &[usize],
) -> Result<Vec<Change>, RunError> {
    let changes = here.nearest(run, old, some, |position, tail, workspace: &mut Workspace| {
        old.change(some[position], tail, workspace)
    })?;
    Ok(changes.into_iter().flatten().collect())
}

/// For each of the rows, its distances to those gone that lie within its tail, sorted.
fn distances_to(
    run: &Run<'_>,
    model: &Machine,
    old: &Old<'_>,
    rows: &[usize],
    gone: &Moving<'_>,
) -> Result<Vec<Vec<f32>>, RunError> {
    let bounds = old.bounds_of(rows);
    let classes: Vec<u32> = rows.iter().map(|&row| old.classes[row]).collect();
    let points = old.points();
    let wanted = Rows::new(&points, rows, &classes).within(&bounds);
    let every = vec![gone.columns.len(); model.classes.len()];
    let against = [gone.against()];
    let problem = Problem::new((run, Stage::Refit), &model.params.metric, wanted, &against, &every);
    problem.tails(|_, found, (): &mut ()| found.to_vec())
}

/// The tails that were hit, without what was found and filled up from what is here.
fn filled(
    run: &Run<'_>,
    old: &Old<'_>,
    here: &MarginColumns<'_>,
    found: &[Vec<f32>],
    hit: &[usize],
) -> Result<Vec<Change>, RunError> {
    let finish = |position: usize, nearest: &[f32], workspace: &mut Workspace| {
        let row = hit[position];
        let size = old.sizes[old.classes[row] as usize];
        old.change(row, &without(old.tails[row], &found[position], nearest, size), workspace)
    };
    let changes = here.nearest(run, old, hit, finish)?;
    Ok(changes.into_iter().flatten().collect())
}

/// `tail` without one entry for each of `gone`, filled up to `size` with what of `nearest` lies beyond it. All are
/// sorted.
///
/// A tail of fewer than `size` entries held every negative already, so nothing lies beyond it.
fn without(tail: &[f32], gone: &[f32], nearest: &[f32], size: usize) -> Vec<f32> {
    let mut kept = Vec::new();
    remove_each(tail, gone, &mut kept);
    if let Some(&end) = tail.last()
        && tail.len() >= size
    {
        let ties = |values: &[f32]| values.iter().filter(|value| **value == end).count();
        let cut_off = ties(nearest).saturating_sub(ties(&kept));
        kept.extend(std::iter::repeat_n(end, cut_off));
        kept.extend(nearest.iter().copied().filter(|value| *value > end));
        kept.truncate(size);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_gives_back_and_is_filled_up() {
        assert_eq!(without(&[1.0, 2.0, 3.0], &[2.0], &[1.0, 3.0, 5.0, 6.0], 3), [1.0, 3.0, 5.0]);
        assert_eq!(without(&[1.0, 2.0], &[2.0], &[1.0], 3), [1.0], "a short tail held everything");
        assert_eq!(
            without(&[1.0, 2.0], &[1.0], &[2.0, 2.0, 2.0], 2),
            [2.0, 2.0],
            "ties that were cut off come in"
        );
        assert_eq!(without(&[1.0, 1.0], &[1.0], &[1.0, 4.0], 2), [1.0, 4.0], "one entry goes for each");
    }
}
