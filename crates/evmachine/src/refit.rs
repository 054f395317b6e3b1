//! What new points do to the Psi-models that are in the model already.

use crate::error::Halt;
use crate::model::{Evm, OPEN_TAIL};
use crate::params::{Refit, TailMemory};
use crate::points::Points;
use crate::progress::{Run, Stage};
use crate::psi::PsiModel;
use crate::tail::{self, Against, Rows};
use crate::update::{Batch, fit_tail, remembered, touches_old};
use crate::weibull::Workspace;

/// What [`refit`] did.
pub(crate) struct Refitted {
    pub(crate) count: usize,
}

/// The new state of one extreme vector, if it changed.
type Change = Option<(PsiModel, Vec<f32>)>;

/// Takes the batch, the last of `against`, into the tails of the extreme vectors, and fits again what changed.
///
/// With full tails the merge is exact. Otherwise an affected tail is gathered anew, from the extreme vectors and
/// the batch.
pub(crate) fn refit(
    run: &Run<'_>,
    model: &mut Evm,
    batch: &Batch<'_>,
    against: &[Against<'_>],
    sizes: &[usize],
) -> Result<Refitted, Halt> {
    if !touches_old(model) {
        return Ok(Refitted { count: 0 });
    }
    let points = Points::ready(model.vectors(), model.dimensions);
    let all: Vec<usize> = (0..points.len()).collect();
    let classes: Vec<u32> = model
        .classes
        .iter()
        .enumerate()
        .flat_map(|(number, class)| std::iter::repeat_n(number as u32, class.len()))
        .collect();
    let tails: Vec<&[f32]> =
        model.classes.iter().flat_map(|class| class.tails.iter().map(Vec::as_slice)).collect();
    let [.., new] = against else { return Ok(Refitted { count: 0 }) };
    debug_assert_eq!(new.columns.len(), batch.order.len());
    let new = std::slice::from_ref(new);
    let changes = match model.tail_memory {
        TailMemory::Full => merged(run, model, &points, &all, &classes, &tails, new, sizes)?,
        TailMemory::Max if model.params.refit == Refit::Affected => {
            let affected = affected(run, model, &points, &all, &classes, &tails, new, sizes)?;
            gathered(run, model, &points, &affected, &classes, against, sizes)?
        }
        TailMemory::Max | TailMemory::None => gathered(run, model, &points, &all, &classes, against, sizes)?,
    };
    let mut changes = changes.into_iter();
    let mut count = 0;
    for class in &mut model.classes {
        for (psi, tail) in class.psi.iter_mut().zip(&mut class.tails) {
            if let Some(Some((new_psi, new_tail))) = changes.next() {
                (*psi, *tail) = (new_psi, new_tail);
                count += 1;
            }
        }
    }
    Ok(Refitted { count })
}

/// Largest ranks of interest: what lies beyond the end of a full tail cannot enter it.
fn bounds(model: &Evm, tails: &[&[f32]], sizes: &[usize], classes: &[u32]) -> Vec<f32> {
    tails
        .iter()
        .zip(classes)
        .map(|(tail, &class)| {
            let full = model.tail_memory == TailMemory::Max || tail.len() >= sizes[class as usize];
            match tail.last() {
                Some(&largest) if full && largest < OPEN_TAIL => {
                    model.params.metric.largest_rank_within(largest).next_up()
                }
                _ => f32::INFINITY,
            }
        })
        .collect()
}

#[expect(clippy::too_many_arguments)]
fn merged(
    run: &Run<'_>,
    model: &Evm,
    points: &Points<'_>,
    all: &[usize],
    classes: &[u32],
    tails: &[&[f32]],
    new: &[Against<'_>],
    sizes: &[usize],
) -> Result<Vec<Change>, Halt> {
    let bounds = bounds(model, tails, sizes, classes);
    let rows = Rows { points, indices: all, classes, bounds: Some(&bounds) };
    let metric = &model.params.metric;
    tail::stream(run, Stage::Refit, metric, &rows, new, sizes, |row, found, workspace: &mut Workspace| {
        let size = sizes[classes[row] as usize];
        let changed = merge_sorted(tails[row], found, size);
        if changed.is_none() && model.params.refit != Refit::All {
            return None;
        }
        let tail = changed.unwrap_or_else(|| tails[row].to_vec());
        (!tail.is_empty()).then(|| (fit_tail(&tail, &model.params, workspace), tail))
    })
}

/// The `size` smallest of two sorted lists, or `None` where they are those of `old`.
fn merge_sorted(old: &[f32], new: &[f32], size: usize) -> Option<Vec<f32>> {
    let enters = |value: &f32| old.len() < size || value < &old[size - 1];
    if !new.first().is_some_and(enters) {
        return None;
    }
    let mut merged = Vec::with_capacity((old.len() + new.len()).min(size));
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    while merged.len() < size {
        let next = match (old.peek(), new.peek()) {
            (Some(a), Some(b)) if a <= b => old.next(),
            (_, Some(_)) => new.next(),
            (_, None) => old.next(),
        };
        match next {
            Some(value) => merged.push(*value),
            None => break,
        }
    }
    Some(merged)
}

/// The extreme vectors into whose tail a new negative falls.
#[expect(clippy::too_many_arguments)]
fn affected(
    run: &Run<'_>,
    model: &Evm,
    points: &Points<'_>,
    all: &[usize],
    classes: &[u32],
    tails: &[&[f32]],
    new: &[Against<'_>],
    sizes: &[usize],
) -> Result<Vec<usize>, Halt> {
    let bounds = bounds(model, tails, sizes, classes);
    let rows = Rows { points, indices: all, classes, bounds: Some(&bounds) };
    let ones = vec![1; sizes.len()];
    let metric = &model.params.metric;
    let hit = tail::stream(run, Stage::Refit, metric, &rows, new, &ones, |row, found, (): &mut ()| {
        found.first().is_some_and(|nearest| tails[row].last().is_none_or(|largest| nearest < largest))
    })?;
    Ok(all.iter().copied().filter(|&row| hit[row]).collect())
}

/// Tails gathered anew for the given extreme vectors.
fn gathered(
    run: &Run<'_>,
    model: &Evm,
    points: &Points<'_>,
    rows: &[usize],
    classes: &[u32],
    against: &[Against<'_>],
    sizes: &[usize],
) -> Result<Vec<Change>, Halt> {
    let row_classes: Vec<u32> = rows.iter().map(|&row| classes[row]).collect();
    let some = Rows { points, indices: rows, classes: &row_classes, bounds: None };
    let metric = &model.params.metric;
    let fits = tail::stream(
        run,
        Stage::Refit,
        metric,
        &some,
        against,
        sizes,
        |row, tail, workspace: &mut Workspace| {
            let size = sizes[row_classes[row] as usize];
            let psi = (!tail.is_empty()).then(|| fit_tail(tail, &model.params, workspace))?;
            Some((psi, remembered(tail, size, model.tail_memory)))
        },
    )?;
    let mut changes: Vec<Change> = vec![None; points.len()];
    for (&row, fit) in rows.iter().zip(fits) {
        changes[row] = fit;
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_is_the_smallest_of_both_or_nothing_new() {
        assert_eq!(merge_sorted(&[1.0, 3.0], &[2.0], 2), Some(vec![1.0, 2.0]));
        assert_eq!(merge_sorted(&[1.0, 3.0], &[3.0, 4.0], 2), None);
        assert_eq!(merge_sorted(&[1.0], &[4.0, 5.0], 3), Some(vec![1.0, 4.0, 5.0]));
        assert_eq!(merge_sorted(&[], &[4.0, 5.0], 1), Some(vec![4.0]));
        assert_eq!(merge_sorted(&[1.0, 2.0], &[], 3), None);
    }
}
