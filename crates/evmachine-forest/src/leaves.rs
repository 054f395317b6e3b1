//! Rows found by the leaves that they share.

use crate::error::{ForestError, same_size};
use crate::forest::Forest;

/// Rows by the leaves that they come to, so that distances to all of them cost no more than the rows that share a leaf with the query.
///
/// The distance of two rows is the share of trees in which they come to different leaves. Takes 4 bytes for each row and tree, and 8 a
/// leaf.
#[derive(Debug, Clone)]
pub struct LeafIndex {
    rows: usize,
    trees: usize,
    /// Where the rows of each leaf begin.
    starts: Vec<usize>,
    members: Vec<u32>,
}

impl LeafIndex {
    /// Of rows whose [leaves](Forest::leaves) are given, row after row.
    pub fn new(forest: &Forest, leaves: &[u32]) -> Result<Self, ForestError> {
        let trees = forest.trees();
        same_size("leaves of the last row", 0, leaves.len() % trees)?;
        let mut starts = vec![0; forest.leaf_count() + 1];
        for &leaf in leaves {
            let Some(count) = starts.get_mut(leaf as usize + 1) else {
                return Err(ForestError::Arrays(format!("leaf {leaf} of {}", forest.leaf_count())));
            };
            *count += 1;
        }
        for leaf in 1..starts.len() {
            starts[leaf] += starts[leaf - 1];
        }
        let mut next = starts.clone();
        let mut members = vec![0; leaves.len()];
        for (row, leaves) in (0..).zip(leaves.chunks_exact(trees)) {
            for &leaf in leaves {
                members[next[leaf as usize]] = row;
                next[leaf as usize] += 1;
            }
        }
        Ok(Self { rows: leaves.len() / trees, trees, starts, members })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The distance of a query to each row, from 0 to 1. Leaves that no row is in are shared with none.
    pub fn distances(&self, leaves: &[u32]) -> Vec<f32> {
        let mut shared = vec![0u32; self.rows];
        for &leaf in leaves {
            let bounds = (self.starts.get(leaf as usize), self.starts.get(leaf as usize + 1));
            if let (Some(&first), Some(&end)) = bounds {
                self.members[first..end].iter().for_each(|&row| shared[row as usize] += 1);
            }
        }
        let trees = self.trees as f32;
        shared.iter().map(|&shared| (self.trees as u32).saturating_sub(shared) as f32 / trees).collect()
    }
}
