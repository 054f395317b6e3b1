//! How far new rows would move a class.

use crate::error::RunError;
use crate::model::Evm;
use evmachine_engine::distance::{self, Tile};
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;

/// Which of the new rows of a class must stay away, so that it moves by no more than `most` widths, and how far all of them would move
/// it. The farthest from its centre stay away first.
pub(super) fn too_far(
    model: &Evm,
    class: usize,
    features: &Features<'_>,
    width: f32,
    most: f64,
) -> Result<(Vec<usize>, f64), RunError> {
    let machine = &model.machine;
    let (d, own) = (machine.dimensions, &machine.classes[class]);
    let points = machine.query_points(features)?;
    let rows: Vec<usize> = (0..points.len()).collect();
    let new = points.gather(&rows);
    let mut centre = vec![0.0; d];
    own.vectors.chunks_exact(d).for_each(|vector| add(&mut centre, vector));
    let centre: Vec<f32> = centre.iter().map(|sum| (sum / own.len().max(1) as f64) as f32).collect();

    // The rows in order, nearest first; and the mean of each beginning of that order.
    let distances = distances_to(model, &centre, &new)?;
    let mut order = rows;
    order.sort_by(|&one, &other| distances[one].total_cmp(&distances[other]));
    let mut sums = vec![0.0; d];
    let mut means = Vec::with_capacity(new.len());
    for (count, &row) in (1..).zip(&order) {
        add(&mut sums, &new[row * d..(row + 1) * d]);
        means.extend(sums.iter().map(|sum| (sum / f64::from(count)) as f32));
    }
    let shifts = distances_to(model, &centre, &means)?;
    let seen = own.points_seen as f64;
    let moved = |count: usize| {
        let many = count as f64;
        let shift = f64::from(shifts[count - 1]) / f64::from(width);
        // Means that cancel out have no direction, and a class without width no unit.
        if shifts[count - 1] == 0.0 { 0.0 } else { many / (seen + many) * shift }
    };
    let all = order.len();
    // A comparison with what is no number is false, and the row stays away.
    let kept = (1..=all).rev().find(|&count| moved(count) <= most).unwrap_or(0);
    Ok((order.split_off(kept), if all == 0 { 0.0 } else { moved(all) }))
}

fn add(sums: &mut [f64], vector: &[f32]) {
    sums.iter_mut().zip(vector).for_each(|(sum, &value)| *sum += f64::from(value));
}

/// Distances of vectors, row after row, to one.
fn distances_to(model: &Evm, one: &[f32], vectors: &[f32]) -> Result<Vec<f32>, RunError> {
    let (metric, d) = (&model.machine.params.metric, one.len());
    let one = Points::scaled(one.into(), d, metric);
    let many = Points::scaled(vectors.into(), d, metric);
    let columns = distance::columns(metric, &many, &(0..many.len()).collect::<Vec<_>>());
    let mut tile = Tile::default();
    columns.ranks(&columns.block(&one, &[0]), 0..many.len(), &mut tile)?;
    Ok(tile.row(0).iter().map(|&rank| metric.distance_of_rank(rank)).collect())
}
