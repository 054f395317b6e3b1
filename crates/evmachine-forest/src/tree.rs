//! A binary tree as an array of nodes: a node's left child follows it, the right one stands further on.

use evmachine_engine::Features;

/// Column of a leaf.
pub(crate) const LEAF: u32 = u32::MAX;

/// A question, or a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    /// Which column is asked; [`LEAF`] for a leaf.
    pub(crate) column: u32,
    /// Values up to this go left, larger ones right. 0 for a leaf.
    pub(crate) threshold: f32,
    /// Where the right child stands; for a leaf, its number.
    pub(crate) right: u32,
}

impl Node {
    pub(crate) fn leaf(number: u32) -> Self {
        Self { column: LEAF, threshold: 0.0, right: number }
    }
}

/// The number of the leaf that a row comes to from a root.
#[inline]
pub(crate) fn leaf_of(nodes: &[Node], root: u32, row: &[f32]) -> u32 {
    let mut at = root as usize;
    loop {
        let node = nodes[at];
        if node.column == LEAF {
            return node.right;
        }
        at = if row[node.column as usize] <= node.threshold { at + 1 } else { node.right as usize };
    }
}

/// The number of the leaf that a row comes to from each root, in the order of roots: several trees side by side, so that one goes on while
/// another waits for memory.
pub(crate) fn leaves_of_one(nodes: &[Node], roots: &[u32], row: &[f32], mut work: impl FnMut(u32)) {
    let groups = roots.chunks_exact(ABREAST);
    let rest = groups.remainder();
    for group in groups {
        let mut at: [usize; ABREAST] = std::array::from_fn(|lane| group[lane] as usize);
        let mut leaves = [LEAF; ABREAST];
        let mut open = ABREAST;
        while open > 0 {
            open = 0;
            for lane in 0..ABREAST {
                let node = nodes[at[lane]];
                if node.column == LEAF {
                    leaves[lane] = node.right;
                } else {
                    let goes_left = row[node.column as usize] <= node.threshold;
                    at[lane] = if goes_left { at[lane] + 1 } else { node.right as usize };
                    open += 1;
                }
            }
        }
        leaves.into_iter().for_each(&mut work);
    }
    for &root in rest {
        work(leaf_of(nodes, root, row));
    }
}

/// Rows that go down a tree side by side: while one waits for memory, the others go on.
const ABREAST: usize = 8;

/// Calls with each of `count` rows, the first of which is row `first`, and the number of the leaf that it comes to from a root.
pub(crate) fn each_leaf(
    nodes: &[Node],
    root: u32,
    (rows, first, count): (&Features<'_>, usize, usize),
    mut work: impl FnMut(usize, u32),
) {
    let whole = count / ABREAST * ABREAST;
    for start in (0..whole).step_by(ABREAST) {
        let group: [&[f32]; ABREAST] = std::array::from_fn(|lane| rows.row(first + start + lane));
        let mut at = [root as usize; ABREAST];
        let mut leaves = [LEAF; ABREAST];
        let mut open = ABREAST;
        while open > 0 {
            open = 0;
            for lane in 0..ABREAST {
                let node = nodes[at[lane]];
                if node.column == LEAF {
                    leaves[lane] = node.right;
                } else {
                    let goes_left = group[lane][node.column as usize] <= node.threshold;
                    at[lane] = if goes_left { at[lane] + 1 } else { node.right as usize };
                    open += 1;
                }
            }
        }
        for (lane, leaf) in leaves.into_iter().enumerate() {
            work(start + lane, leaf);
        }
    }
    for row in whole..count {
        work(row, leaf_of(nodes, root, rows.row(first + row)));
    }
}

/// Rows that meet all trees together: enough for a tree's nodes to pay their way from memory, few enough for every thread to have some.
pub(crate) fn block_rows(rows: usize) -> usize {
    (rows / (4 * rayon::current_num_threads())).next_multiple_of(ABREAST).clamp(ABREAST, 1024)
}

/// The threshold between two values: halfway, or the lower one if that rounds to the upper.
pub(crate) fn halfway(low: f32, high: f32) -> f32 {
    let middle = f32::midpoint(low, high);
    if middle < high { middle } else { low }
}
