//! Tails that another device finds.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use crate::device::{NO_CLASS, TailWork, Tails, Vectors, unless_given_way};
use crate::distance;
use crate::error::RunError;
use crate::points::Picked;
use crate::psi::FitRule;
use crate::psi::PsiModel;
use crate::tail::Problem;
use crate::tail::memory::OPEN_TAIL;
use crate::tail::memory::TailMemory;

/// Whole tails, handed to `finish` on the threads of the processor; `None` where the device gave way.
pub(super) fn execute<W: Default, R: Send>(
    problem: &Problem<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Option<Vec<R>>, RunError> {
    let Some(tails) = ask(problem, None, true)? else { return Ok(None) };
    let each = each_tail(&tails);
    Ok(Some(
        each.into_par_iter()
            .enumerate()
            .map_init(W::default, |room, (row, tail)| finish(row, tail, room))
            .collect(),
    ))
}

/// A fit, and what is remembered of its tail.
type Fit = (PsiModel, Arc<[f32]>);

/// Fits, with what is remembered of each tail; `None` where the device gave way. Every row has a tail.
pub(in crate::tail) fn fits(
    problem: &Problem<'_>,
    rule: &FitRule,
    memory: TailMemory,
) -> Result<Option<Vec<Fit>>, RunError> {
    let Some(mut tails) = ask(problem, Some(*rule), memory == TailMemory::Full)? else { return Ok(None) };
    let psi = std::mem::take(&mut tails.psi);
    let remembered: Vec<Arc<[f32]>> = match memory {
        TailMemory::Full => each_tail(&tails).into_par_iter().map(Arc::from).collect(),
        TailMemory::Max => {
            let rows = tails.counts.par_iter().zip(&tails.largest).zip(problem.rows.classes);
            let largest = rows.map(|((&count, &largest), &class)| {
                let open = (count as usize) < problem.sizes[class as usize];
                Arc::from([if open { OPEN_TAIL } else { largest }])
            });
            largest.collect()
        }
        TailMemory::None => vec![Arc::default(); psi.len()],
    };
    Ok(Some(psi.into_iter().flatten().zip(remembered).collect()))
}

fn ask(problem: &Problem<'_>, fit: Option<FitRule>, keep: bool) -> Result<Option<Tails>, RunError> {
    let Some(device) = problem.device() else { return Ok(None) };
    let rows = problem.rows;
    let meter = problem.run.meter(problem.stage, rows.indices.len());
    let values = Picked { points: rows.points, indices: rows.indices };
    let others = columns(problem);
    let columns: Vec<Vectors<'_>> =
        others.iter().map(|(values, classes)| Vectors { values, classes }).collect();
    let sizes: Vec<usize> = (0..problem.sizes.len()).map(|class| problem.size(class as u32)).collect();
    // A rank that was moved up by one step may have the distance of the step before.
    let widened =
        |bounds: &[f32]| bounds.iter().map(|&rank| problem.metric.distance_of_rank(rank).next_up()).collect();
    let bounds: Option<Vec<f32>> = rows.bounds.map(widened);
    let watch =
        |rows| if meter.advance(rows).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let work = TailWork {
        metric: problem.metric,
        dimensions: rows.points.dimensions(),
        rows: Vectors { values: &values, classes: rows.classes },
        among_themselves: rows.are_columns,
        columns: &columns,
        sizes: &sizes,
        bounds: bounds.as_deref(),
        fit,
        keep,
        watch: &watch,
    };
    Ok(unless_given_way(device, device.tails(&work))?)
}

/// The columns that are not the rows, part after part, with the class of each.
fn columns<'a>(problem: &Problem<'a>) -> Vec<(distance::Vectors<'a>, Vec<u32>)> {
    let count = problem.against.len() - usize::from(problem.rows.are_columns);
    let parts = problem.against[..count].iter().map(|against| {
        let mut classes = vec![NO_CLASS; against.columns.len()];
        for (class, own) in (0..).zip(against.own) {
            classes[own.clone()].fill(class);
        }
        let dimensions = problem.rows.points.dimensions();
        (distance::Vectors { columns: against.columns, dimensions }, classes)
    });
    parts.collect()
}

/// The tail of each row.
fn each_tail(tails: &Tails) -> Vec<&[f32]> {
    let mut rest = &tails.values[..];
    let each = tails.counts.iter().map(|&count| {
        let (tail, behind) = rest.split_at(count as usize);
        rest = behind;
        tail
    });
    each.collect()
}
