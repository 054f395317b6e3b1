//! What rows that change sides do to the tails of the others.
//!
//! A row of a class stops being a negative of it, and becomes one of the class that it leaves. With whole tails both are exact:
//! what is lost is taken out of a tail and filled up from beyond its end, what is gained is merged into it.

use std::ops::Range;
use std::sync::Arc;

use crate::distance::{self, Columns};
use crate::error::Halt;
use crate::model::{Cache, Evm};
use crate::params::{Refit, TailMemory};
use crate::points::Points;
use crate::progress::{Run, Stage};
use crate::refit::{Change, Old, apply};
use crate::tail::{Against, Problem, Rows};
use crate::weibull::{Workspace, fit_tail};

/// Rows that are not, or not yet, where they belong in the model.
pub(crate) struct Moving<'a> {
    columns: Box<dyn Columns>,
    vectors: &'a [f32],
    /// By class of the model, which of the rows do not concern it.
    apart: Vec<Range<usize>>,
}

impl<'a> Moving<'a> {
    /// Rows, ready for the metric, and by class which of them do not concern it.
    pub(crate) fn new(model: &Evm, vectors: &'a [f32], apart: Vec<Range<usize>>) -> Self {
        let points = Points::ready(vectors, model.dimensions);
        let all: Vec<usize> = (0..points.len()).collect();
        Self { columns: distance::columns(&model.params.metric, &points, &all), vectors, apart }
    }

    fn against(&self) -> Against<'_> {
        Against { columns: self.columns.as_ref(), own: &self.apart }
    }

    fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }
}

/// What a model measures margins against, its extreme vectors and ignored samples, laid out.
struct Here {
    ranges: Vec<Range<usize>>,
    nobody: Vec<Range<usize>>,
    ignored: Option<Arc<dyn Columns>>,
}

impl Here {
    fn new(model: &Evm) -> Self {
        Self {
            ranges: model.ranges(),
            nobody: vec![0..0; model.classes.len()],
            ignored: model.ignored.columns(&model.params.metric, model.dimensions),
        }
    }

    fn against<'a>(&'a self, model: &'a Evm) -> Vec<Against<'a>> {
        let extreme_vectors = Against { columns: model.columns(), own: &self.ranges };
        let ignored = self.ignored.as_deref().map(|columns| Against { columns, own: &self.nobody });
        std::iter::once(extreme_vectors).chain(ignored).collect()
    }
}

/// Takes the margins to rows that left out of all tails that they concern, and fits again what changed. Returns how many
/// that were.
pub(crate) fn lose(run: &Run<'_>, model: &mut Evm, gone: &Moving<'_>) -> Result<usize, Halt> {
    if model.params.refit == Refit::New || gone.is_empty() {
        return Ok(0);
    }
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();
    let here = Here::new(model);
    let here = here.against(model);
    let old = Old::new(model, &sizes);
    let concerned = |row: &usize| gone.apart[old.classes[*row] as usize].len() < gone.columns.len();
    let rows: Vec<usize> = old.all.iter().copied().filter(concerned).collect();
    let changes = if model.tail_memory == TailMemory::None {
        old.gathered(run, &rows, &here)?
    } else {
        let found = distances_to(run, model, &old, &rows, gone)?;
        let (hit, found): (Vec<usize>, Vec<Vec<f32>>) =
            rows.iter().copied().zip(found).filter(|(_, found)| !found.is_empty()).unzip();
        match model.tail_memory {
            TailMemory::Full => filled(run, model, &old, &here, &found, &hit)?,
            _ => old.gathered(run, &hit, &here)?,
        }
    };
    drop(old);
    Ok(apply(model, changes))
}

/// Takes rows that came into all tails that they concern, and fits again what changed. Returns how many that were.
pub(crate) fn gain(run: &Run<'_>, model: &mut Evm, come: &Moving<'_>) -> Result<usize, Halt> {
    // What was guessed while a class was alone is no fit that could stand.
    let stands = model.params.refit == Refit::New && !model.is_guessed();
    if stands || come.is_empty() {
        return Ok(0);
    }
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();
    let here = Here::new(model);
    let mut here = here.against(model);
    here.push(come.against());
    let old = Old::new(model, &sizes);
    let batch = [come.against()];
    let changes = match model.tail_memory {
        TailMemory::Full => old.measured(run, &batch)?,
        TailMemory::Max if model.params.refit == Refit::Affected => {
            let affected = old.affected(run, &batch)?;
            old.gathered(run, &affected, &here)?
        }
        TailMemory::Max | TailMemory::None => old.gathered(run, &old.all, &here)?,
    };
    drop(old);
    Ok(apply(model, changes))
}

/// Measures and fits extreme vectors, by their places among all, from nothing.
pub(crate) fn measure(run: &Run<'_>, model: &mut Evm, places: &[usize]) -> Result<(), Halt> {
    model.cache = Cache::default();
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();
    let here = Here::new(model);
    let changes = Old::new(model, &sizes).gathered(run, places, &here.against(model))?;
    apply(model, changes);
    Ok(())
}

/// For each of the rows, its distances to those gone that lie within its tail, sorted.
fn distances_to(
    run: &Run<'_>,
    model: &Evm,
    old: &Old<'_>,
    rows: &[usize],
    gone: &Moving<'_>,
) -> Result<Vec<Vec<f32>>, Halt> {
    let all_bounds = old.bounds();
    let bounds: Vec<f32> = rows.iter().map(|&row| all_bounds[row]).collect();
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
    model: &Evm,
    old: &Old<'_>,
    here: &[Against<'_>],
    found: &[Vec<f32>],
    hit: &[usize],
) -> Result<Vec<Change>, Halt> {
    let classes: Vec<u32> = hit.iter().map(|&row| old.classes[row]).collect();
    let points = old.points();
    let rows = Rows::new(&points, hit, &classes);
    let params = &model.params;
    let finish = |position: usize, nearest: &[f32], workspace: &mut Workspace| {
        let row = hit[position];
        let tail = without(old.tails[row], &found[position], nearest, old.sizes[classes[position] as usize]);
        (!tail.is_empty()).then(|| Change { row, psi: fit_tail(&tail, params, workspace), tail: tail.into() })
    };
    let problem = Problem::new((run, Stage::Refit), &params.metric, rows, here, old.sizes);
    let changes = problem.tails(finish)?;
    Ok(changes.into_iter().flatten().collect())
}

/// `tail` without one entry for each of `gone`, filled up to `size` with what of `nearest` lies beyond it. All are
/// sorted.
///
/// A tail of fewer than `size` entries held every negative already, so nothing lies beyond it.
fn without(tail: &[f32], gone: &[f32], nearest: &[f32], size: usize) -> Vec<f32> {
    let mut gone = gone.iter().peekable();
    let mut kept: Vec<f32> =
        tail.iter().copied().filter(|value| gone.next_if(|gone| *gone == value).is_none()).collect();
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
