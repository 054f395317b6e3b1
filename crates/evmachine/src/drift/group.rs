//! A group among rows that lie low: the densest place, and who is there.

use evmachine_engine::features::Features;

/// Rows that make a group, at least.
const FEWEST: usize = 5;

/// The middle of a group and its members, by position.
pub(crate) struct Group {
    pub(crate) middle: usize,
    pub(crate) members: Vec<usize>,
}

/// Of the given rows, the most that lie around one of them as rows of one class lie around each other: two rows of a class are `2 spread^2`
/// apart on average, and a new class may be wider than others. `None` if these are too few to be a group, or less than a third.
pub(crate) fn densest(rows: &Features<'_>, among: &[usize], spread: f64) -> Option<Group> {
    let reach = 4.0 * spread * spread;
    let around = |&middle: &usize| {
        let near = |&&other: &&usize| {
            let pairs = rows.row(middle).iter().zip(rows.row(other));
            pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>() <= reach
        };
        Group { middle, members: among.iter().filter(near).copied().collect() }
    };
    let group = among.iter().map(around).max_by_key(|group| group.members.len())?;
    (group.members.len() >= FEWEST && 3 * group.members.len() >= among.len()).then_some(group)
}
