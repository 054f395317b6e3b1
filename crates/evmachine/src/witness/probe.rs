//! The linear probe: multinomial logistic regression on standardised features, the classifier that people put on top of
//! an embedding.
//!
//! Its strength of regularisation is chosen on held-out rows, from strong to weak, each start being the end of the one
//! before. The result is the same for any number of threads.

mod descent;
mod rows;

use rayon::prelude::*;

use self::descent::{Curvature, Tolerance, minimize};
pub(crate) use self::rows::{Coefficients, ProbeRows};
use crate::error::{FeatureError, FitError, LabelError, ParamsError, RunError};
use crate::input::holdout::{self, Holdout};
use crate::input::labels::Labels;
use crate::input::standard::Standard;
use crate::witness::stacking;
use evmachine_engine::features::Features;
use evmachine_engine::matrix::{Factor, ROWS, add_product, add_row};
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::{Meter, Run, Stage};

/// Penalties that are tried, from the strongest. In the terms of scikit-learn, `C = 1 / (penalty * rows)`.
const PENALTIES: [f64; 10] = [1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 1e-3, 3e-4, 1e-4, 3e-5];
/// Where the search for a penalty begins.
const FIRST_PENALTY: usize = 4;
/// While penalties are compared.
const ROUGH: Tolerance = Tolerance { gradient: 2e-4, steps: 60 };
/// For the probe that is kept.
const FINE: Tolerance = Tolerance { gradient: 1e-4, steps: 100 };
/// Rows that a probe is fitted on, at most; of more, so many are taken, evenly by class.
const MOST_ROWS: usize = 100_000;
/// Rows that penalties are compared on, at most.
const TRIAL_ROWS: usize = 8_000;
/// Queries whose logits are computed at once.
const BLOCK: usize = 128;
/// Queries between two looks at whoever watches.
const WATCHED: usize = 128 * BLOCK;

/// A linear classifier: logits `W x + b` of a standardised row x.
///
/// ```
/// use evmachine::{Features, Labels, Metric, Probe};
///
/// let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// let probe = Probe::fit_at(&Metric::Euclidean, &features, &labels, 0.01)?;
/// let logits = probe.logits(&Features::new(vec![4.9], 1)?)?;
/// assert!(logits[1] > logits[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// What rows are made ready for before they are standardised: of unit length for cosine.
    pub(crate) metric: Metric,
    pub(crate) standard: Standard,
    /// `[dimension][class]`, classes in whole vectors; entries are `f32`, as in the file.
    across: Vec<f32>,
    width: usize,
    pub(crate) intercepts: Vec<f64>,
    pub(crate) penalty: f64,
}

/// Rows of classes by number, ready for the metric.
#[derive(Clone, Copy)]
pub(crate) struct Classed<'a> {
    pub(crate) points: &'a Points<'a>,
    /// Class of every point.
    pub(crate) classes: &'a [u32],
    pub(crate) class_count: usize,
}

impl Probe {
    /// Fits with the penalty that serves held-out rows best, one in five of each class. Where no class has two rows, nothing
    /// can be held out, and the penalty is 0.01.
    pub fn fit(metric: &Metric, features: &Features<'_>, labels: &Labels) -> Result<Self, FitError> {
        Self::fit_with(&Run::new(), metric, features, labels)
    }

    /// As [`fit`](Self::fit), watched and sized by `run`.
    pub fn fit_with(
        run: &Run<'_>,
        metric: &Metric,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<Self, FitError> {
        Self::fitted(metric, features, labels, |data| {
            let holdout = Holdout::new(data.classes, data.class_count);
            let trial = if holdout.held.is_empty() {
                None
            } else {
                Some(Self::choose(run, metric, data, &holdout.train, &holdout.held)?)
            };
            let all: Vec<usize> = (0..data.points.len()).collect();
            Self::refit(run, metric, data, &all, trial.as_ref(), None)
        })
    }

    /// Fits with a given penalty on the squared weights, above 0 and finite.
    pub fn fit_at(
        metric: &Metric,
        features: &Features<'_>,
        labels: &Labels,
        penalty: f64,
    ) -> Result<Self, FitError> {
        Self::fit_at_with(&Run::new(), metric, features, labels, penalty)
    }

    /// As [`fit_at`](Self::fit_at), watched and sized by `run`.
    pub fn fit_at_with(
        run: &Run<'_>,
        metric: &Metric,
        features: &Features<'_>,
        labels: &Labels,
        penalty: f64,
    ) -> Result<Self, FitError> {
        if !(penalty > 0.0 && penalty.is_finite()) {
            let rule = "it must be above 0 and finite";
            return Err(ParamsError::new("penalty", penalty, rule).into());
        }
        Self::fitted(metric, features, labels, |data| {
            let all: Vec<usize> = (0..data.points.len()).collect();
            Self::refit(run, metric, data, &all, None, Some(penalty))
        })
    }

    fn fitted(
        metric: &Metric,
        features: &Features<'_>,
        labels: &Labels,
        fit: impl FnOnce(Classed<'_>) -> Result<Self, RunError> + Send,
    ) -> Result<Self, FitError> {
        if features.rows() != labels.len() {
            return Err(LabelError::Count { rows: features.rows(), labels: labels.len() }.into());
        }
        if features.rows() == 0 {
            return Err(FitError::NoRows);
        }
        let class_count = labels.names().len();
        if class_count < 2 {
            return Err(FitError::OneClass { class: labels.name(0).to_owned() });
        }
        let points = Points::prepare(features, metric)?;
        Ok(fit(Classed { points: &points, classes: labels.ids(), class_count })?)
    }

    /// The probe of the `train` rows whose penalty gives the `held` ones the highest likelihood at its best temperature:
    /// what a penalty does to the scale of the logits alone counts neither for it nor against it.
    pub(crate) fn choose(
        run: &Run<'_>,
        metric: &Metric,
        data: Classed<'_>,
        train: &[usize],
        held: &[usize],
    ) -> Result<Self, RunError> {
        let train = thinned(train, data, TRIAL_ROWS);
        let standard = Standard::estimate(data.points, &train);
        let classes = train.iter().map(|&row| data.classes[row]).collect();
        let weights = vec![1.0; train.len()];
        let rows = ProbeRows::new(run, &standard, data.points, &train, classes, &weights, data.class_count)?;
        let truth: Vec<u32> = held.iter().map(|&row| data.classes[row]).collect();
        let meter = run.meter(Stage::Probe, PENALTIES.len() * ROUGH.steps);
        let curvature = Curvature::of(&rows);
        let mut at = Coefficients::zeros(rows.dimensions, data.class_count);
        let mut attempt = |position: usize| -> Result<(f64, Self), RunError> {
            minimize(&rows, &curvature, PENALTIES[position], ROUGH, &mut at, &meter)?;
            let probe = Self::of(
                metric,
                standard.clone(),
                &at,
                rows.dimensions,
                data.class_count,
                PENALTIES[position],
            );
            let logits = probe.logits_of(data.points, held);
            let (_, loss) = stacking::stack(&[&logits], data.class_count, &truth);
            Ok((loss, probe))
        };
        let mut best = attempt(FIRST_PENALTY)?;
        // Downhill: weaker penalties while they help, or else stronger ones.
        let weaker: Vec<usize> = (FIRST_PENALTY + 1..PENALTIES.len()).collect();
        let stronger: Vec<usize> = (0..FIRST_PENALTY).rev().collect();
        for positions in [weaker, stronger] {
            let before = best.0;
            for position in positions {
                let found = attempt(position)?;
                if found.0 >= best.0 {
                    break;
                }
                best = found;
            }
            if best.0 < before {
                break;
            }
        }
        Ok(best.1)
    }

    /// The probe of some rows, at the penalty of `start` unless another is given, from there.
    pub(crate) fn refit(
        run: &Run<'_>,
        metric: &Metric,
        data: Classed<'_>,
        rows: &[usize],
        start: Option<&Self>,
        penalty: Option<f64>,
    ) -> Result<Self, RunError> {
        let rows = thinned(rows, data, MOST_ROWS);
        let weights = vec![1.0; rows.len()];
        let standard = match start {
            Some(start) => start.standard.clone(),
            None => Standard::estimate(data.points, &rows),
        };
        let penalty = penalty.or(start.map(|start| start.penalty)).unwrap_or(PENALTIES[FIRST_PENALTY]);
        Self::weighted(run, metric, data, &rows, &weights, (standard, penalty, start))
    }

    /// The probe of weighted rows, from where another one is as far as they share classes.
    pub(crate) fn weighted(
        run: &Run<'_>,
        metric: &Metric,
        data: Classed<'_>,
        rows: &[usize],
        weights: &[f64],
        (standard, penalty, start): (Standard, f64, Option<&Self>),
    ) -> Result<Self, RunError> {
        let d = data.points.dimensions();
        let classes = rows.iter().map(|&row| data.classes[row]).collect();
        let rows = ProbeRows::new(run, &standard, data.points, rows, classes, weights, data.class_count)?;
        let mut at = Coefficients::zeros(d, data.class_count);
        if let Some(start) = start {
            let width = at.width;
            for class in 0..start.classes().min(data.class_count) {
                at.values[class] = start.intercepts[class];
                for k in 0..d {
                    at.values[(1 + k) * width + class] = f64::from(start.across[k * start.width + class]);
                }
            }
        }
        let meter: Meter<'_> = run.meter(Stage::Probe, FINE.steps);
        minimize(&rows, &Curvature::of(&rows), penalty, FINE, &mut at, &meter)?;
        drop(rows);
        Ok(Self::of(metric, standard, &at, d, data.class_count, penalty))
    }

    fn of(
        metric: &Metric,
        standard: Standard,
        at: &Coefficients,
        dimensions: usize,
        classes: usize,
        penalty: f64,
    ) -> Self {
        let across = at.weights()[..dimensions * at.width].iter().map(|&value| value as f32).collect();
        let intercepts = at.intercepts()[..classes].to_vec();
        Self { metric: metric.clone(), standard, across, width: at.width, intercepts, penalty }
    }

    /// From weights class after class, as [`rows`](Self::rows) gives them.
    pub(crate) fn from_rows(
        metric: &Metric,
        standard: Standard,
        weights: &[f32],
        intercepts: Vec<f64>,
        penalty: f64,
    ) -> Self {
        let d = standard.mean().len();
        let empty = Coefficients::zeros(d, intercepts.len());
        let mut across = vec![0.0; d * empty.width];
        for (class, row) in weights.chunks_exact(d).enumerate() {
            for (k, &value) in row.iter().enumerate() {
                across[k * empty.width + class] = value;
            }
        }
        Self { metric: metric.clone(), standard, across, width: empty.width, intercepts, penalty }
    }

    /// The weights of standardised features, class after class.
    pub(crate) fn rows(&self) -> impl Iterator<Item = f32> + Clone {
        let d = self.dimensions();
        (0..self.classes()).flat_map(move |class| (0..d).map(move |k| self.across[k * self.width + class]))
    }

    /// The same without a class.
    pub(crate) fn without(&self, class: usize) -> Self {
        let d = self.dimensions();
        let mut weights: Vec<f32> = self.rows().collect();
        weights.drain(class * d..(class + 1) * d);
        let mut intercepts = self.intercepts.clone();
        intercepts.remove(class);
        Self::from_rows(&self.metric, self.standard.clone(), &weights, intercepts, self.penalty)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.intercepts.len()
    }

    /// Dimension of the rows.
    pub fn dimensions(&self) -> usize {
        self.standard.mean().len()
    }

    /// The penalty on half the squared weights, the loss being the mean over rows: `1 / (C rows)` of scikit-learn.
    pub fn penalty(&self) -> f64 {
        self.penalty
    }

    /// The weights of the features themselves, of unit length for cosine: `classes * dimensions` values, class after class.
    pub fn weights(&self) -> Vec<f64> {
        let d = self.dimensions();
        self.rows()
            .enumerate()
            .map(|(at, weight)| f64::from(weight) / self.standard.deviation()[at % d])
            .collect()
    }

    /// The intercepts that go with [`weights`](Self::weights), one for each class.
    pub fn intercepts(&self) -> Vec<f64> {
        let d = self.dimensions();
        let weights = self.weights();
        let shifts = weights.chunks_exact(d).map(|row| -> f64 {
            row.iter().zip(self.standard.mean()).map(|(weight, mean)| weight * mean).sum()
        });
        self.intercepts.iter().zip(shifts).map(|(intercept, shift)| intercept - shift).collect()
    }

    /// The logits of each row: `rows * classes` values, row after row, classes in the order of the labels it was fitted on.
    pub fn logits(&self, queries: &Features<'_>) -> Result<Vec<f64>, RunError> {
        self.logits_with(&Run::new(), queries)
    }

    /// As [`logits`](Self::logits), watched by `run`.
    pub fn logits_with(&self, run: &Run<'_>, queries: &Features<'_>) -> Result<Vec<f64>, RunError> {
        let points = self.points(queries)?;
        let all: Vec<usize> = (0..points.len()).collect();
        let meter = run.meter(Stage::Predict, all.len());
        let mut logits = Vec::with_capacity(all.len() * self.classes());
        for rows in all.chunks(WATCHED) {
            logits.extend(self.logits_of(&points, rows));
            meter.advance(rows.len())?;
        }
        Ok(logits)
    }

    /// Rows made ready for the metric.
    pub(crate) fn points<'a>(&self, queries: &'a Features<'_>) -> Result<Points<'a>, FeatureError> {
        if queries.columns() != self.dimensions() {
            let (expected, found) = (self.dimensions(), queries.columns());
            return Err(FeatureError::Dimensions { expected, found });
        }
        Points::prepare(queries, &self.metric)
    }

    /// As [`logits`](Self::logits), for points ready for the metric. The logits of a row depend on that row alone.
    pub(crate) fn logits_of(&self, points: &Points<'_>, rows: &[usize]) -> Vec<f64> {
        let (d, classes, width) = (self.dimensions(), self.classes(), self.width);
        let mut logits = vec![0.0; rows.len() * classes];
        logits.par_chunks_mut(BLOCK * classes).enumerate().for_each(|(block, out)| {
            let count = out.len() / classes;
            let height = count.next_multiple_of(ROWS);
            let (mut row, mut left) = (vec![0.0f32; d], vec![0.0f32; d * height]);
            for lane in 0..count {
                points.write_row(rows[block * BLOCK + lane], &mut row);
                self.standard.apply(&mut row);
                for (slot, &value) in left[lane..].iter_mut().step_by(height).zip(&row) {
                    *slot = value;
                }
            }
            let mut sums = vec![0.0f32; height * width];
            let left = Factor { values: &left, stride: height };
            let right = Factor { values: &self.across, stride: width };
            add_product(d, (left, height), (right, width), (&mut sums, width));
            for (out, sums) in out.chunks_exact_mut(classes).zip(sums.chunks_exact(width)) {
                for ((out, &sum), intercept) in out.iter_mut().zip(sums).zip(&self.intercepts) {
                    *out = f64::from(sum) + intercept;
                }
            }
        });
        logits
    }

    /// As [`logits_of`](Self::logits_of), bit for bit, for one row that is ready for the metric, on this thread.
    pub(crate) fn logits_of_one(&self, ready: &[f32], memory: &mut OneRow, logits: &mut Vec<f64>) {
        let OneRow { row, sums } = memory;
        row.clear();
        row.extend_from_slice(ready);
        self.standard.apply(row);
        sums.clear();
        sums.resize(self.width, 0.0);
        add_row(row, Factor { values: &self.across, stride: self.width }, sums);
        logits.clear();
        logits.extend(sums.iter().zip(&self.intercepts).map(|(&sum, intercept)| f64::from(sum) + intercept));
    }
}

/// What the logits of one row leave to those of the next.
#[derive(Default)]
pub(crate) struct OneRow {
    row: Vec<f32>,
    sums: Vec<f32>,
}

/// Bytes that a fit needs beside its rows.
pub(crate) fn working_bytes(rows: usize, columns: usize, classes: usize) -> usize {
    let coefficients = Coefficients::zeros(0, classes).width.saturating_mul(columns + 1);
    let steps = coefficients.saturating_mul(8 * descent::VECTORS);
    let curvature = 3 * 8 * columns * columns;
    let passes = 4 * (columns + classes) * rows.min(rows::SPAN);
    steps.saturating_add(curvature + passes)
}

/// At most about `most` of the rows, the same share of each class and one at least.
fn thinned(rows: &[usize], data: Classed<'_>, most: usize) -> Vec<usize> {
    let mut rows = rows.to_vec();
    holdout::thin(&mut rows, data.classes, data.class_count, most);
    rows
}
