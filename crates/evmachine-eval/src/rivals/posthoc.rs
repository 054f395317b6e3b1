//! Scores that are made, after training, of the features and the logits of a linear classifier.
//!
//! h is a standardised row, z its logits and y the class of the largest; W are the weights of standardised rows, whose mean is 0. For
//! each class c, `m_c` is the mean of its training rows, and `r_c` and `s_c` are mean and deviation of those that the classifier is right
//! about.
//!
//! | | score |
//! |---|---|
//! | GEN (Liu et al. 2023) | `-sum p^0.1 (1 - p)^0.1` over the 100 largest probabilities |
//! | `NNGuide` (Park et al. 2023) | `E(h)` times the mean of the 10 largest `cos(h, h_i) E(h_i)` over training rows, `E = ln sum exp z` |
//! | NCI (Liu and Qin, 2025) | `W_y h / length(h)`, plus a thousandth of the sum of magnitudes |
//! | `fDBD` (Liu and Qin, 2024) | mean over c of `(z_y - z_c) / length(W_y - W_c)`, divided by `length(h)` |
//! | SHE (Zhang et al. 2023) | `h m_y` |
//! | GHOST (Rabinowitz et al. 2025) | `z_y` over the sum of magnitudes of `(h - r_y) / s_y` |
//! | `PostMax` (Cruz et al. 2024) | `z_y / length(h)` |
//! | COSTARR (Rabinowitz et al. 2025) | `l (cos(h, r_y) + cos(h W_y, r_y W_y)) / 2`, l being `z_y` on a scale where the largest logits of training rows go from 0 to 1 |
//!
//! GHOST and `PostMax` are published with a generalised Pareto distribution fitted to the score; it changes no ranking (of GHOST, none
//! within a class).

use evmachine::Labels;
use faer::{ColRef, Mat};
use rayon::prelude::*;

use super::Rival;
use super::linear::{Linear, Logits};
use super::rows::{Rows, squared_lengths};
use super::standard::Standard;

/// Probabilities that GEN looks at.
const LARGEST: usize = 100;
const EXPONENT: f64 = 0.1;
/// Training rows that guide; a tenth of them if there are fewer than 100.
const GUIDES: usize = 10;
/// How much the sum of magnitudes counts for NCI.
const MAGNITUDE: f64 = 1e-3;
/// Added to deviations within a class.
const LEAST_DEVIATION: f64 = 1e-3;
/// Stands in for a length of 0.
const LEAST_LENGTH: f64 = 1e-12;
/// Queries that meet all training rows at once.
const QUERIES: usize = 512;

/// What the scores need of the training rows.
pub(crate) struct Posthoc<'a> {
    linear: Linear<'a>,
    standard: Standard,
    /// Weights of standardised rows, a column for each class.
    weights: Mat<f64>,
    /// `length(W_a - W_b)`.
    gaps: Mat<f64>,
    /// `m_c`, `r_c` and `s_c`, a column for each class.
    means: Mat<f64>,
    right: Mat<f64>,
    deviations: Mat<f64>,
    /// The least and the largest of the training rows' largest logits.
    range: (f64, f64),
}

impl<'a> Posthoc<'a> {
    /// From training rows and what their logits come to.
    pub(crate) fn fit((train, labels): (&Rows<'_>, &Labels), linear: Linear<'a>, logits: &[Logits]) -> Self {
        let (d, classes) = (train.dimensions(), labels.names().len());
        let class_of = |row: usize| labels.ids()[row] as usize;
        let is_right = |row: usize| logits[row].best == class_of(row);
        let standard = Standard::fit(train);
        let matrix = linear.matrix(d);
        let weights = Mat::from_fn(d, classes, |row, class| matrix[(class, row)] * standard.deviation[row]);
        let mut means = train.means(classes, class_of);
        standard.apply(&mut means);

        let mut counts = vec![0.0; classes];
        let (mut right, mut squares) = (Mat::<f64>::zeros(d, classes), Mat::<f64>::zeros(d, classes));
        // The deviation is that around the class's own mean of all rows, less how far the mean of right rows is from it: digits are kept.
        each_standard(train, &standard, |row, h| {
            if !is_right(row) {
                return;
            }
            let class = class_of(row);
            counts[class] += 1.0;
            for (at, (value, mean)) in h.iter().zip(means.col(class).iter()).enumerate() {
                right[(at, class)] += value - mean;
                squares[(at, class)] += (value - mean) * (value - mean);
            }
        });
        let mut deviations = Mat::zeros(d, classes);
        for class in 0..classes {
            let count = f64::max(counts[class], 1.0);
            for at in 0..d {
                let shift = right[(at, class)] / count;
                right[(at, class)] = means[(at, class)] + shift;
                // A class of which one row is right, or none, has the deviation of all rows, which is 1.
                let variance: f64 = squares[(at, class)] / count - shift * shift;
                let deviation = if counts[class] > 1.0 { variance.max(0.0).sqrt() } else { 1.0 };
                deviations[(at, class)] = deviation + LEAST_DEVIATION;
            }
        }
        let largest = || logits.iter().map(|logits| logits.largest);
        let range = (largest().fold(f64::INFINITY, f64::min), largest().fold(f64::NEG_INFINITY, f64::max));
        Self { linear, gaps: gaps(&weights), standard, weights, means, right, deviations, range }
    }

    /// For each of `chosen`, which take logits and standardised rows, the class and score of each query.
    pub(crate) fn scores(&self, queries: &Rows<'_>, chosen: &[Rival]) -> Vec<Vec<(usize, f64)>> {
        let mut all = vec![Vec::with_capacity(queries.len()); chosen.len()];
        for block in queries.blocks() {
            let mut columns = queries.columns(block);
            let logits = self.linear.of_columns(&columns);
            self.standard.apply(&mut columns);
            let found: Vec<Vec<(usize, f64)>> = (0..columns.ncols())
                .into_par_iter()
                .map(|query| {
                    let (h, z) = (columns.col(query), logits.col(query));
                    let best = Logits::of(z);
                    chosen.iter().map(|&rival| (best.best, self.score(rival, h, z, best))).collect()
                })
                .collect();
            for found in found {
                all.iter_mut().zip(found).for_each(|(all, found)| all.push(found));
            }
        }
        all
    }

    fn score(&self, rival: Rival, h: ColRef<'_, f64>, z: ColRef<'_, f64>, logits: Logits) -> f64 {
        let class = logits.best;
        let weights = self.weights.col(class);
        let length = dot(h, h).sqrt().max(LEAST_LENGTH);
        match rival {
            Rival::Gen => generalized_entropy(z, logits),
            Rival::Nci => {
                dot(weights, h) / length + MAGNITUDE * h.iter().map(|value| value.abs()).sum::<f64>()
            }
            Rival::Fdbd => {
                let others = (0..z.nrows()).filter(|&other| other != class);
                let sum: f64 =
                    others.map(|other| (logits.largest - z[other]) / self.gaps[(other, class)]).sum();
                sum / (z.nrows() - 1).max(1) as f64 / length
            }
            Rival::She => dot(h, self.means.col(class)),
            Rival::Ghost => {
                let pairs = h.iter().zip(self.right.col(class).iter()).zip(self.deviations.col(class).iter());
                let away: f64 =
                    pairs.map(|((value, mean), deviation)| (value - mean).abs() / deviation).sum();
                logits.largest / away.max(LEAST_LENGTH)
            }
            Rival::PostMax => logits.largest / length,
            Rival::Costarr => {
                let right = self.right.col(class);
                let (least, largest) = self.range;
                let scale = (logits.largest - least) / (largest - least).max(LEAST_LENGTH);
                let triples = h.iter().zip(right.iter()).zip(weights.iter());
                let (mut product, mut own, mut other) = (0.0, 0.0, 0.0);
                for ((value, mean), weight) in triples {
                    let (value, mean) = (value * weight, mean * weight);
                    product += value * mean;
                    own += value * value;
                    other += mean * mean;
                }
                let weighted = product / (own * other).sqrt().max(LEAST_LENGTH);
                let plain = dot(h, right) / (length * dot(right, right).sqrt()).max(LEAST_LENGTH);
                scale * f64::midpoint(plain, weighted)
            }
            _ => logits.largest,
        }
    }

    /// The class and `NNGuide`'s score of each query. Costs one product for each pair of query and training row.
    pub(crate) fn guided(
        &self,
        train: &Rows<'_>,
        logits: &[Logits],
        queries: &Rows<'_>,
    ) -> Vec<(usize, f64)> {
        let count = (train.len() / 10).clamp(1, GUIDES);
        let mut all = Vec::with_capacity(queries.len());
        for first in (0..queries.len()).step_by(QUERIES) {
            let mut asked = queries.columns(first..(first + QUERIES).min(queries.len()));
            let own = self.linear.of_columns(&asked);
            self.standard.apply(&mut asked);
            scale_to_unit(&mut asked, |_| 1.0);
            let mut nearest: Vec<Vec<f64>> = vec![Vec::new(); asked.ncols()];
            for block in train.blocks() {
                let mut columns = train.columns(block.clone());
                self.standard.apply(&mut columns);
                scale_to_unit(&mut columns, |column| logits[block.start + column].energy());
                let products = columns.transpose() * &asked;
                nearest.par_iter_mut().enumerate().for_each(|(query, nearest)| {
                    nearest.extend(products.col(query).iter());
                    if nearest.len() > count {
                        nearest.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
                        nearest.truncate(count);
                    }
                });
            }
            all.extend(nearest.into_iter().zip(own.col_iter()).map(|(mut nearest, z)| {
                // In one order, so that the sum is the same however they were found.
                nearest.sort_unstable_by(f64::total_cmp);
                let logits = Logits::of(z);
                (logits.best, logits.energy() * nearest.iter().sum::<f64>() / nearest.len() as f64)
            }));
        }
        all
    }
}

/// Calls with each row, standardised, and its number.
fn each_standard(rows: &Rows<'_>, standard: &Standard, mut work: impl FnMut(usize, ColRef<'_, f64>)) {
    for block in rows.blocks() {
        let mut columns = rows.columns(block.clone());
        standard.apply(&mut columns);
        block.zip(columns.col_iter()).for_each(|(row, h)| work(row, h));
    }
}

/// `-sum p^g (1 - p)^g` over the largest probabilities. Of the largest one, `1 - p` is the sum of the others: exact where it is small.
fn generalized_entropy(z: ColRef<'_, f64>, logits: Logits) -> f64 {
    let energy = logits.energy();
    let mut others: Vec<f64> = z.iter().map(|logit| (logit - energy).exp()).collect();
    others.swap_remove(logits.best);
    let rest: f64 = others.iter().sum();
    if others.len() >= LARGEST {
        others.select_nth_unstable_by(LARGEST - 2, |a, b| b.total_cmp(a));
        others.truncate(LARGEST - 1);
    }
    others.sort_unstable_by(f64::total_cmp);
    let term = |p: f64, q: f64| (p * q).powf(EXPONENT);
    let sum: f64 = others.iter().map(|&p| term(p, 1.0 - p)).sum();
    -(sum + term((-logits.surplus).exp(), rest))
}

fn dot(a: ColRef<'_, f64>, b: ColRef<'_, f64>) -> f64 {
    a.iter().zip(b.iter()).map(|(a, b)| a * b).sum()
}

/// Brings each column to the length that `length` says.
fn scale_to_unit(columns: &mut Mat<f64>, length: impl Fn(usize) -> f64) {
    let squares = squared_lengths(columns);
    for (number, (column, square)) in columns.col_iter_mut().zip(squares).enumerate() {
        let factor = length(number) / square.sqrt().max(LEAST_LENGTH);
        column.iter_mut().for_each(|value| *value *= factor);
    }
}

/// The distance of each pair of columns.
fn gaps(columns: &Mat<f64>) -> Mat<f64> {
    let squares = squared_lengths(columns);
    let products = columns.transpose() * columns;
    Mat::from_fn(columns.ncols(), columns.ncols(), |a, b| {
        (squares[a] + squares[b] - 2.0 * products[(a, b)]).max(0.0).sqrt().max(LEAST_LENGTH)
    })
}
