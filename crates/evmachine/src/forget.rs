//! Forgetting a class: its extreme vectors go, and the others take their margins to it back.

use std::sync::Arc;

use crate::distance;
use crate::error::{ForgetError, Halt};
use crate::model::{Cache, ClassModel, Evm};
use crate::params::{Refit, TailMemory};
use crate::points::Points;
use crate::progress::{Run, Stage};
use crate::refit::{Change, Old, apply};
use crate::tail::{Against, Problem, Rows};
use crate::weibull::{Workspace, fit_tail};

impl Evm {
    /// Removes a class, and the margins to its extreme vectors from the tails of the others, which are filled up
    /// from the extreme vectors that remain and fitted again. A model keeps at least two classes.
    ///
    /// With every point kept, whole tails and no whitening, what remains has the Psi-models of a fit without the class. Where the
    /// model refits nothing ([`Refit::New`]), the others stay as they are.
    pub fn forget_class(&mut self, name: &str) -> Result<(), ForgetError> {
        self.forget_class_with(&Run::new(), name)
    }

    /// As [`forget_class`](Self::forget_class), watched and sized by `run`. On an error the model is as it was.
    pub fn forget_class_with(&mut self, run: &Run<'_>, name: &str) -> Result<(), ForgetError> {
        let Some(position) = self.class_index(name) else {
            let known = self.classes.iter().map(|class| class.name.clone()).collect();
            return Err(ForgetError::UnknownClass { name: name.to_owned(), known });
        };
        if self.classes.len() <= 2 {
            return Err(ForgetError::TooFewClasses { name: name.to_owned(), classes: self.classes.len() });
        }
        let mut model = self.clone();
        let gone = model.classes.remove(position);
        model.cache = Cache::default();
        // Its fits stay part of the pooling means, which are taken over all training points.
        for psi in &gone.psi {
            model.dropped.add(psi);
        }
        if model.params.refit != Refit::New {
            take_back(run, &mut model, &gone)?;
        }
        if let Some(witnesses) = &self.witnesses {
            model.witnesses = Some(Arc::new(witnesses.without(run, position, name)?));
        }
        if let Some(sample) = &self.sample {
            model.sample = Some(Arc::new(sample.without(position)));
        }
        model.recalibrate(run)?;
        *self = model;
        Ok(())
    }
}

/// Takes the margins to `gone` out of all tails.
fn take_back(run: &Run<'_>, model: &mut Evm, gone: &ClassModel) -> Result<(), Halt> {
    let sizes: Vec<usize> = model.classes.iter().map(|class| class.tail_size).collect();
    let ranges = model.ranges();
    let old = Old::new(model, &sizes);
    let here = [Against { columns: model.columns(), own: &ranges }];
    let changes = if model.tail_memory == TailMemory::None {
        old.gathered(run, &old.all, &here)?
    } else {
        let found = distances_to(run, model, &old, gone)?;
        let hit: Vec<usize> = old.all.iter().copied().filter(|&row| !found[row].is_empty()).collect();
        match model.tail_memory {
            TailMemory::Full => filled(run, model, &old, &here, &found, &hit)?,
            _ => old.gathered(run, &hit, &here)?,
        }
    };
    drop(old);
    apply(model, changes);
    model.cache = Cache::default();
    Ok(())
}

/// For each extreme vector, its distances to those of `gone` that lie within its tail, sorted.
fn distances_to(run: &Run<'_>, model: &Evm, old: &Old<'_>, gone: &ClassModel) -> Result<Vec<Vec<f32>>, Halt> {
    let metric = &model.params.metric;
    let points = Points::ready(&gone.vectors[..], model.dimensions);
    let all: Vec<usize> = (0..points.len()).collect();
    let columns = distance::columns(metric, &points, &all);
    let nobody = vec![0..0; model.classes.len()];
    let against = [Against { columns: columns.as_ref(), own: &nobody }];
    let bounds = old.bounds();
    let points = old.points();
    let rows = Rows::new(&points, &old.all, &old.classes).within(&bounds);
    let every = vec![all.len(); model.classes.len()];
    let problem = Problem::new((run, Stage::Refit), metric, rows, &against, &every);
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
        let tail = without(old.tails[row], &found[row], nearest, old.sizes[classes[position] as usize]);
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
