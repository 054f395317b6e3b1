//! One tree of a forest, from its root to its leaves.
//!
//! The rows of a node stay in the order of the table, class after class, so that counting classes on one side of a threshold is a
//! count over a stretch of values. A node of m rows costs a few operations for each row and column that is tried.

mod best;
mod random;
mod search;

use crate::options::{ForestOptions, SplitRule};
use crate::random::Random;
use crate::table::Table;
use crate::tree::Node;
use search::SplitSearch;

/// A tree, and for each of its leaves the share of each class that it holds.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Where the entries of each leaf end.
    pub(crate) ends: Vec<u32>,
    pub(crate) classes: Vec<u32>,
    pub(crate) shares: Vec<f32>,
}

/// Rows of one class in a node, which follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) class: u32,
    pub(crate) rows: u32,
}

/// A node that is still to be looked at.
struct Open {
    /// Its rows, as a range of all.
    first: usize,
    end: usize,
    /// Where its stretches begin; they are the last ones then.
    stretches: usize,
    depth: usize,
    /// How many columns are known to be constant.
    constants: usize,
    /// The node whose right child it is.
    right_of: Option<usize>,
}

/// How often each row of the table is in the bag of a tree that draws its rows.
pub(crate) fn bag(rows: usize, options: &ForestOptions, tree: usize) -> Vec<u32> {
    let mut random = Random::new(options.seed, 2 * tree as u64);
    let mut times = vec![0; rows];
    for _ in 0..rows {
        times[random.below(rows)] += 1;
    }
    times
}

/// The rows that a tree learns from, and how many of each class.
fn learned(table: &Table, options: &ForestOptions, tree: usize) -> (Vec<u32>, Vec<Stretch>) {
    let stretches = |sizes: &mut dyn Iterator<Item = u32>| -> Vec<Stretch> {
        let all = (0..).zip(sizes).map(|(class, rows)| Stretch { class, rows });
        all.filter(|stretch| stretch.rows > 0).collect()
    };
    if !options.bootstrap {
        return ((0..).take(table.rows()).collect(), stretches(&mut table.sizes.iter().copied()));
    }
    let times = bag(table.rows(), options, tree);
    let mut rest = &times[..];
    let mut sizes = table.sizes.iter().map(|&size| {
        let (own, others) = rest.split_at(size as usize);
        rest = others;
        own.iter().sum()
    });
    let stretches = stretches(&mut sizes);
    let rows = (0..).zip(&times).flat_map(|(row, &times)| std::iter::repeat_n(row, times as usize));
    (rows.collect(), stretches)
}

/// Grows the tree of that number.
pub(crate) fn grow(table: &Table, options: &ForestOptions, number: usize) -> Tree {
    let (mut rows, mut waiting) = learned(table, options, number);
    let mut aside = Vec::with_capacity(rows.len());
    let mut search = SplitSearch::new(table, options, Random::new(options.seed, 2 * number as u64 + 1));
    let mut tree = Tree::default();
    let whole = Open { first: 0, end: rows.len(), stretches: 0, depth: 0, constants: 0, right_of: None };
    let mut open = vec![whole];
    let mut stretches = Vec::new();
    while let Some(node) = open.pop() {
        let place = tree.nodes.len();
        if let Some(parent) = node.right_of {
            tree.nodes[parent].right = place as u32;
        }
        stretches.clear();
        stretches.extend(waiting.drain(node.stretches..));
        let own = &mut rows[node.first..node.end];
        let splits = stretches.len() > 1
            && own.len() >= options.min_samples_split.max(2 * options.min_samples_leaf)
            && options.max_depth.is_none_or(|most| node.depth < most);
        let split = if splits { search.split(own, &stretches, node.constants) } else { None };
        let Some(split) = split else {
            tree.push_leaf(&stretches, own.len());
            continue;
        };
        tree.nodes.push(Node { column: split.column, threshold: split.threshold, right: 0 });
        let values = search.best_values();
        let left = divide(own, values, split.threshold, &mut aside);
        // The right child's stretches first: the left child is looked at first, and takes the last ones.
        let mut first = 0;
        let counts = stretches.iter().map(|stretch| {
            let values = &values[first..first + stretch.rows as usize];
            first += stretch.rows as usize;
            (*stretch, random::count(values, split.threshold))
        });
        let right_stretches = waiting.len();
        let mut lefts = Vec::with_capacity(stretches.len());
        for (stretch, left) in counts {
            if left < stretch.rows {
                waiting.push(Stretch { rows: stretch.rows - left, ..stretch });
            }
            if left > 0 {
                lefts.push(Stretch { rows: left, ..stretch });
            }
        }
        let left_stretches = waiting.len();
        waiting.append(&mut lefts);
        let (middle, depth, constants) = (node.first + left, node.depth + 1, split.constants);
        let child =
            |first, end, stretches, right_of| Open { first, end, stretches, depth, constants, right_of };
        open.push(child(middle, node.end, right_stretches, Some(place)));
        open.push(child(node.first, middle, left_stretches, None));
    }
    tree
}

impl Tree {
    fn push_leaf(&mut self, stretches: &[Stretch], rows: usize) {
        self.nodes.push(Node::leaf(self.ends.len() as u32));
        for stretch in stretches {
            self.classes.push(stretch.class);
            self.shares.push((f64::from(stretch.rows) / rows as f64) as f32);
        }
        self.ends.push(self.classes.len() as u32);
    }
}

/// Brings rows whose values are up to the threshold to the front, and keeps the order on both sides. Says how many they are.
fn divide(rows: &mut [u32], values: &[f32], threshold: f32, aside: &mut Vec<u32>) -> usize {
    aside.clear();
    aside.resize(rows.len(), 0);
    let (mut left, mut right) = (0, 0);
    // Without branches: which side a row goes to cannot be foretold.
    for index in 0..rows.len() {
        let row = rows[index];
        let goes_left = usize::from(values[index] <= threshold);
        rows[left] = row;
        aside[right] = row;
        left += goes_left;
        right += 1 - goes_left;
    }
    rows[left..].copy_from_slice(&aside[..right]);
    left
}

impl ForestOptions {
    fn is_random(&self) -> bool {
        self.split == SplitRule::Random
    }
}
