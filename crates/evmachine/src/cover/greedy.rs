//! The greedy set cover of Alg. 3, evaluated lazily.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Cover;
use super::sets::{Bits, Sets};
use crate::error::Halt;

/// Chooses the set that covers most of what is still uncovered, ties to the lowest index, until all is covered
/// or `limit` sets are chosen. [`Cover::gains`] tells which: they add up to the number of points covered.
///
/// What a set would add can only fall as others are chosen. So an old figure is an upper bound, and a set whose
/// renewed figure still leads the queue leads all: few sets are counted more than once.
pub(super) fn cover(sets: &Sets<'_>, limit: usize) -> Result<Cover, Halt> {
    let mut queue: BinaryHeap<(u32, Reverse<usize>)> =
        (0..sets.len()).map(|i| (sets.count(i), Reverse(i))).collect();
    let mut covered = Bits::new(sets.len());
    let mut missing = sets.len() as u32;
    let mut cover = Cover { order: Vec::new(), gains: Vec::new() };
    while missing > 0 && cover.order.len() < limit {
        sets.check()?;
        let Some((_, Reverse(i))) = queue.pop() else { break };
        let gain = sets.uncovered(i, &covered)?;
        let entry = (gain, Reverse(i));
        if queue.peek().is_some_and(|next| *next > entry) {
            if gain > 0 {
                queue.push(entry);
            }
            continue;
        }
        sets.cover(i, &mut covered)?;
        missing -= gain;
        cover.order.push(i);
        cover.gains.push(gain as f32);
    }
    Ok(cover)
}
