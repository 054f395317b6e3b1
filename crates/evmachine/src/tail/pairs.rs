//! Short tails of points against each other in few dimensions, where storing and comparing ranks would take longer than
//! computing them.
//!
//! Within a class, points are put in an order in which neighbours in space are neighbours, so that the few pairs that
//! count come together, and most groups of rows have none in most panels of columns. What bounds in bytes rule out is
//! not measured, and a rank that is not below the bound of one of its ends never leaves the registers.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::divide::divide;
use super::sample::Sample;
use super::symmetric;
use super::tournament::{self, Block, TILE_ROWS};
use super::{Against, Rows, Work};
use crate::distance::{GROUP, Screen, Screened, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::Stage;

/// Points that lie close together in the order of a class.
const LEAF: usize = 12;
/// Where tails have more than one in so many of the points, most comparisons find something.
const SHARE: usize = 16;
/// Groups that are tried, and the share of panels that they may have to meet, for bounds in bytes to be worth it.
const TRIED: usize = 8;
const OPEN: f64 = 0.4;

/// As [`symmetric::stream`]; `None` where that is faster.
pub(super) fn stream<W: Default, R: Send>(
    work: &Work<'_>,
    stage: Stage,
    metric: &Metric,
    against: Against<'_>,
    finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
) -> Result<Option<Vec<R>>, Halt> {
    let rows = work.rows;
    let d = rows.points.dimensions();
    let short = work.tails.iter().all(|tail| tail.size <= tail.negatives / SHARE);
    let bytes = symmetric::memory(work).saturating_add(Screened::bytes(rows.indices.len(), d));
    if !short || !Screened::suits(metric, d) || bytes > work.run.memory {
        return Ok(None);
    }
    let order = by_place(rows, against);
    let indices: Vec<usize> = order.iter().map(|&position| rows.indices[position]).collect();
    let rows = Rows { indices: &indices, ..*rows };
    let Some(sample) = Sample::new(metric, &rows, work.tails) else { return Ok(None) };
    let Some(points) = screened(metric, &rows, &sample)? else { return Ok(None) };
    let against = [Against { columns: points.columns(), ..against }];
    let work = Work { rows: &rows, against: &against, sample: Some(&sample), ..*work };
    // Room for pairs, used again by whoever meets next.
    let spare: Mutex<Vec<Screen>> = Mutex::default();
    let meet = |first: &mut Block, second: Option<&mut Block>| {
        let mut screen = spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        meet(&points, rows.classes, first, second, &mut screen);
        spare.lock().unwrap_or_else(PoisonError::into_inner).push(screen);
        Ok(())
    };
    let mut finished =
        tournament::stream(&work, stage, metric, true, meet, |row, tail, workspace: &mut W| {
            (order[row], finish(order[row], tail, workspace))
        })?;
    finished.sort_unstable_by_key(|(row, _)| *row);
    Ok(Some(finished.into_iter().map(|(_, result)| result).collect()))
}

/// The points laid out, without codes where they would rule out little; `None` where they do not suit.
fn screened(metric: &Metric, rows: &Rows<'_>, sample: &Sample) -> Result<Option<Screened>, Halt> {
    let Some(points) = Screened::new(metric, rows.points, rows.indices) else { return Ok(None) };
    let groups = rows.indices.len() / GROUP;
    let tried = (0..TRIED).into_par_iter().map(|turn| {
        let group = turn * groups / TRIED;
        let part = group * GROUP..(group + 1) * GROUP;
        let block = points.columns().block(rows.points, &rows.indices[part.clone()]);
        let bounds = sample.bounds(&block, &rows.classes[part], &mut Tile::default())?;
        Ok(points.share(group, &bounds))
    });
    let shares: Result<Vec<f64>, Halt> = tried.collect();
    let share = shares?.iter().sum::<f64>() / TRIED as f64;
    Ok(Some(if share <= OPEN { points } else { points.without_codes() }))
}

/// Positions of the rows, class after class, within a class by place.
fn by_place(rows: &Rows<'_>, against: Against<'_>) -> Vec<usize> {
    let (values, dimensions) = (rows.points.gather(rows.indices), rows.points.dimensions());
    let mut order: Vec<usize> = (0..rows.indices.len()).collect();
    let mut rest = &mut order[..];
    let mut classes = Vec::with_capacity(against.own.len());
    for own in against.own {
        let (class, others) = rest.split_at_mut(own.len());
        classes.push(class);
        rest = others;
    }
    classes.into_par_iter().for_each(|class| divide(&values, dimensions, LEAF, class));
    order
}

/// Offers the pairs of two blocks that count to both ends, or those within one to its rows.
fn meet(
    points: &Screened,
    classes: &[u32],
    first: &mut Block,
    mut second: Option<&mut Block>,
    screen: &mut Screen,
) {
    let ends = |block: &Block| {
        let classes = &classes[block.rows.clone()];
        (points.ends(block.rows.clone(), block.smallest.bounds(), classes), block.rows.start, classes)
    };
    let ([rows, own], row_start, row_classes) = ends(first);
    let other = second.as_deref().map(ends);
    let (columns, column_start, column_classes) = match &other {
        Some(([_, columns], start, classes)) => (columns, *start, *classes),
        None => (&own, row_start, row_classes),
    };
    for (part, packed) in first.packed.iter().flatten().enumerate() {
        let group = part * (TILE_ROWS / GROUP);
        let starts = [row_start, column_start];
        points.below(starts, (group, packed), &rows, columns, screen);
        for (row, column, rank) in screen.pairs().iter() {
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

#[cfg(test)]
mod tests {
    use super::super::{Tail, stream as tails};
    use super::*;
    use crate::distance;
    use crate::points::Points;
    use crate::progress::Run;

    /// Clumps whose coordinates have few values, so that many distances are equal.
    fn clumps(rows: usize, d: usize, far: f32) -> Vec<f32> {
        let mut state = 5u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        let centres: Vec<f32> = (0..40 * d).map(|_| (random() * 12.0).round()).collect();
        let mut values: Vec<f32> = (0..rows)
            .flat_map(|row| {
                let centre = &centres[row * 7 % 40 * d..][..d];
                centre.iter().map(|value| value + (random() * 4.0).round()).collect::<Vec<_>>()
            })
            .collect();
        values[rows / 2 * d] += far;
        values
    }

    #[test]
    fn tails_are_those_of_measuring_everything() {
        // No whole number of groups, panels or blocks.
        let rows = 2_503;
        let all: Vec<usize> = (0..rows).collect();
        let ends = [1, 700, 700, 1_500, rows];
        let own: Vec<_> = (0..ends.len())
            .map(|class| if class == 0 { 0..1 } else { ends[class - 1]..ends[class] })
            .collect();
        let classes: Vec<u32> =
            all.iter().map(|&row| own.iter().position(|own| own.contains(&row)).unwrap() as u32).collect();
        let sizes = [30, 1, 30, 75, 60];
        for (d, metric, far) in [
            (8, Metric::Euclidean, 0.0),
            (13, Metric::Manhattan, 0.0),
            (31, Metric::Euclidean, 0.0),
            // Codes of one byte that tell nothing.
            (16, Metric::Euclidean, 1e6),
        ] {
            let values = clumps(rows, d, far);
            let points = Points::ready(&values[..], d);
            let columns = distance::columns(&metric, &points, &all);
            let against = [Against { columns: columns.as_ref(), own: &own }];
            let rows = |are_columns| Rows {
                are_columns,
                points: &points,
                indices: &all,
                classes: &classes,
                bounds: None,
            };
            let keep = |row: usize, tail: &[f32], (): &mut ()| (row, tail.to_vec());
            let run = Run::new();
            let expected = tails(&run, Stage::Tails, &metric, &rows(false), &against, &sizes, keep).unwrap();
            let work = Work {
                run: &run,
                rows: &rows(true),
                against: &against,
                tails: &sizes.map(|size| Tail { size, negatives: 1_500 }),
                sample: None,
            };
            let found = stream(&work, Stage::Tails, &metric, against[0], keep).unwrap();
            assert!(found.is_some_and(|found| found == expected), "{d} {metric:?} {far}");
        }
    }
}
