//! Trees that each correct those before: gradient boosting over histograms, as scikit-learn's `HistGradientBoostingClassifier`.

mod bins;
mod grow;
mod loss;
mod options;

use evmachine_engine::{Features, Run, Stage};
use rayon::prelude::*;

use crate::error::{ForestError, same_size};
use crate::random::Random;
use crate::table;
use crate::tree::{LEAF, Node, block_rows, each_leaf, leaf_of};
use bins::Bins;
use grow::{Grower, Grown};
pub use options::BoostedOptions;

/// One row in so many is held out to know when to stop.
const HELD_OUT: usize = 10;
/// Rounds without a lower loss on held-out rows that end the growth.
const PATIENCE: usize = 10;
/// A loss counts as lower by more than this.
const TOLERANCE: f64 = 1e-7;

/// Gradient-boosted trees.
#[derive(Debug, Clone, PartialEq)]
pub struct Boosted {
    columns: usize,
    classes: usize,
    /// Classes with rows; the others have probability 0.
    present: Vec<u32>,
    start: Vec<f64>,
    /// Where each tree begins, one after the other for each logit, round after round.
    roots: Vec<u32>,
    nodes: Vec<Node>,
    /// What each leaf adds to the logit.
    values: Vec<f32>,
}

impl Boosted {
    /// Grows the trees. `labels` has the class of each row, a number below `classes`; a class need not have rows.
    ///
    /// With n rows in d columns each level of each tree costs about `n d / 2` additions, and each leaf `255 d`; there is a tree for
    /// each class and round, but one for two classes. The result is the same for any number of threads.
    pub fn fit(
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &[u32],
        classes: usize,
        options: &BoostedOptions,
    ) -> Result<Self, ForestError> {
        options.check()?;
        table::check(features, labels, classes)?;
        let present: Vec<u32> = {
            let mut present = labels.to_vec();
            present.sort_unstable();
            present.dedup();
            present
        };
        let numbers: Vec<usize> =
            labels.iter().map(|class| present.partition_point(|other| other < class)).collect();
        let (rows, held) = divided(&numbers, present.len(), options);
        let mut sizes = vec![0; present.len()];
        for &row in &rows {
            sizes[numbers[row]] += 1;
        }
        let mut boosted = Self {
            columns: features.columns(),
            classes,
            start: if present.len() > 1 { loss::start(&sizes) } else { Vec::new() },
            present,
            roots: Vec::new(),
            nodes: Vec::new(),
            values: Vec::new(),
        };
        if boosted.start.is_empty() {
            return Ok(boosted);
        }
        let width = boosted.start.len();
        let bins = Bins::new(features, &rows, options.seed);
        let grower = Grower::new(&bins, options);
        let own: Vec<usize> = rows.iter().map(|&row| numbers[row]).collect();
        let mut logits: Vec<f64> = boosted.start.repeat(rows.len());
        let mut held_logits: Vec<f64> = boosted.start.repeat(held.len());
        let held_loss = |logits: &[f64]| {
            let losses = logits.chunks_exact(width).zip(&held).map(|(row, &at)| loss::loss(row, numbers[at]));
            losses.sum::<f64>() / held.len() as f64
        };
        let mut losses = vec![held_loss(&held_logits)];
        let meter = run.meter(Stage::Forest, options.rounds);
        for _ in 0..options.rounds {
            let (gradients, hessians) = slopes(&logits, &own, width);
            let trees: Vec<Grown> = gradients
                .par_chunks_exact(rows.len())
                .zip(hessians.par_chunks_exact(rows.len()))
                .map(|(gradients, hessians)| grower.grow(gradients, hessians))
                .collect();
            for (number, tree) in trees.iter().enumerate() {
                for (logits, &leaf) in logits.chunks_exact_mut(width).zip(&tree.leaf_of) {
                    logits[number] += f64::from(tree.values[leaf as usize]);
                }
                for (logits, &row) in held_logits.chunks_exact_mut(width).zip(&held) {
                    let leaf = leaf_of(&tree.nodes, 0, features.row(row));
                    logits[number] += f64::from(tree.values[leaf as usize]);
                }
                boosted.push(tree)?;
            }
            meter.advance(1)?;
            if !held.is_empty() {
                losses.push(held_loss(&held_logits));
                if has_settled(&losses) {
                    break;
                }
            }
        }
        Ok(boosted)
    }

    fn push(&mut self, tree: &Grown) -> Result<(), ForestError> {
        let (root, leaf) = (self.nodes.len(), self.values.len());
        if root + tree.nodes.len() >= LEAF as usize {
            return Err(ForestError::TooLarge { what: "nodes" });
        }
        self.roots.push(root as u32);
        self.nodes.extend(tree.nodes.iter().map(|node| {
            let by = if node.column == LEAF { leaf } else { root };
            Node { right: node.right + by as u32, ..*node }
        }));
        self.values.extend_from_slice(&tree.values);
        Ok(())
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// Number of leaves of all trees.
    pub fn leaf_count(&self) -> usize {
        self.values.len()
    }

    /// Number of classes, those without rows included.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// For each row, the probability of each class.
    pub fn probabilities(&self, rows: &Features<'_>) -> Result<Vec<f64>, ForestError> {
        same_size("columns of the rows", self.columns, rows.columns())?;
        let width = self.start.len();
        let (mut all, block) = (vec![0.0; rows.rows() * self.classes], block_rows(rows.rows()));
        all.par_chunks_mut(block * self.classes).enumerate().for_each(|(number, all)| {
            let count = all.len() / self.classes;
            let mut logits = self.start.repeat(count);
            for (tree, &root) in self.roots.iter().enumerate() {
                each_leaf(&self.nodes, root, (rows, number * block, count), |row, leaf| {
                    logits[row * width + tree % width] += f64::from(self.values[leaf as usize]);
                });
            }
            let mut found = vec![1.0; self.present.len()];
            for (row, all) in all.chunks_exact_mut(self.classes).enumerate() {
                if width > 0 {
                    loss::probabilities(&logits[row * width..(row + 1) * width], &mut found);
                }
                for (&class, &probability) in self.present.iter().zip(&found) {
                    all[class as usize] = probability;
                }
            }
        });
        Ok(all)
    }
}

/// Rows to learn from and rows to be held out, both in order.
fn divided(numbers: &[usize], classes: usize, options: &BoostedOptions) -> (Vec<usize>, Vec<usize>) {
    if numbers.len() <= options.stop_early_above {
        return ((0..numbers.len()).collect(), Vec::new());
    }
    let mut random = Random::new(options.seed, 0);
    let mut is_held = vec![false; numbers.len()];
    for class in 0..classes {
        let mut rows: Vec<usize> = (0..numbers.len()).filter(|&row| numbers[row] == class).collect();
        for chosen in 0..rows.len() / HELD_OUT {
            let other = chosen + random.below(rows.len() - chosen);
            rows.swap(chosen, other);
            is_held[rows[chosen]] = true;
        }
    }
    (0..numbers.len()).partition(|&row| !is_held[row])
}

/// Gradients and hessians of the loss, all rows of the first logit first.
fn slopes(logits: &[f64], classes: &[usize], width: usize) -> (Vec<f32>, Vec<f32>) {
    let count = classes.len();
    let (mut gradients, mut hessians) = (vec![0.0; count * width], vec![0.0; count * width]);
    let mut found = vec![0.0; width.max(2)];
    for (row, (logits, &class)) in logits.chunks_exact(width).zip(classes).enumerate() {
        loss::probabilities(logits, &mut found);
        // The one logit of two classes is that of the second.
        let first = usize::from(width == 1);
        for (logit, &probability) in found[first..].iter().enumerate() {
            let own = if class == logit + first { 1.0 } else { 0.0 };
            gradients[logit * count + row] = (probability - own) as f32;
            hessians[logit * count + row] = (probability * (1.0 - probability)) as f32;
        }
    }
    (gradients, hessians)
}

/// Whether none of the last rounds had a lower loss than the one before them.
fn has_settled(losses: &[f64]) -> bool {
    let Some(before) = losses.len().checked_sub(PATIENCE + 1) else { return false };
    losses[before + 1..].iter().all(|&loss| loss >= losses[before] - TOLERANCE)
}
