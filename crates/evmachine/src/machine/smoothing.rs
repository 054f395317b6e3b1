//! Points moved towards their nearest neighbours of the same class, before any margin is measured.
//!
//! With smoothing (a, m), `x' = (1 - a) x + a mean(m nearest of the class, x itself included)`. It takes the
//! noise out of single embeddings; a small m keeps classes of several clumps apart.

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::error::RunError;
use evmachine_engine::device::{
    DeviceError, SmoothingClass, SmoothingWork, Source, WorkKind, unless_given_way,
};
use evmachine_engine::distance::{self, Tile};
use evmachine_engine::metric::Metric;
use evmachine_engine::points::{Picked, Points};
use evmachine_engine::run::{Meter, Run, Stage};
use evmachine_engine::scratch;

/// How far to move, and towards the mean of how many.
#[derive(Clone, Copy)]
pub(crate) struct Smoothing {
    pub(crate) fraction: f64,
    pub(crate) neighbors: usize,
}

/// New points of one class, and the vectors of that class that are in the model already.
pub(crate) struct ClassRows<'a> {
    pub(crate) new: &'a [usize],
    pub(crate) old: &'a [f32],
}

/// All of `points`, moved. Extreme vectors already in the model are neighbours but do not move again.
pub(crate) fn smooth(
    run: &Run<'_>,
    metric: &Metric,
    smoothing: Smoothing,
    points: &Points<'_>,
    classes: &[ClassRows<'_>],
) -> Result<Points<'static>, RunError> {
    let d = points.dimensions();
    let meter = run.meter(Stage::Smoothing, points.len());
    let mut values = vec![0.0; points.len() * d];
    let mut take = |class: &ClassRows<'_>, moved: &[f32]| -> Result<(), RunError> {
        for (&row, moved) in class.new.iter().zip(moved.chunks_exact(d)) {
            values[row * d..(row + 1) * d].copy_from_slice(moved);
        }
        Ok(())
    };
    if !smooth_there(run, metric, smoothing, points, classes, &meter, &mut take)? {
        let moved: Vec<Vec<f32>> = classes
            .par_iter()
            .map(|class| smooth_class(run, metric, smoothing, points, class, &meter))
            .collect::<Result<_, RunError>>()?;
        for (class, moved) in classes.iter().zip(&moved) {
            take(class, moved)?;
        }
    }
    // Moved points are never all zeros, see `stay_if_cancelled`, so cosine can scale them to unit length again.
    Ok(Points::scaled(values.into(), d, metric))
}

/// As [`smooth`]; if the run has a scratch, in it, one class after the other.
pub(crate) fn smooth_in(
    run: &Run<'_>,
    metric: &Metric,
    smoothing: Smoothing,
    points: &Points<'_>,
    classes: &[ClassRows<'_>],
) -> Result<Points<'static>, RunError> {
    let Some(scratch) = run.store() else { return smooth(run, metric, smoothing, points, classes) };
    let d = points.dimensions();
    let failed = |error: std::io::Error| scratch::failed(scratch, &error);
    let meter = run.meter(Stage::Smoothing, points.len());
    let mut room = scratch.room().map_err(failed)?;
    // The last row may be one that is not learned; there is room for it all the same.
    room.write((points.len() - 1) * d, &vec![0.0; d]).map_err(failed)?;
    let mut take = |class: &ClassRows<'_>, moved: &[f32]| -> Result<(), RunError> {
        for (&row, moved) in class.new.iter().zip(moved.chunks_exact(d)) {
            room.write(row * d, moved).map_err(failed)?;
        }
        Ok(())
    };
    if !smooth_there(run, metric, smoothing, points, classes, &meter, &mut take)? {
        for class in classes {
            take(class, &smooth_class(run, metric, smoothing, points, class, &meter)?)?;
        }
    }
    Ok(Points::scaled_there(room.finish().map_err(failed)?, d, metric))
}

/// The vectors of a class: those in the model first, which stay, then the new ones.
struct Members<'a> {
    old: Points<'a>,
    new: Picked<'a>,
}

impl Source for Members<'_> {
    fn count(&self) -> usize {
        self.old.len() + self.new.count()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        let old = self.old.len().saturating_sub(first) * self.old.dimensions();
        let (before, behind) = out.split_at_mut(old.min(out.len()));
        self.old.write(first, before);
        self.new.write(first.saturating_sub(self.old.len()), behind);
    }
}

/// Takes the moved rows of a class.
type TakeMoved<'a> = dyn FnMut(&ClassRows<'_>, &[f32]) -> Result<(), RunError> + 'a;

/// Has a device move the rows, handed to `take` class by class; whether it did.
fn smooth_there(
    run: &Run<'_>,
    metric: &Metric,
    smoothing: Smoothing,
    points: &Points<'_>,
    classes: &[ClassRows<'_>],
    meter: &Meter<'_>,
    take: &mut TakeMoved<'_>,
) -> Result<bool, RunError> {
    let d = points.dimensions();
    let pairs = |class: &ClassRows<'_>| {
        (class.new.len() as u64).saturating_mul((class.new.len() + class.old.len() / d) as u64)
    };
    let multiplications = classes.iter().map(pairs).fold(0, u64::saturating_add).saturating_mul(d as u64);
    let device = run.device_for(WorkKind::Smoothing, multiplications);
    let Some(device) = device.filter(|_| !matches!(metric, Metric::Custom(_))) else { return Ok(false) };
    let members: Vec<Members<'_>> = classes
        .iter()
        .map(|class| Members { old: Points::ready(class.old, d), new: Picked { points, indices: class.new } })
        .collect();
    let wanted: Vec<SmoothingClass<'_>> = members
        .iter()
        .map(|members| SmoothingClass { points: members, staying: members.old.len() })
        .collect();
    let watch = |count| {
        if meter.advance(count).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let work = SmoothingWork {
        metric,
        dimensions: d,
        fraction: smoothing.fraction,
        neighbors: smoothing.neighbors,
        classes: &wanted,
        watch: &watch,
    };
    let (mut next, mut failed) = (0, None);
    let done = device.smooth(&work, &mut |moved| {
        let taken = take(&classes[next], moved);
        next += 1;
        taken.map_err(|error| {
            failed = Some(error);
            DeviceError::Stopped
        })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(unless_given_way(device, done)?.is_some()),
    }
}

fn smooth_class(
    run: &Run<'_>,
    metric: &Metric,
    smoothing: Smoothing,
    points: &Points<'_>,
    class: &ClassRows<'_>,
    meter: &Meter<'_>,
) -> Result<Vec<f32>, RunError> {
    if class.new.is_empty() {
        return Ok(Vec::new());
    }
    let d = points.dimensions();
    let mut values = class.old.to_vec();
    let old = values.len() / d;
    values.extend(points.gather(class.new));
    let members = Points::ready(values, d);
    let count = members.len();
    let all: Vec<usize> = (0..count).collect();
    let columns = distance::columns(metric, &members, &all);
    let blocks: Result<Vec<Vec<f32>>, RunError> = all[old..]
        .par_chunks(run.block_rows(class.new.len()))
        .map(|rows| {
            meter.check()?;
            let block = columns.block(&members, rows);
            let mut ranks: Vec<Vec<f32>> = rows.iter().map(|_| Vec::with_capacity(count)).collect();
            let mut tile = Tile::default();
            for start in (0..count).step_by(run.tile_columns()) {
                columns.ranks(&block, start..(start + run.tile_columns()).min(count), &mut tile)?;
                for (row, ranks) in ranks.iter_mut().enumerate() {
                    ranks.extend_from_slice(tile.row(row));
                }
            }
            let mut moved = Vec::with_capacity(rows.len() * d);
            for (&row, ranks) in rows.iter().zip(&ranks) {
                let nearest = nearest(ranks, row, smoothing.neighbors);
                move_row(&members, row, &nearest, smoothing.fraction, &mut moved);
                if *metric == Metric::Cosine {
                    stay_if_cancelled(&members, row, &mut moved);
                }
            }
            meter.advance(rows.len())?;
            Ok(moved)
        })
        .collect();
    Ok(blocks?.concat())
}

/// The point itself and the `count - 1` others of lowest rank, ties to the lowest index, in order of index.
fn nearest(ranks: &[f32], itself: usize, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ranks.len()).filter(|&index| index != itself).collect();
    let others = (count - 1).min(order.len());
    if others > 0 && others < order.len() {
        order.select_nth_unstable_by(others - 1, |&a, &b| ranks[a].total_cmp(&ranks[b]).then(a.cmp(&b)));
    }
    order.truncate(others);
    order.push(itself);
    order.sort_unstable();
    order
}

fn move_row(members: &Points<'_>, row: usize, nearest: &[usize], fraction: f64, moved: &mut Vec<f32>) {
    let d = members.dimensions();
    let mut own = vec![0.0f32; d];
    let mut other = vec![0.0f32; d];
    let mut sum = vec![0.0f64; d];
    for &index in nearest {
        members.write_row(index, &mut other);
        sum.iter_mut().zip(&other).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    members.write_row(row, &mut own);
    let weight = fraction / nearest.len() as f64;
    moved.extend(
        own.iter().zip(&sum).map(|(&own, &sum)| ((1.0 - fraction) * f64::from(own) + weight * sum) as f32),
    );
}

/// Opposite unit vectors can cancel; such a point, the last of `moved`, stays where it is.
fn stay_if_cancelled(members: &Points<'_>, row: usize, moved: &mut [f32]) {
    let start = moved.len() - members.dimensions();
    if moved[start..].iter().all(|&value| value == 0.0) {
        members.write_row(row, &mut moved[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(values: &[f32], metric: &Metric, fraction: f64, neighbors: usize, d: usize) -> Vec<f32> {
        let points = Points::scaled(values.into(), d, metric);
        let all: Vec<usize> = (0..points.len()).collect();
        let classes = [ClassRows { new: &all, old: &[] }];
        let smoothing = Smoothing { fraction, neighbors };
        smooth(&Run::new(), metric, smoothing, &points, &classes).unwrap().gather(&all)
    }

    #[test]
    fn a_point_moves_half_way_to_the_mean_of_its_two_nearest() {
        assert_eq!(moved(&[0.0, 2.0, 10.0], &Metric::Euclidean, 0.5, 2, 1), [0.5, 1.5, 8.0]);
    }

    #[test]
    fn all_neighbors_and_the_whole_way_is_the_class_mean() {
        assert_eq!(moved(&[0.0, 2.0, 10.0], &Metric::Manhattan, 1.0, 99, 1), [4.0; 3]);
    }

    #[test]
    fn a_mean_at_the_origin_is_a_place_like_any_other() {
        assert_eq!(moved(&[-1.0, 1.0], &Metric::Euclidean, 1.0, 2, 1), [0.0, 0.0]);
    }

    #[test]
    fn one_neighbor_is_the_point_itself() {
        assert_eq!(moved(&[0.0, 2.0, 10.0], &Metric::Euclidean, 1.0, 1, 1), [0.0, 2.0, 10.0]);
    }

    #[test]
    fn cosine_points_stay_on_the_sphere_and_opposites_stay_put() {
        let turned = moved(&[2.0, 0.0, 0.0, 3.0], &Metric::Cosine, 1.0, 2, 2);
        assert!(turned.iter().all(|value| (value - 0.5f32.sqrt()).abs() < 1e-6), "{turned:?}");
        assert_eq!(moved(&[1.0, -1.0], &Metric::Cosine, 1.0, 2, 1), [1.0, -1.0]);
    }
}
