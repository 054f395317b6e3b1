//! Short tails of points against each other in few dimensions, where storing and comparing ranks would take longer than
//! computing them.
//!
//! Within a class, points are put in an order in which neighbours in space are neighbours, so that the few pairs that
//! count come together, and most groups of rows have none in most panels of columns. A rank that is not below the bound of one of
//! its ends never leaves the registers.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::tournament::{self, Block};
use crate::distance::{GROUP, Near, Pairs};
use crate::error::RunError;
use crate::plan::{Plan, TILE_ROWS};
use crate::tail::bounds::SampledColumns;
use crate::tail::{Against, Problem, Rows};

/// Points that lie close together in the order of a class.
const LEAF: usize = 12;

/// The rows are the columns of the problem.
pub(super) fn execute<W: Default, R: Send>(
    plan: &Plan,
    problem: &Problem<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Vec<R>, RunError> {
    let order = by_place(problem);
    let indices: Vec<usize> = order.iter().map(|&position| problem.rows.indices[position]).collect();
    let points = Near::new(problem.metric, problem.rows.points, &indices);
    let against = [Against { columns: points.columns(), ..problem.against[0] }];
    let rows = Rows { indices: &indices, ..problem.rows };
    let problem = &Problem { rows, against: &against, ..*problem };
    let sample = SampledColumns::new(plan, problem);
    // Room for pairs, used again by whoever meets next.
    let spare: Mutex<Vec<Pairs>> = Mutex::default();
    let meet = |first: &mut Block, second: Option<&mut Block>| {
        let mut pairs = spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        meet(&points, problem.rows.classes, first, second, &mut pairs);
        spare.lock().unwrap_or_else(PoisonError::into_inner).push(pairs);
        Ok(())
    };
    let finish =
        |row: usize, tail: &[f32], workspace: &mut W| (order[row], finish(order[row], tail, workspace));
    let mut finished = tournament::play(problem, sample.as_ref(), true, meet, finish)?;
    finished.sort_unstable_by_key(|(row, _)| *row);
    Ok(finished.into_iter().map(|(_, result)| result).collect())
}

/// Positions of the rows, class after class, within a class by place.
fn by_place(problem: &Problem<'_>) -> Vec<usize> {
    let (rows, own) = (&problem.rows, problem.against[0].own);
    let (values, dimensions) = (rows.points.gather(rows.indices), rows.points.dimensions());
    let mut order: Vec<usize> = (0..rows.indices.len()).collect();
    let mut rest = &mut order[..];
    let mut classes = Vec::with_capacity(own.len());
    for own in own {
        let (class, others) = rest.split_at_mut(own.len());
        classes.push(class);
        rest = others;
    }
    classes.into_par_iter().for_each(|class| divide(&values, dimensions, class));
    order
}

/// Orders the positions so that every [`LEAF`] of them in a row lie close together: halves by the dimension in which they
/// spread most.
fn divide(values: &[f32], d: usize, order: &mut [usize]) {
    if order.len() <= LEAF {
        return;
    }
    let (mut sums, mut squares) = (vec![0.0; d], vec![0.0; d]);
    for &position in &*order {
        let row = &values[position * d..(position + 1) * d];
        for ((sum, square), &value) in sums.iter_mut().zip(&mut squares).zip(row) {
            let value = f64::from(value);
            *sum += value;
            *square += value * value;
        }
    }
    let spread = |i: usize| squares[i] - sums[i] * sums[i] / order.len() as f64;
    let widest = (0..d).max_by(|&a, &b| spread(a).total_cmp(&spread(b)).then(b.cmp(&a))).unwrap_or(0);
    let middle = (order.len() / 2).next_multiple_of(LEAF).min(order.len() - 1);
    let at = |position: usize| values[position * d + widest];
    order.select_nth_unstable_by(middle, |&a, &b| at(a).total_cmp(&at(b)).then(a.cmp(&b)));
    let (left, right) = order.split_at_mut(middle);
    rayon::join(|| divide(values, d, left), || divide(values, d, right));
}

/// Offers the pairs of two blocks that count to both ends, or those within one to its rows.
fn meet(
    points: &Near,
    classes: &[u32],
    first: &mut Block,
    mut second: Option<&mut Block>,
    pairs: &mut Pairs,
) {
    let ends = |block: &Block| {
        let classes = &classes[block.rows.clone()];
        (Near::ends(block.smallest.bounds(), classes), block.rows.start, classes)
    };
    let ([rows, own], row_start, row_classes) = ends(first);
    let other = second.as_deref().map(ends);
    let (columns, column_start, column_classes) = match &other {
        Some(([_, columns], start, classes)) => (columns, *start, *classes),
        None => (&own, row_start, row_classes),
    };
    for (part, packed) in first.packed.iter().flatten().enumerate() {
        let group = part * (TILE_ROWS / GROUP);
        points.find((group, packed), &rows, (column_start, columns), pairs);
        for (row, column, rank) in pairs.iter() {
            let row = part * TILE_ROWS + row;
            if row_classes[row] != column_classes[column] {
                first.smallest.consider(row, rank);
                if let Some(second) = &mut second {
                    second.smallest.consider(column, rank);
                }
            }
        }
    }
}
