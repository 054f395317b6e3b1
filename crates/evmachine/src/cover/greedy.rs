//! The greedy set cover of Alg. 3, evaluated lazily.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Covering;
use super::queue::Entry;
use super::sets::{Bits, Sets};
use crate::error::RunError;

/// Chooses the set that covers most of what is still uncovered, less its risk, ties to the lowest index, until all is covered,
/// nothing is worth its risk, or `limit` sets are chosen. Without risks, [`Covering::gains`] add up to the number of points
/// covered.
///
/// What a set would add can only fall as others are chosen. So an old figure is an upper bound, and a set whose
/// renewed figure still leads the queue leads all: few sets are counted more than once.
pub(super) fn cover(sets: &Sets<'_>, risks: Option<&[f64]>, limit: usize) -> Result<Covering, RunError> {
    let entry = |i: usize, count: u32| {
        let risk = risks.map_or(0.0, |risks| risks[i]);
        Entry { gain: f64::from(count) - risk, index: Reverse(i) }
    };
    let mut queue: BinaryHeap<Entry> = (0..sets.len()).map(|i| entry(i, sets.count(i))).collect();
    let mut covered = Bits::new(sets.len());
    let mut missing = sets.len() as u32;
    let mut cover = Covering { order: Vec::new(), gains: Vec::new() };
    while missing > 0 && cover.order.len() < limit {
        sets.check()?;
        let Some(Entry { index: Reverse(i), .. }) = queue.pop() else { break };
        let count = sets.uncovered(i, &covered)?;
        let entry = entry(i, count);
        if queue.peek().is_some_and(|next| *next > entry) {
            if count > 0 {
                queue.push(entry);
            }
            continue;
        }
        // A class keeps one point at least.
        if entry.gain <= 0.0 && !cover.order.is_empty() {
            break;
        }
        sets.cover(i, &mut covered)?;
        missing -= count;
        cover.order.push(i);
        cover.gains.push(entry.gain as f32);
    }
    Ok(cover)
}
