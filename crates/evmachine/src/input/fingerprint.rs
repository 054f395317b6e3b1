//! What the vectors of one encoder have in common, whatever they are vectors of.
//!
//! Four numbers of a row `x` tell encoders apart, with `m` and `s` the means and deviations of the columns and `P` the projection on the
//! first principal directions of training rows:
//!
//! ```text
//! length       ln |x|
//! direction    cos(x, m)
//! coordinates  -ln mean_j min(((x_j - m_j) / s_j)^2, 25)
//! spectrum     |P (x - m)|^2 / |x - m|^2
//! ```
//!
//! A batch has the median of each over its rows. How far that may lie from the usual is measured on classes that `m`, `s` and `P` know
//! nothing of: half of the classes are scored by those of the other half, so that new classes and strangers, which change the content
//! and not the encoder, are what the limits allow for. A length may be too large or too small; the others are never too large.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::input::labels::Labels;
use crate::input::standard::Standard;
use evmachine_engine::features::Features;
use evmachine_engine::math::spread;
use evmachine_engine::points::Points;

/// Fewer rows have no fingerprint.
const LEAST_ROWS: usize = 100;
/// Batches of fewer rows say too little to doubt them.
pub(crate) const LEAST_BATCH: usize = 20;
/// Rows of a batch that are looked at, and rows of training that directions are taken from, at most.
const MOST_BATCH: usize = 10_000;
const MOST_ROWS: usize = 4_000;
/// Rows of a class that its medians are taken over, at least and at most.
const CLASS_ROWS: std::ops::RangeInclusive<usize> = 5..=200;
/// Principal directions, at most; and one for so many dimensions and rows.
const MOST_DIRECTIONS: usize = 32;
const DIMENSIONS_EACH: usize = 4;
const ROWS_EACH: usize = 10;
/// Steps of the subspace iteration: directions are told apart well enough, not to the last digit.
const STEPS: usize = 8;
/// A column counts by no more than so many deviations.
const FAR: f64 = 5.0;
/// A column varies by at least this share of what columns vary.
const LEAST_DEVIATION: f64 = 0.1;
/// How many spreads of classes, and of rows within a class, the median of a batch may lie off.
const BETWEEN: f64 = 6.0;
const WITHIN: f64 = 1.5;
/// What few classes say of the spread of classes is uncertain by so many in their number.
const UNCERTAIN: f64 = 3.0;
/// Rounding: what is no more than this off is not off.
const SLACK: f64 = 1e-3;

/// What of a vector tells its encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trait {
    /// The logarithm of the length.
    Length,
    /// The cosine to the mean of the training rows.
    Direction,
    /// How far the columns lie from their means, in their deviations: minus the logarithm of the mean square.
    Coordinates,
    /// The share of the deviation from the mean that lies in the principal directions of training rows.
    Spectrum,
}

impl Trait {
    const ALL: [Self; 4] = [Self::Length, Self::Direction, Self::Coordinates, Self::Spectrum];

    /// In words, as part of a sentence about vectors.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Length => "the logarithm of their length",
            Self::Direction => "their cosine to the mean direction",
            Self::Coordinates => "the likeness of their columns",
            Self::Spectrum => "their share in the principal directions",
        }
    }
}

/// Where the median of a batch may lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) least: f64,
    /// `None`: never too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) most: Option<f64>,
}

/// What the vectors of an encoder have in common.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fingerprint {
    pub(crate) look: Look,
    /// In the order of [`Trait::ALL`].
    pub(crate) limits: [Limits; 4],
}

/// What rows are compared with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Look {
    /// Means, and deviations of which none is much smaller than the others.
    pub(crate) mean: Vec<f64>,
    pub(crate) deviation: Vec<f64>,
    /// Orthonormal, row after row.
    pub(crate) directions: Vec<f32>,
}

/// Vectors that do not look like those of the model's encoder.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EncoderDoubt {
    /// What is unlike.
    pub unlike: Trait,
    /// Its median over the rows.
    pub found: f64,
    /// The least that is usual.
    pub least: f64,
    /// The most that is usual, where there is such a thing.
    pub most: Option<f64>,
    /// Rows that were looked at.
    pub rows: usize,
}

impl std::fmt::Display for EncoderDoubt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { unlike, found, least, most, rows } = self;
        write!(formatter, "{} has the median {found:.3} over {rows} rows, and usual is ", unlike.describe())?;
        match most {
            Some(most) => write!(formatter, "{least:.3} to {most:.3}"),
            None => write!(formatter, "{least:.3} at least"),
        }
    }
}

impl Fingerprint {
    /// Of training rows; `None` where they are too few to tell.
    pub(crate) fn of(features: &Features<'_>, labels: &Labels) -> Option<Self> {
        let rows = some_rows(labels);
        if rows.len() < LEAST_ROWS {
            return None;
        }
        let classes = by_class(&rows, labels);
        let mut medians: Vec<[f64; 4]> = Vec::new();
        let mut spreads: Vec<[f64; 4]> = Vec::new();
        for half in 0..2 {
            let part = |own: bool| classes.iter().enumerate().filter(move |(at, _)| (at % 2 == half) == own);
            let scored: Vec<&Vec<usize>> = part(true).map(|(_, rows)| rows).collect();
            let others: Vec<usize> = part(false).flat_map(|(_, rows)| rows).copied().collect();
            // One class alone is its own stranger.
            let seen = if others.is_empty() { &rows } else { &others };
            let look = Look::of(features, seen);
            for rows in scored.into_iter().filter(|rows| rows.len() >= *CLASS_ROWS.start()) {
                let scores = look.scores(features, rows);
                medians.push(Trait::ALL.map(|of| median(column(&scores, of))));
                spreads.push(Trait::ALL.map(|of| deviation_of(&column(&scores, of))));
            }
        }
        if medians.is_empty() {
            return None;
        }
        let count = medians.len() as f64;
        let limits = Trait::ALL.map(|of| {
            let of_classes = column(&medians, of);
            let centre = median(of_classes.clone());
            let within = median(column(&spreads, of));
            let square = of_classes.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / count;
            let between = square.sqrt().max(0.5 * within);
            let off = BETWEEN * between * (1.0 + UNCERTAIN / count) + WITHIN * within + SLACK;
            Limits { least: centre - off, most: (of == Trait::Length).then_some(centre + off) }
        });
        Some(Self { look: Look::of(features, &rows), limits })
    }

    /// Whether rows look like those of another encoder, by what they are farthest off in; `None` where they do not, or are too few to
    /// tell.
    pub(crate) fn doubt(&self, features: &Features<'_>) -> Option<EncoderDoubt> {
        let count = features.rows();
        if count < LEAST_BATCH || features.columns() != self.look.mean.len() {
            return None;
        }
        let step = count.div_ceil(MOST_BATCH);
        let rows: Vec<usize> = (0..count).step_by(step).collect();
        let scores = self.look.scores(features, &rows);
        let found = Trait::ALL.iter().zip(&self.limits).filter_map(|(&unlike, limits)| {
            let found = median(column(&scores, unlike));
            let off = (limits.least - found).max(limits.most.map_or(f64::NEG_INFINITY, |most| found - most));
            let doubt =
                EncoderDoubt { unlike, found, least: limits.least, most: limits.most, rows: rows.len() };
            // In the unit of what is usual.
            (off > 0.0).then(|| (off / (limits.least.abs() + SLACK), doubt))
        });
        found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, doubt)| doubt)
    }
}

impl Look {
    fn of(features: &Features<'_>, rows: &[usize]) -> Self {
        let standard = Standard::estimate(&Points::ready(features.values(), features.columns()), rows);
        let (mean, d) = (standard.mean().to_vec(), features.columns());
        let square = standard.deviation().iter().map(|deviation| deviation * deviation).sum::<f64>();
        let least = LEAST_DEVIATION * (square / d.max(1) as f64).sqrt();
        let deviation = standard.deviation().iter().map(|deviation| deviation.max(least)).collect();
        let count = MOST_DIRECTIONS.min(d / DIMENSIONS_EACH).min(rows.len() / ROWS_EACH);
        let directions = principal(features, rows, &mean, count);
        Self { mean, deviation, directions }
    }

    /// Of each row that has a length.
    fn scores(&self, features: &Features<'_>, rows: &[usize]) -> Vec<[f64; 4]> {
        let d = self.mean.len();
        let of_mean = self.mean.iter().map(|value| value * value).sum::<f64>().sqrt();
        let score = |row: &usize| {
            let values: Vec<f64> = features.row(*row).iter().map(|&value| f64::from(value)).collect();
            let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
            if length == 0.0 {
                return None;
            }
            let along: f64 = values.iter().zip(&self.mean).map(|(value, mean)| value * mean).sum();
            let from: Vec<f64> = values.iter().zip(&self.mean).map(|(value, mean)| value - mean).collect();
            let off = from.iter().zip(&self.deviation);
            let off: f64 = off.map(|(from, deviation)| (from / deviation).abs().min(FAR).powi(2)).sum();
            let square: f64 = from.iter().map(|value| value * value).sum();
            let within = self.directions.chunks_exact(d).map(|direction| {
                direction.iter().zip(&from).map(|(&a, b)| f64::from(a) * b).sum::<f64>().powi(2)
            });
            let tiny = f64::MIN_POSITIVE;
            Some([
                length.ln(),
                along / (length * of_mean).max(tiny),
                -(off / d as f64).max(tiny).ln(),
                within.sum::<f64>() / square.max(tiny),
            ])
        };
        rows.par_iter().filter_map(score).collect()
    }
}

/// Up to a number of training rows of each class, and in all, in an order that has nothing to do with theirs.
fn some_rows(labels: &Labels) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..labels.len()).collect();
    rows.sort_unstable_by_key(|&row| spread(row as u64));
    let mut counts = vec![0; labels.names().len()];
    let most = (MOST_ROWS / counts.len().max(1)).clamp(*CLASS_ROWS.start(), *CLASS_ROWS.end());
    rows.retain(|&row| {
        let count = &mut counts[labels.ids()[row] as usize];
        *count += 1;
        *count <= most
    });
    rows
}

fn by_class(rows: &[usize], labels: &Labels) -> Vec<Vec<usize>> {
    let mut classes = vec![Vec::new(); labels.names().len()];
    for &row in rows {
        classes[labels.ids()[row] as usize].push(row);
    }
    classes.retain(|rows| !rows.is_empty());
    classes
}

/// The first principal directions of rows, orthonormal, by subspace iteration.
fn principal(features: &Features<'_>, rows: &[usize], mean: &[f64], count: usize) -> Vec<f32> {
    let d = mean.len();
    let start = |at: usize| spread(at as u64 + 1) as f64 / u64::MAX as f64 - 0.5;
    let mut directions: Vec<Vec<f64>> =
        (0..count).map(|number| (0..d).map(|column| start(number * d + column)).collect()).collect();
    orthonormalize(&mut directions);
    for _ in 0..STEPS {
        let part = |rows: &[usize]| {
            let mut sums = vec![vec![0.0; d]; count];
            for &row in rows {
                let from: Vec<f64> = features
                    .row(row)
                    .iter()
                    .zip(mean)
                    .map(|(&value, mean)| f64::from(value) - mean)
                    .collect();
                for (sum, direction) in sums.iter_mut().zip(&directions) {
                    let along: f64 = from.iter().zip(direction).map(|(a, b)| a * b).sum();
                    sum.iter_mut().zip(&from).for_each(|(sum, value)| *sum += along * value);
                }
            }
            sums
        };
        // In parts of one size that are added up in order: the same for any number of threads.
        let parts: Vec<Vec<Vec<f64>>> = rows.par_chunks(256).map(part).collect();
        let mut next = vec![vec![0.0; d]; count];
        for part in parts {
            for (next, part) in next.iter_mut().zip(part) {
                next.iter_mut().zip(part).for_each(|(next, part)| *next += part);
            }
        }
        orthonormalize(&mut next);
        directions = next;
    }
    directions.into_iter().flatten().map(|value| value as f32).collect()
}

/// What has no length beside those before it becomes zero, and counts for nothing.
fn orthonormalize(directions: &mut [Vec<f64>]) {
    for number in 0..directions.len() {
        let (before, rest) = directions.split_at_mut(number);
        let own = &mut rest[0];
        let length = |own: &[f64]| own.iter().map(|value| value * value).sum::<f64>().sqrt();
        let whole = length(own);
        for other in before {
            let along: f64 = own.iter().zip(&*other).map(|(a, b)| a * b).sum();
            own.iter_mut().zip(&*other).for_each(|(own, other)| *own -= along * other);
        }
        let left = length(own);
        let scale = if left > 1e-9 * whole && left > 0.0 { 1.0 / left } else { 0.0 };
        for value in own {
            *value *= scale;
        }
    }
}

fn column(scores: &[[f64; 4]], of: Trait) -> Vec<f64> {
    scores.iter().map(|score| score[of as usize]).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The deviation of a normal distribution with the same median of absolute deviations.
fn deviation_of(values: &[f64]) -> f64 {
    let centre = median(values.to_vec());
    1.4826 * median(values.iter().map(|value| (value - centre).abs()).collect())
}
