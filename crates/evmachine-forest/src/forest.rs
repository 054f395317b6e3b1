//! Trees that are independent of each other, and what they say together.

use evmachine_engine::{Features, Run, Stage};
use rayon::prelude::*;

use crate::error::{ForestError, same_size};
use crate::grow::{self, Tree};
use crate::options::ForestOptions;
use crate::table::{self, Table};
use crate::tree::{LEAF, Node, block_rows, each_leaf, leaf_of, leaves_of_one};

/// A forest of extremely randomised trees, or a random forest. About 12 bytes a node and 12 a leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    pub(crate) columns: usize,
    pub(crate) classes: usize,
    /// Where each tree begins.
    pub(crate) roots: Vec<u32>,
    pub(crate) nodes: Vec<Node>,
    /// Where the classes of each leaf end.
    pub(crate) leaf_ends: Vec<u32>,
    /// The classes in each leaf, and their shares of its rows.
    pub(crate) leaf_classes: Vec<u32>,
    pub(crate) leaf_shares: Vec<f32>,
    /// The class of each leaf that has one alone, or [`LEAF`]: most leaves, found without a look at the three arrays above.
    pub(crate) alone: Vec<u32>,
}

impl Forest {
    /// Grows a forest. `labels` has the class of each row, a number below `classes`; a class need not have rows.
    ///
    /// With n rows in d columns, each tree costs a few operations for each of `n sqrt(d)` values on each of its levels, of which
    /// there are some `2 log2 n`; random forests sort these values. Trees grow in parallel, each with a seed of its own, and are the
    /// same for any number of threads.
    pub fn fit(
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &[u32],
        classes: usize,
        options: &ForestOptions,
    ) -> Result<Self, ForestError> {
        options.check()?;
        let table = Table::new(features, labels, classes)?;
        let meter = run.meter(Stage::Forest, options.trees);
        let trees: Vec<Tree> = (0..options.trees)
            .into_par_iter()
            .map(|number| {
                meter.check()?;
                let tree = grow::grow(&table, options, number);
                meter.advance(1)?;
                Ok(tree)
            })
            .collect::<Result<_, ForestError>>()?;
        Self::of(features.columns(), classes, &trees)
    }

    fn of(columns: usize, classes: usize, trees: &[Tree]) -> Result<Self, ForestError> {
        let total = |what, count: fn(&Tree) -> usize| {
            let sum: usize = trees.iter().map(count).sum();
            if sum >= LEAF as usize { Err(ForestError::TooLarge { what }) } else { Ok(sum) }
        };
        let nodes = total("nodes", |tree| tree.nodes.len())?;
        let entries = total("classes in leaves", |tree| tree.classes.len())?;
        let mut forest = Self {
            columns,
            classes,
            roots: Vec::with_capacity(trees.len()),
            nodes: Vec::with_capacity(nodes),
            leaf_ends: Vec::new(),
            leaf_classes: Vec::with_capacity(entries),
            leaf_shares: Vec::with_capacity(entries),
            alone: Vec::new(),
        };
        for tree in trees {
            let (root, leaf) = (forest.nodes.len() as u32, forest.leaf_ends.len() as u32);
            let entry = forest.leaf_classes.len() as u32;
            forest.roots.push(root);
            forest.nodes.extend(tree.nodes.iter().map(|node| {
                let by = if node.column == LEAF { leaf } else { root };
                Node { right: node.right + by, ..*node }
            }));
            forest.leaf_ends.extend(tree.ends.iter().map(|end| end + entry));
            forest.leaf_classes.extend_from_slice(&tree.classes);
            forest.leaf_shares.extend_from_slice(&tree.shares);
        }
        forest.find_alone();
        Ok(forest)
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// Number of classes, those without rows included.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of leaves of all trees.
    pub fn leaf_count(&self) -> usize {
        self.leaf_ends.len()
    }

    /// For each row, the probability of each class: the mean, over trees, of the class's share of the leaf that the row comes to.
    pub fn probabilities(&self, rows: &Features<'_>) -> Result<Vec<f64>, ForestError> {
        same_size("columns of the rows", self.columns, rows.columns())?;
        let (mut all, block) = (vec![0.0; rows.rows() * self.classes], block_rows(rows.rows()));
        all.par_chunks_mut(block * self.classes).enumerate().for_each(|(number, sums)| {
            let part = (rows, number * block, sums.len() / self.classes);
            for &root in &self.roots {
                each_leaf(&self.nodes, root, part, |row, leaf| {
                    self.add(leaf, &mut sums[row * self.classes..(row + 1) * self.classes]);
                });
            }
            for sum in sums {
                *sum /= self.trees() as f64;
            }
        });
        Ok(all)
    }

    /// As [`probabilities`](Self::probabilities), bit for bit, for one row on the calling thread, written to `all` in the memory that it has.
    pub fn probabilities_of_one(&self, row: &[f32], all: &mut Vec<f64>) -> Result<(), ForestError> {
        same_size("columns of the row", self.columns, row.len())?;
        all.clear();
        all.resize(self.classes, 0.0);
        leaves_of_one(&self.nodes, &self.roots, row, |leaf| self.add(leaf, all));
        for sum in all {
            *sum /= self.trees() as f64;
        }
        Ok(())
    }

    /// For each row, the number of the leaf that it comes to in each tree; leaves are counted through all trees.
    pub fn leaves(&self, rows: &Features<'_>) -> Result<Vec<u32>, ForestError> {
        same_size("columns of the rows", self.columns, rows.columns())?;
        let (mut all, block) = (vec![0; rows.rows() * self.trees()], block_rows(rows.rows()));
        all.par_chunks_mut(block * self.trees()).enumerate().for_each(|(number, leaves)| {
            let part = (rows, number * block, leaves.len() / self.trees());
            for (tree, &root) in self.roots.iter().enumerate() {
                each_leaf(&self.nodes, root, part, |row, leaf| leaves[row * self.trees() + tree] = leaf);
            }
        });
        Ok(all)
    }

    /// For each training row, the probability of each class by those trees alone that did not learn from it. All of them are 0 for a
    /// row that every tree learned from, of which there is none but with few trees.
    ///
    /// Takes what the forest was grown from, with [`bootstrap`](ForestOptions::bootstrap).
    pub fn out_of_bag(
        &self,
        features: &Features<'_>,
        labels: &[u32],
        options: &ForestOptions,
    ) -> Result<Vec<f64>, ForestError> {
        table::check(features, labels, self.classes)?;
        same_size("columns of the rows", self.columns, features.columns())?;
        same_size("trees of the options", self.trees(), options.trees)?;
        if !options.bootstrap {
            return Err(ForestError::Option {
                name: "bootstrap",
                value: 0.0,
                allowed: "on, or no row is out of a bag",
            });
        }
        let places = table::places(labels);
        let bags: Vec<Vec<bool>> = (0..self.trees())
            .into_par_iter()
            .map(|tree| grow::bag(labels.len(), options, tree).iter().map(|&times| times > 0).collect())
            .collect();
        let mut all = vec![0.0; labels.len() * self.classes];
        all.par_chunks_mut(self.classes).enumerate().for_each(|(row, sums)| {
            let mut heard = 0.0;
            for (&root, bag) in self.roots.iter().zip(&bags) {
                if !bag[places[row] as usize] {
                    heard += 1.0;
                    self.add(leaf_of(&self.nodes, root, features.row(row)), sums);
                }
            }
            for sum in sums {
                *sum /= f64::max(heard, 1.0);
            }
        });
        Ok(all)
    }

    /// Finds the leaves of one class alone.
    pub(crate) fn find_alone(&mut self) {
        let firsts = std::iter::once(&0).chain(&self.leaf_ends);
        let alone = firsts.zip(&self.leaf_ends).map(|(&first, &end)| {
            let is_alone = end - first == 1 && self.leaf_shares[first as usize] == 1.0;
            if is_alone { self.leaf_classes[first as usize] } else { LEAF }
        });
        self.alone = alone.collect();
    }

    /// Adds the shares of a leaf's classes.
    fn add(&self, leaf: u32, sums: &mut [f64]) {
        let leaf = leaf as usize;
        let alone = self.alone[leaf];
        if alone != LEAF {
            sums[alone as usize] += 1.0;
            return;
        }
        let first = if leaf == 0 { 0 } else { self.leaf_ends[leaf - 1] as usize };
        for entry in first..self.leaf_ends[leaf] as usize {
            sums[self.leaf_classes[entry] as usize] += f64::from(self.leaf_shares[entry]);
        }
    }
}
