//! The choices that tuning has.

use evmachine::{Metric, Parameter, Params, TailModel, TailSize};
use rand::RngExt;
use rand::rngs::StdRng;

use crate::voices::Weights;

/// For each parameter, the values to choose from, in rising order where they have one.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    /// Share of the within-class covariance in what features are whitened with.
    pub whitening: Vec<f64>,
    /// Fraction of the way towards the neighbours, and how many of them.
    pub smoothing: Vec<(f64, usize)>,
    /// The curve fitted to a tail.
    pub tail_model: Vec<TailModel>,
    /// Tail size, as a fraction of the negatives. What is chosen on a part of the data holds for all of it: the
    /// paper's rule of scaling the tail size with the data.
    pub tail_fraction: Vec<f64>,
    /// Margin as a fraction of the distance.
    pub multiplier: Vec<f64>,
    /// Fraction of the way towards the mean of all fits.
    pub pooling: Vec<f64>,
    /// The paper's k.
    pub n_fused: Vec<usize>,
    /// The paper's varsigma.
    pub cover_threshold: Vec<f64>,
    /// How much the lead over the second class counts. Every trial tries all of these: they cost little.
    pub contrast: Vec<f64>,
    /// How much the median class counts, likewise.
    pub background: Vec<f64>,
    /// How much the witnesses beside the features count. Every trial tries all of these at every contrast.
    pub weights: Vec<Weights>,
    /// Distances to choose from, by the robust preset, before anything else; none stands for that of the parameters.
    pub metric: Vec<Metric>,
    /// Whether columns may be standardised, likewise.
    pub standardize: Vec<bool>,
}

/// A position in a [`Space`]: an index into each of its lists up to the cover thresholds, in the order of its fields.
pub type Position = [usize; PARAMETERS];

pub(crate) const PARAMETERS: usize = 8;
/// The first so many of a position, whitening and smoothing, change distances; the others share them.
pub(crate) const MEASURED: usize = 2;
/// The place of whitening.
pub(crate) const WHITENING: usize = 0;
/// The place of the tail model, which has no order.
pub(crate) const TAIL_MODEL: usize = 2;

/// The values of a parameter to try, as the library's list has them.
fn tried(name: &str) -> Vec<f64> {
    Parameter::named(name).map(|parameter| parameter.tried.to_vec()).unwrap_or_default()
}

/// The same for one that counts.
fn counts(name: &str) -> Vec<usize> {
    tried(name).into_iter().map(|count| count as usize).collect()
}

/// All combinations of the weights to try, and those that a fit chooses itself.
fn weights() -> Vec<Weights> {
    let mut all = vec![Weights::AUTO];
    for logits in tried("logit_weight") {
        for probe in tried("probe_weight") {
            all.extend(
                tried("forest_weight").into_iter().map(|forest| Weights::fixed(logits, probe, forest)),
            );
        }
    }
    all
}

impl Space {
    /// What the paper searches: tail size and k, at its cover threshold.
    pub fn paper() -> Self {
        let paper = Params::paper();
        Self {
            whitening: vec![paper.whitening],
            smoothing: vec![(paper.smoothing, paper.smoothing_neighbors)],
            tail_model: vec![paper.tail_model],
            tail_fraction: tried("tail_size"),
            multiplier: vec![paper.distance_multiplier],
            pooling: vec![paper.pooling],
            n_fused: counts("n_fused"),
            cover_threshold: vec![paper.cover_threshold],
            contrast: vec![paper.contrast],
            background: vec![paper.background],
            weights: vec![Weights::NONE],
            metric: Vec::new(),
            standardize: vec![paper.standardize],
        }
    }

    /// Everything, every point kept; the size of the model is chosen afterwards.
    pub fn full() -> Self {
        let neighbors = counts("smoothing_neighbors");
        Self {
            whitening: tried("whitening"),
            smoothing: tried("smoothing")
                .into_iter()
                .flat_map(|a| neighbors.iter().map(move |&m| (a, m)))
                .filter(|&(a, m)| a > 0.0 || m == Params::plain().smoothing_neighbors)
                .collect(),
            tail_model: TailModel::ALL.into_iter().filter(|model| *model != TailModel::Libmr).collect(),
            tail_fraction: tried("tail_size"),
            multiplier: tried("distance_multiplier"),
            pooling: tried("pooling"),
            n_fused: counts("n_fused"),
            cover_threshold: vec![1.0],
            contrast: tried("contrast"),
            background: tried("background"),
            weights: weights(),
            metric: Vec::new(),
            standardize: vec![false, true],
        }
    }

    /// The same without what the metric does not allow.
    pub fn for_metric(mut self, metric: &Metric) -> Self {
        self.whitening.retain(|&whitening| metric.is_linear() || whitening == 0.0);
        self
    }

    /// Metrics and standardising to choose from, those of the parameters first.
    pub(crate) fn frames(&self, base: &Params) -> Vec<(Metric, bool)> {
        let own = (base.metric.clone(), base.standardize);
        let metrics = if self.metric.is_empty() { vec![base.metric.clone()] } else { self.metric.clone() };
        let all = metrics.into_iter().flat_map(|metric| {
            self.standardize.iter().map(move |&standardize| (metric.clone(), standardize))
        });
        let mut frames = vec![own.clone()];
        frames.extend(all.filter(|frame| *frame != own));
        frames
    }

    pub(crate) fn sizes(&self) -> [usize; PARAMETERS] {
        [
            self.whitening.len(),
            self.smoothing.len(),
            self.tail_model.len(),
            self.tail_fraction.len(),
            self.multiplier.len(),
            self.pooling.len(),
            self.n_fused.len(),
            self.cover_threshold.len(),
        ]
    }

    /// Number of positions, each a trial.
    pub fn len(&self) -> usize {
        self.sizes().iter().product()
    }

    /// Whether a list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
            || self.contrast.is_empty()
            || self.background.is_empty()
            || self.weights.is_empty()
            || self.standardize.is_empty()
    }

    /// `base` with the values at a position, without contrast.
    pub fn params(&self, base: &Params, at: Position) -> Params {
        let (smoothing, smoothing_neighbors) = self.smoothing[at[1]];
        Params {
            whitening: self.whitening[at[0]],
            smoothing,
            smoothing_neighbors,
            tail_model: self.tail_model[at[2]],
            tail_size: TailSize::Fraction(self.tail_fraction[at[3]]),
            distance_multiplier: self.multiplier[at[4]],
            pooling: self.pooling[at[5]],
            n_fused: self.n_fused[at[6]],
            cover_threshold: self.cover_threshold[at[7]],
            contrast: 0.0,
            background: 0.0,
            ..base.clone()
        }
    }

    /// The position closest to `params`. Tail sizes that are not fractions fall in the middle.
    pub(crate) fn near(&self, params: &Params) -> Position {
        fn closest(distances: impl Iterator<Item = f64>) -> usize {
            let least = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            least.map_or(0, |(index, _)| index)
        }
        let to = |value: f64| move |other: &f64| (other - value).abs();
        let (a, m) = (params.smoothing, params.smoothing_neighbors as f64);
        [
            closest(self.whitening.iter().map(to(params.whitening))),
            closest(self.smoothing.iter().map(|s| 10.0 * (s.0 - a).abs() + (s.1 as f64 / m).ln().abs())),
            closest(self.tail_model.iter().map(|model| f64::from(u8::from(*model != params.tail_model)))),
            match params.tail_size {
                TailSize::Fraction(fraction) => closest(self.tail_fraction.iter().map(to(fraction))),
                _ => self.tail_fraction.len() / 2,
            },
            closest(self.multiplier.iter().map(to(params.distance_multiplier))),
            closest(self.pooling.iter().map(to(params.pooling))),
            closest(self.n_fused.iter().map(|&k| (k as f64 - params.n_fused as f64).abs())),
            closest(self.cover_threshold.iter().map(to(params.cover_threshold))),
        ]
    }

    /// `at` with one or two parameters moved, by a step or anywhere; only those from the place `first` on.
    pub(crate) fn beside(&self, at: Position, first: usize, random: &mut StdRng) -> Position {
        let sizes = self.sizes();
        let mut moved = at;
        for _ in 0..random.random_range(1..=2) {
            let parameter = random.random_range(first..sizes.len());
            let (size, old) = (sizes[parameter], at[parameter]);
            moved[parameter] = if random.random_bool(0.3) {
                random.random_range(0..size)
            } else if random.random_bool(0.5) {
                (old + 1).min(size - 1)
            } else {
                old.saturating_sub(1)
            };
        }
        moved
    }

    /// All positions, those of equal whitening and smoothing together, because they share distances.
    pub fn grid(&self) -> impl Iterator<Item = Position> + use<> {
        let sizes = self.sizes();
        (0..self.len()).map(move |mut index| {
            let mut at = [0; PARAMETERS];
            for (position, size) in at.iter_mut().zip(sizes).rev() {
                *position = index % size;
                index /= size;
            }
            at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_complete_and_keeps_together_what_shares_distances() {
        let space =
            Space { whitening: vec![0.0, 0.5], smoothing: vec![(0.0, 10), (0.5, 10)], ..Space::paper() };
        let grid: Vec<Position> = space.grid().collect();
        assert_eq!(grid.len(), 2 * 2 * 8 * 5);
        assert!(grid.is_sorted());
        assert!(grid.iter().all(|&at| space.params(&Params::plain(), at).check().is_ok()));
    }
    #[test]
    fn what_a_metric_does_not_allow_is_left_out() {
        assert_eq!(Space::full().for_metric(&Metric::Cosine), Space::full());
        assert_eq!(Space::full().for_metric(&Metric::Manhattan).whitening, [0.0]);
    }
}
