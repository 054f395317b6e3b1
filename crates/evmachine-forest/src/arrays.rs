//! A forest as plain arrays, for a file, and back.

use crate::error::ForestError;
use crate::forest::Forest;
use crate::tree::{LEAF, Node};

/// A forest as arrays. The first three of `column`, `threshold` and `right` have an entry for each node, tree after tree, and in a tree
/// each node before its left child, all on the left before the right child.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForestArrays {
    /// Number of columns of a row.
    pub columns: usize,
    /// Number of classes.
    pub classes: usize,
    /// The place of each tree's root among the nodes.
    pub roots: Vec<u32>,
    /// Which column a node asks; `u32::MAX` for a leaf.
    pub column: Vec<u32>,
    /// Rows whose value is at most this go on with the next node, others with the right child.
    pub threshold: Vec<f32>,
    /// The place of the right child; for a leaf, its number, counted through all trees.
    pub right: Vec<u32>,
    /// Where the classes of each leaf end; they begin where those of the leaf before end.
    pub leaf_ends: Vec<u32>,
    /// The classes that have rows in a leaf.
    pub leaf_classes: Vec<u32>,
    /// Their shares of its rows.
    pub leaf_shares: Vec<f32>,
}

impl From<&Forest> for ForestArrays {
    fn from(forest: &Forest) -> Self {
        Self {
            columns: forest.columns,
            classes: forest.classes,
            roots: forest.roots.clone(),
            column: forest.nodes.iter().map(|node| node.column).collect(),
            threshold: forest.nodes.iter().map(|node| node.threshold).collect(),
            right: forest.nodes.iter().map(|node| node.right).collect(),
            leaf_ends: forest.leaf_ends.clone(),
            leaf_classes: forest.leaf_classes.clone(),
            leaf_shares: forest.leaf_shares.clone(),
        }
    }
}

impl TryFrom<ForestArrays> for Forest {
    type Error = ForestError;

    /// Refuses arrays in which a row could lose its way: they may come from a stranger.
    fn try_from(arrays: ForestArrays) -> Result<Self, ForestError> {
        let bad = |message: String| Err(ForestError::Arrays(message));
        let count = arrays.column.len();
        if arrays.threshold.len() != count || arrays.right.len() != count {
            let (thresholds, rights) = (arrays.threshold.len(), arrays.right.len());
            return bad(format!("{count} columns, {thresholds} thresholds and {rights} right children"));
        }
        if arrays.roots.first() != Some(&0) || !arrays.roots.is_sorted_by(|a, b| a < b) {
            return bad("roots do not ascend from 0".to_owned());
        }
        if arrays.classes == 0 || arrays.columns == 0 {
            return bad("no classes or no columns".to_owned());
        }
        let ends = arrays.roots[1..].iter().map(|&root| root as usize).chain([count]);
        let mut leaves = 0;
        for (&root, end) in arrays.roots.iter().zip(ends) {
            if end > count || root as usize >= end {
                return bad(format!("root {root} of {count} nodes"));
            }
            for at in root as usize..end {
                let (column, right) = (arrays.column[at], arrays.right[at] as usize);
                if column == LEAF {
                    if right != leaves {
                        return bad(format!("node {at} is leaf {right}, but leaf {leaves} is next"));
                    }
                    leaves += 1;
                } else if column as usize >= arrays.columns || !arrays.threshold[at].is_finite() {
                    return bad(format!("node {at} asks column {column} of {}", arrays.columns));
                } else if right <= at + 1 || right >= end {
                    return bad(format!("the right child of node {at} stands at {right}"));
                }
            }
        }
        let entries = arrays.leaf_classes.len();
        let ascend = arrays.leaf_ends.is_sorted() && arrays.leaf_ends.last() == Some(&(entries as u32));
        if arrays.leaf_ends.len() != leaves || !ascend || arrays.leaf_shares.len() != entries {
            return bad(format!("the classes of {leaves} leaves do not fit their ends"));
        }
        if arrays.leaf_classes.iter().any(|&class| class as usize >= arrays.classes) {
            return bad(format!("a leaf has a class beyond the last of {}", arrays.classes));
        }
        if !arrays.leaf_shares.iter().all(|share| (0.0..=1.0).contains(share)) {
            return bad("a share of a leaf is not from 0 to 1".to_owned());
        }
        let nodes = arrays.column.iter().zip(&arrays.threshold).zip(&arrays.right);
        let mut forest = Self {
            columns: arrays.columns,
            classes: arrays.classes,
            roots: arrays.roots,
            nodes: nodes.map(|((&column, &threshold), &right)| Node { column, threshold, right }).collect(),
            leaf_ends: arrays.leaf_ends,
            leaf_classes: arrays.leaf_classes,
            leaf_shares: arrays.leaf_shares,
            alone: Vec::new(),
        };
        forest.find_alone();
        Ok(forest)
    }
}
