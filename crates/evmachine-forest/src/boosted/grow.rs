//! One boosted tree: leaves are split best first, by sums of gradients and hessians in the bins of columns.

use std::ops::Range;

use rayon::prelude::*;

use super::bins::Bins;
use super::options::BoostedOptions;
use crate::tree::Node;

/// No side of a split has a smaller sum of hessians.
const LEAST_HESSIAN: f64 = 1e-3;
/// Keeps a leaf without any hessian from dividing by 0.
const TINY: f64 = 1e-15;
/// Values from which on the columns of a histogram are divided among threads.
const MANY: usize = 1 << 16;

/// Sums over rows.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    gradient: f64,
    hessian: f64,
    rows: u32,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.gradient += other.gradient;
        self.hessian += other.hessian;
        self.rows += other.rows;
    }

    fn less(self, other: Self) -> Self {
        Self {
            gradient: self.gradient - other.gradient,
            hessian: self.hessian - other.hessian,
            rows: self.rows - other.rows,
        }
    }

    /// What a leaf adds to the logit of its rows, before the learning rate.
    fn value(self, l2: f64) -> f64 {
        -self.gradient / (self.hessian + l2 + TINY)
    }

    /// Twice the loss that such a leaf would have saved.
    fn gain(self, l2: f64) -> f64 {
        -self.gradient * self.value(l2)
    }
}

#[derive(Debug, Clone, Copy)]
struct Split {
    gain: f64,
    column: usize,
    /// The last bin that goes left.
    bin: usize,
    left: Sums,
}

/// A node that may be split.
struct Candidate {
    place: usize,
    rows: Range<usize>,
    sums: Sums,
    /// Sums in each bin of each column.
    histogram: Vec<Sums>,
    split: Split,
}

/// A node as it was made; leaves until they get children.
struct Made {
    sums: Sums,
    rows: Range<usize>,
    children: Option<(Split, usize, usize)>,
}

/// Grows trees over the same rows.
pub(super) struct Grower<'a> {
    bins: &'a Bins,
    options: &'a BoostedOptions,
    /// Where the bins of each column begin in a histogram.
    offsets: Vec<usize>,
}

/// A tree, whose leaves are numbered from 0, and what it adds to rows.
pub(super) struct Grown {
    pub(super) nodes: Vec<Node>,
    pub(super) values: Vec<f32>,
    /// The leaf of each training row.
    pub(super) leaf_of: Vec<u32>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(bins: &'a Bins, options: &'a BoostedOptions) -> Self {
        let mut offsets = vec![0];
        for thresholds in &bins.thresholds {
            offsets.push(offsets[offsets.len() - 1] + thresholds.len() + 1);
        }
        Self { bins, options, offsets }
    }

    /// A tree that follows the gradients and hessians of the loss.
    pub(super) fn grow(&self, gradients: &[f32], hessians: &[f32]) -> Grown {
        let count = self.bins.rows();
        let least = self.options.min_samples_leaf;
        let mut rows: Vec<u32> = (0..).take(count).collect();
        let histogram = self.histogram(&rows, gradients, hessians);
        let mut sums = Sums::default();
        histogram[..self.offsets[1]].iter().for_each(|bin| sums.add(*bin));
        let mut made = vec![Made { sums, rows: 0..count, children: None }];
        let mut open = Vec::new();
        if count >= 2 * least && sums.hessian >= LEAST_HESSIAN {
            open.extend(self.candidate(0, &made[0], histogram));
        }
        let mut leaves = 1;
        while leaves < self.options.max_leaves
            && let Some(at) = best(&open)
        {
            let Candidate { place, rows: range, sums, mut histogram, split } = open.remove(at);
            let column = self.bins.column(split.column);
            let middle = range.start + divide(&mut rows[range.clone()], column, split.bin);
            leaves += 1;
            let children = made.len();
            made[place].children = Some((split, children, children + 1));
            made.push(Made { sums: split.left, rows: range.start..middle, children: None });
            made.push(Made { sums: sums.less(split.left), rows: middle..range.end, children: None });
            let splittable = |child: usize| made[child].rows.len() >= 2 * least;
            if leaves == self.options.max_leaves || !(splittable(children) || splittable(children + 1)) {
                continue;
            }
            // The rows of the smaller child are summed; the other one has what is left of the parent's sums.
            let left_is_smaller = made[children].rows.len() < made[children + 1].rows.len();
            let (small, large) =
                if left_is_smaller { (children, children + 1) } else { (children + 1, children) };
            let own = self.histogram(&rows[made[small].rows.clone()], gradients, hessians);
            histogram.iter_mut().zip(&own).for_each(|(all, own)| *all = all.less(*own));
            for (child, histogram) in [(small, own), (large, histogram)] {
                if splittable(child) {
                    open.extend(self.candidate(child, &made[child], histogram));
                }
            }
        }
        self.finish(&made, &rows)
    }

    /// The best split of a node; `None` if nothing is gained by any.
    fn candidate(&self, place: usize, node: &Made, histogram: Vec<Sums>) -> Option<Candidate> {
        let (l2, least) = (self.options.l2, self.options.min_samples_leaf as u32);
        let whole = node.sums.gain(l2);
        let mut best: Option<Split> = None;
        for column in 0..self.bins.thresholds.len() {
            let bins = &histogram[self.offsets[column]..self.offsets[column + 1]];
            let mut left = Sums::default();
            for (bin, sums) in bins[..bins.len() - 1].iter().enumerate() {
                left.add(*sums);
                if left.rows < least || left.hessian < LEAST_HESSIAN {
                    continue;
                }
                let right = node.sums.less(left);
                if right.rows < least || right.hessian < LEAST_HESSIAN {
                    break;
                }
                let gain = left.gain(l2) + right.gain(l2) - whole;
                if gain > best.map_or(0.0, |best| best.gain) {
                    best = Some(Split { gain, column, bin, left });
                }
            }
        }
        best.map(|split| Candidate { place, rows: node.rows.clone(), sums: node.sums, histogram, split })
    }

    /// Sums of some rows in each bin of each column.
    fn histogram(&self, rows: &[u32], gradients: &[f32], hessians: &[f32]) -> Vec<Sums> {
        let own: Vec<(f32, f32)> =
            rows.iter().map(|&row| (gradients[row as usize], hessians[row as usize])).collect();
        let mut histogram = vec![Sums::default(); self.offsets[self.offsets.len() - 1]];
        let mut columns = Vec::with_capacity(self.bins.thresholds.len());
        let mut rest = &mut histogram[..];
        for (column, thresholds) in self.bins.thresholds.iter().enumerate() {
            let (bins, others) = rest.split_at_mut(thresholds.len() + 1);
            rest = others;
            columns.push((self.bins.column(column), bins));
        }
        let fill = |(codes, bins): (&[u8], &mut [Sums])| {
            for (&row, &(gradient, hessian)) in rows.iter().zip(&own) {
                let bin = &mut bins[codes[row as usize] as usize];
                bin.gradient += f64::from(gradient);
                bin.hessian += f64::from(hessian);
                bin.rows += 1;
            }
        };
        if rows.len() * columns.len() >= MANY {
            columns.into_par_iter().for_each(fill);
        } else {
            columns.into_iter().for_each(fill);
        }
        histogram
    }

    /// Nodes in their order, left before right, with the values of the leaves.
    fn finish(&self, made: &[Made], rows: &[u32]) -> Grown {
        let mut grown =
            Grown { nodes: Vec::with_capacity(made.len()), values: Vec::new(), leaf_of: vec![0; rows.len()] };
        let mut open = vec![(0, None)];
        while let Some((place, right_of)) = open.pop() {
            let at = grown.nodes.len();
            if let Some(parent) = right_of {
                let parent: &mut Node = &mut grown.nodes[parent];
                parent.right = at as u32;
            }
            if let Some((split, left, right)) = made[place].children {
                let threshold = self.bins.thresholds[split.column][split.bin];
                grown.nodes.push(Node { column: split.column as u32, threshold, right: 0 });
                open.push((right, Some(at)));
                open.push((left, None));
                continue;
            }
            let leaf = grown.values.len() as u32;
            grown.nodes.push(Node::leaf(leaf));
            let value = self.options.learning_rate * made[place].sums.value(self.options.l2);
            grown.values.push(value as f32);
            for &row in &rows[made[place].rows.clone()] {
                grown.leaf_of[row as usize] = leaf;
            }
        }
        grown
    }
}

/// Where the candidate stands that gains most; the first of equal ones.
fn best(open: &[Candidate]) -> Option<usize> {
    let gains = open.iter().map(|candidate| candidate.split.gain).enumerate();
    gains
        .fold(None, |best: Option<(usize, f64)>, next| match best {
            Some(best) if best.1 >= next.1 => Some(best),
            _ => Some(next),
        })
        .map(|(at, _)| at)
}

/// Brings rows up to a bin to the front, and keeps the order on both sides. Says how many they are.
fn divide(rows: &mut [u32], codes: &[u8], bin: usize) -> usize {
    let (left, right): (Vec<u32>, Vec<u32>) =
        rows.iter().partition(|&&row| codes[row as usize] as usize <= bin);
    rows[..left.len()].copy_from_slice(&left);
    rows[left.len()..].copy_from_slice(&right);
    left.len()
}
