//! The weighted maximum-k cover: no threshold, no bisection.
//!
//! Maximises `sum_j max_{i chosen} psi_i(d_ij)` greedily. The sum is submodular, so the greedy choice reaches at
//! least 1 - 1/e of the best possible one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::neighbors::Neighbors;
use super::queue::Entry;
use super::{Candidates, Covering, Resources};
use crate::error::RunError;
use evmachine_engine::metric::Metric;
use evmachine_engine::psi::curve::Curve;

/// Gains below this are rounding.
const NOTHING: f64 = 1e-12;

/// At most `count` points of one class.
pub(super) fn cover(
    resources: &Resources<'_>,
    metric: &Metric,
    class: &Candidates<'_>,
    count: usize,
) -> Result<Covering, RunError> {
    let mut neighbors = Neighbors::new(metric, class, resources);
    neighbors.keep()?;
    let mut best = vec![0.0f64; class.len()];
    let all: Vec<usize> = (0..class.len()).collect();
    let gains: Result<Vec<Vec<f64>>, RunError> = all
        .par_chunks(resources.run.block_rows(all.len()))
        .map(|indices| {
            let mut sums = vec![0.0; indices.len()];
            let mut psi = Vec::new();
            each_psi(&neighbors, class, indices, |row, curve, distances| {
                psi.clear();
                curve.psi_of_each(distances, &mut psi);
                sums[row] += psi.iter().sum::<f64>();
            })?;
            Ok(sums)
        })
        .collect();
    let gains = gains?.into_iter().flatten().enumerate();
    let mut queue: BinaryHeap<Entry> =
        gains.map(|(index, gain)| Entry { gain, index: Reverse(index) }).collect();
    let mut cover = Covering { order: Vec::new(), gains: Vec::new() };
    let mut psi = Vec::with_capacity(class.len());
    while cover.order.len() < count {
        let Some(Entry { index: Reverse(i), .. }) = queue.pop() else { break };
        psi.clear();
        each_psi(&neighbors, class, &[i], |_, curve, distances| curve.psi_of_each(distances, &mut psi))?;
        let gain: f64 = psi.iter().zip(&best).map(|(psi, best)| (psi - best).max(0.0)).sum();
        let entry = Entry { gain, index: Reverse(i) };
        if queue.peek().is_some_and(|next| *next > entry) {
            queue.push(entry);
            continue;
        }
        if gain < NOTHING && !cover.order.is_empty() {
            break;
        }
        for (best, psi) in best.iter_mut().zip(&psi) {
            *best = best.max(*psi);
        }
        cover.order.push(i);
        // A renewed gain can exceed the last one by rounding alone.
        let last = cover.gains.last().copied().unwrap_or(f32::INFINITY);
        cover.gains.push((gain as f32).min(last));
    }
    Ok(cover)
}

/// Calls `visit(position, curve, distances)` for each of `indices` and each part of the class.
fn each_psi(
    neighbors: &Neighbors<'_>,
    class: &Candidates<'_>,
    indices: &[usize],
    mut visit: impl FnMut(usize, &Curve, &mut dyn Iterator<Item = f32>),
) -> Result<(), RunError> {
    let metric = neighbors.metric();
    neighbors.visit(indices, |position, _, ranks| {
        let mut distances = ranks.iter().map(|&rank| metric.distance_of_rank(rank));
        visit(position, &class.curves[indices[position]], &mut distances);
    })
}
