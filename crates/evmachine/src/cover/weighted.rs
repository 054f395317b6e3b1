//! The weighted maximum-k cover: no threshold, no bisection.
//!
//! Maximises `sum_j max_{i chosen} psi_i(d_ij)` greedily. The sum is submodular, so the greedy choice reaches at
//! least 1 - 1/e of the best possible one.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::neighbors::Neighbors;
use super::{Candidates, Cover};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::Run;
use crate::psi::Curve;

/// Gains below this are rounding.
const NOTHING: f64 = 1e-12;

pub(super) fn cover(
    run: &Run<'_>,
    metric: &Metric,
    class: &Candidates<'_>,
    count: usize,
) -> Result<Cover, Halt> {
    let mut neighbors = Neighbors::new(metric, &class.points);
    if neighbors.bytes() <= run.memory {
        neighbors.keep(run)?;
    }
    let mut best = vec![0.0f64; class.len()];
    let all: Vec<usize> = (0..class.len()).collect();
    let gains: Result<Vec<Vec<f64>>, Halt> = all
        .par_chunks(run.block_rows(all.len()))
        .map(|indices| {
            rows(run, &neighbors, class, indices).map(|psi| psi.iter().map(|psi| psi.iter().sum()).collect())
        })
        .collect();
    let mut queue: BinaryHeap<Entry> = gains?
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, gain)| Entry { gain, index: Reverse(index) })
        .collect();
    let mut cover = Cover { order: Vec::new(), gains: Vec::new() };
    while cover.order.len() < count {
        let Some(Entry { index: Reverse(i), .. }) = queue.pop() else { break };
        let psi = rows(run, &neighbors, class, &[i])?.remove(0);
        let gain: f64 = psi.iter().zip(&best).map(|(psi, best)| (psi - best).max(0.0)).sum();
        let entry = Entry { gain, index: Reverse(i) };
        if queue.peek().is_some_and(|next| *next > entry) {
            queue.push(entry);
            continue;
        }
        if gain < NOTHING && !cover.order.is_empty() {
            break;
        }
        for (best, psi) in best.iter_mut().zip(psi) {
            *best = best.max(psi);
        }
        cover.order.push(i);
        // A renewed gain can exceed the last one by rounding alone.
        let last = cover.gains.last().copied().unwrap_or(f32::INFINITY);
        cover.gains.push((gain as f32).min(last));
    }
    Ok(cover)
}

/// `psi_i` at every point of the class, for each i of `indices`.
fn rows(
    run: &Run<'_>,
    neighbors: &Neighbors<'_>,
    class: &Candidates<'_>,
    indices: &[usize],
) -> Result<Vec<Vec<f64>>, Halt> {
    let mut psi: Vec<Vec<f64>> = vec![Vec::with_capacity(class.len()); indices.len()];
    let metric = neighbors.metric();
    neighbors.visit(indices, run.tile_columns, |row, _, ranks| {
        let curve: &Curve = &class.curves[indices[row]];
        let distances = ranks.iter().map(|&rank| metric.distance_of_rank(rank));
        curve.psi_of_each(distances, &mut psi[row]);
    })?;
    Ok(psi)
}

#[derive(PartialEq)]
struct Entry {
    gain: f64,
    index: Reverse<usize>,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
