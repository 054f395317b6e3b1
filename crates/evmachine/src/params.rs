//! Every choice a user can make: their types. `list` has what is said of each by a `parameter`, `rules` what must hold.

pub(crate) mod cover;
pub(crate) mod list;
pub(crate) mod parameter;
pub(crate) mod preset;
pub(crate) mod range;
pub(crate) mod rejection;
mod rules;
pub(crate) mod text;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use evmachine_engine::FitRule;
pub use evmachine_engine::{SHAPE_CAP, TailMemory, TailModel};

pub use self::rules::CheckedParams;
use crate::params::rejection::Rejection;
use evmachine_engine::metric::Metric;
use evmachine_engine::search::Search;

/// How many of the smallest margins are fitted: the paper's tau.
///
/// Resolved for a class when it is first learned, and kept by updates. So the law that batches give the model of
/// one fit holds for a count; `Auto` and `Fraction` depend on how much data the first batch has. Classes that come later get
/// the count that a `Fraction` came to at first; `Auto` follows the number of classes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TailSize {
    /// `round(0.17 * dimensions * classes)`, at least 20, at most half of the negatives: the paper's observation
    /// (Sec. VI) that both of its tuned values come to 0.17 points per dimension and class.
    #[default]
    Auto,
    /// So many. Where a class has fewer negatives, all of them; the report counts such classes.
    Count(usize),
    /// This fraction of the class's negatives, rounded up.
    Fraction(f64),
}

impl TailSize {
    /// The size for a class with so many negatives. Never 0.
    pub(crate) fn resolve(self, dimensions: usize, classes: usize, negatives: usize) -> usize {
        match self {
            TailSize::Count(count) => count,
            TailSize::Fraction(fraction) => ((fraction * negatives as f64).ceil() as usize).max(1),
            TailSize::Auto => {
                let points = (0.17 * dimensions as f64 * classes as f64).round() as usize;
                points.max(20).min(negatives / 2).max(1)
            }
        }
    }
}

/// A limit on the number of extreme vectors; the cover threshold that meets it is found by bisection (Alg. 4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Budget {
    /// So many for each class; a class with fewer points keeps all of them.
    PerClass(usize),
    /// So many over all classes, under one shared threshold. Each class keeps at least one.
    Total(usize),
    /// A total of this fraction of all points learned so far: the paper's vector ratio.
    Ratio(f64),
}

/// How extreme vectors are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reduction {
    /// Greedy set cover at `cover_threshold` (Alg. 3); with a budget, at the threshold that meets it (Alg. 4).
    #[default]
    SetCover,
    /// The points that together give the highest sum of psi over the class, chosen greedily, without
    /// thresholds: the weighted maximum-k cover of Koch et al. (2022). Needs a budget.
    WeightedMaxK,
}

/// When an update chooses extreme vectors anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReduceWhen {
    /// At every update, for the classes that got data.
    #[default]
    Always,
    /// Only when the budget is exceeded; until then all points are kept.
    OverBudget,
}

/// Which Psi-models of the extreme vectors already in the model an update fits again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refit {
    /// None: only new points are fitted.
    New,
    /// Those into whose tail a new negative falls. Without tail memory this cannot be told, and all are.
    #[default]
    Affected,
    /// All.
    All,
}

/// How much a witness beside the machine itself counts.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Weight {
    /// As much as tells known rows from strangers best, classes being left out of the training rows in turn; with few classes, what
    /// serves most data.
    Auto,
    /// So many times as much as the support in feature space, both on one scale. 0 leaves it out.
    Fixed(f64),
}

impl Weight {
    /// Whether the witness is never heard.
    pub fn is_zero(self) -> bool {
        self == Weight::Fixed(0.0)
    }
}

impl Serialize for Weight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Weight::Auto => serializer.serialize_str("auto"),
            Weight::Fixed(weight) => serializer.serialize_f64(*weight),
        }
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum WrittenWeight {
            Number(f64),
            Name(String),
        }
        let wrong = || serde::de::Error::custom("must be \"auto\" or a number");
        match WrittenWeight::deserialize(deserializer).map_err(|_| wrong())? {
            WrittenWeight::Number(weight) => Ok(Weight::Fixed(weight)),
            WrittenWeight::Name(name) if name == "auto" => Ok(Weight::Auto),
            WrittenWeight::Name(_) => Err(wrong()),
        }
    }
}

/// Parameters, unchecked; [`check`](Params::check) is run by whatever uses them.
///
/// The default is [`Params::robust`], for Euclidean distances; [`Params::robust_for`] has it for another metric. [`Params::paper`] is the
/// paper, and [`Params::plain`] the paper with a threshold set on held-out rows.
///
/// ```
/// use evmachine::{Params, TailSize};
///
/// let params = Params { tail_size: TailSize::Count(75), n_fused: 4, ..Params::default() };
/// assert!(params.check().is_ok());
///
/// let error = Params { pooling: 1.5, ..Params::default() }.check().unwrap_err();
/// assert_eq!(error.to_string(), "pooling = 1.5: must be between 0 and 1");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default = "Params::plain", deny_unknown_fields)]
pub struct Params {
    /// The distance between vectors.
    #[serde(serialize_with = "write_metric", deserialize_with = "read_metric")]
    pub metric: Metric,
    /// How many margins are fitted: the paper's tau.
    pub tail_size: TailSize,
    /// Which curve is fitted to them.
    pub tail_model: TailModel,
    /// A shape (kappa) to use instead of the fitted one; for [`TailModel::Weibull`] alone.
    pub fixed_shape: Option<f64>,
    /// A margin is this fraction of a distance to another class; 0.5 is half-way.
    pub distance_multiplier: f64,
    /// Whether columns are brought to mean 0 and deviation 1, over the first batch, before anything else is done with them.
    pub standardize: bool,
    /// The share of the within-class covariance in the matrix that the features are whitened with, the rest being its
    /// mean variance in all directions: 0 leaves them as they are, 1 makes classes equally wide in every direction. For
    /// Euclidean and cosine distances alone.
    ///
    /// The covariance is that of the first batch, and updates keep to it; so batches give the model of one fit for 0 alone.
    /// The model holds a matrix of dimensions x dimensions, and its distances, scales and vectors are those of the whitened
    /// space ([`Evm::in_feature_space`](crate::Evm::in_feature_space) leads back).
    pub whitening: f64,
    /// The fraction of the way that each training point moves to the mean of its nearest points of the class.
    pub smoothing: f64,
    /// How many nearest points that mean is taken over, the point itself included.
    pub smoothing_neighbors: usize,
    /// The fraction of the way that each fit moves towards the mean of all fits (of logarithms).
    pub pooling: f64,
    /// A point is covered by another whose psi at it reaches this: the paper's varsigma. 1 keeps every point.
    pub cover_threshold: f64,
    /// How many points of its class an extreme vector must cover first for each point of another class that it claims, as far as its psi
    /// there goes. What is not worth its risk is left out, with the points that nothing else covers: the higher, the fewer
    /// extreme vectors, strangers accepted, and outliers kept. 0 covers every point (Alg. 3). For `cover_threshold` alone, not for
    /// a budget. Costs the distances to other classes once more.
    pub cover_risk: f64,
    /// How much OSCR the cover of a first fit to more than 2,000 rows of three classes or more may cost, if `cover_threshold` is 1 and there
    /// is no limit. The fit leaves classes out in turn, takes the smallest cover that costs less, and sets `cover_threshold` to its
    /// threshold, which later updates keep to. 0 keeps every point.
    pub cover_loss: f64,
    /// A limit on the number of extreme vectors, which replaces `cover_threshold`.
    pub max_extreme_vectors: Option<Budget>,
    /// How extreme vectors are chosen.
    pub reduction: Reduction,
    /// How many of a class's largest psi are averaged: the paper's k.
    pub n_fused: usize,
    /// How much the lead of the best class over the second counts when a query is accepted or rejected: with supports
    /// s1 and s2 (see [`ClassScore`](crate::ClassScore)), delta is compared with psi at s1 + contrast (s1 - s2). 0 is
    /// Eq. 3; the best class is the same for every value. For [`TailModel::Weibull`] alone: the others round to 1.
    pub contrast: f64,
    /// How much the support of the median class m counts when a query is accepted or rejected: background times m is added
    /// to what is compared with the threshold. Where many classes resemble each other, a query of an unknown class is far
    /// from all of them. For [`TailModel::Weibull`] alone; meant for thresholds from held-out rows.
    pub background: f64,
    /// How much the support of a second machine counts, whose features are the logits of a linear probe, by cosine.
    pub logit_weight: Weight,
    /// How much the logits of the linear probe themselves count.
    ///
    /// With any of the three weights, the score of a class is the mean of its witnesses on one scale: its support in feature space,
    /// in the space of logits, its logit, and what the forest says; all but the first are bounded by what held-out rows have. Weights of
    /// 0 give the machine of the paper.
    pub probe_weight: Weight,
    /// How much a forest of extremely randomised trees counts: the logarithm of the probability that it gives a class. It is worth
    /// hearing on tables of measurements, and is left out where it is not (embeddings).
    pub forest_weight: Weight,
    /// Below which support a query is unknown: the paper's delta, or the share of queries that may be mistaken.
    pub rejection_threshold: Rejection,
    /// Of how many trainings in 1 the promise of `rejection_threshold` holds: 0.95 sets the threshold so that it is kept in 95 of 100
    /// trainings; 0 keeps it on average over trainings.
    pub confidence: f64,
    /// How the p-values of unknown queries are distributed, Beta(a, b); those of known ones are uniform. P(known) rests on
    /// it. Measured by tuning, or on rows known to be unknown ([`Evm::calibrate_unknowns`](crate::Evm::calibrate_unknowns));
    /// unless measured, what is typical of embeddings.
    pub strangers: [f64; 2],
    /// What an update does to Psi-models already there.
    pub refit: Refit,
    /// When an update chooses extreme vectors anew.
    pub reduce_when: ReduceWhen,
    /// What extreme vectors remember of their tails.
    pub tail_memory: TailMemory,
    /// Bytes that full tails may take in a model.
    pub tail_memory_limit: u64,
    /// Whether all pairs are measured, or as many as a recall takes.
    #[serde(skip_serializing_if = "Search::is_exact")]
    pub search: Search,
}

impl Default for Params {
    /// What is recommended: [`Params::robust`].
    fn default() -> Self {
        Self::robust()
    }
}

impl Params {
    /// The paper, with a threshold set so that one in twenty known queries is called unknown.
    pub fn plain() -> Self {
        Self {
            metric: Metric::Euclidean,
            tail_size: TailSize::Auto,
            tail_model: TailModel::Weibull,
            fixed_shape: None,
            distance_multiplier: 0.5,
            standardize: false,
            whitening: 0.0,
            smoothing: 0.0,
            smoothing_neighbors: 10,
            pooling: 0.0,
            cover_threshold: 0.5,
            cover_risk: 0.0,
            cover_loss: 0.0,
            max_extreme_vectors: None,
            reduction: Reduction::SetCover,
            n_fused: 1,
            contrast: 0.0,
            background: 0.0,
            logit_weight: Weight::Fixed(0.0),
            probe_weight: Weight::Fixed(0.0),
            forest_weight: Weight::Fixed(0.0),
            rejection_threshold: Rejection::DEFAULT,
            confidence: 0.0,
            strangers: TYPICAL_STRANGERS,
            refit: Refit::Affected,
            reduce_when: ReduceWhen::Always,
            tail_memory: TailMemory::Full,
            tail_memory_limit: 1 << 30,
            search: Search::Exact,
        }
    }
}

/// Most that a witness counts beside the support in feature space, which alone knows how far a query is from all data.
pub(crate) const MOST_WEIGHT: f64 = 20.0;
/// OSCR that the cover of the robust preset may cost.
pub(crate) const COVER_LOSS: f64 = 0.003;
/// Most OSCR that a cover may be allowed to cost.
pub(crate) const MOST_COVER_LOSS: f64 = 0.1;
/// Most that the median class counts.
pub(crate) const MOST_BACKGROUND: f64 = 10.0;
/// The least parameter of the distribution of p-values, and the inverse of the largest.
pub(crate) const MOST_STRANGE: f64 = 0.01;
/// P-values of unknown queries, where nobody measured them.
pub(crate) const TYPICAL_STRANGERS: [f64; 2] = [0.45, 6.0];

impl Params {
    /// What is fitted to each tail.
    pub(crate) fn fit_rule(&self) -> FitRule {
        FitRule {
            model: self.tail_model,
            multiplier: self.distance_multiplier,
            fixed_shape: self.fixed_shape,
        }
    }

    /// The paper to the letter: as [`plain`](Self::plain), with its delta of 0.05 instead of a threshold from held-out rows. Every
    /// row is learned.
    pub fn paper() -> Self {
        Self { rejection_threshold: Rejection::PAPER, ..Self::plain() }
    }

    /// A start without tuning that holds up on real features: points move half-way to the mean of their 4 nearest (for cosine, most
    /// of the way to that of 10), all fits are one, margins are wider, a lead over other classes counts a little, features are
    /// whitened a little, a linear probe, a machine over its logits and a forest are heard as far as they tell strangers from known
    /// rows when classes are left out in turn, and of more than 2,000 rows as few points are kept as cost less than 0.003 of OSCR.
    pub fn robust() -> Self {
        Self::robust_for(Metric::Euclidean)
    }

    /// As [`robust`](Self::robust), for another metric; without whitening where that has no meaning.
    ///
    /// ```
    /// use evmachine::{Metric, Params};
    ///
    /// assert_eq!(Params::robust_for(Metric::Cosine).whitening, 0.1);
    /// assert!(Params::robust_for(Metric::Manhattan).check().is_ok());
    /// ```
    pub fn robust_for(metric: Metric) -> Self {
        Self {
            whitening: if metric.is_linear() { 0.1 } else { 0.0 },
            smoothing: if metric == Metric::Cosine { 0.8 } else { 0.5 },
            smoothing_neighbors: if metric == Metric::Cosine { 10 } else { 4 },
            metric,
            pooling: 1.0,
            tail_size: TailSize::Count(200),
            distance_multiplier: 0.7,
            contrast: 0.1,
            logit_weight: Weight::Auto,
            probe_weight: Weight::Auto,
            forest_weight: Weight::Auto,
            cover_threshold: 1.0,
            cover_loss: COVER_LOSS,
            ..Self::plain()
        }
    }
}

impl Params {
    /// Of the machine over logits, the probe and the forest.
    pub(crate) fn witness_weights(&self) -> [Weight; 3] {
        [self.logit_weight, self.probe_weight, self.forest_weight]
    }

    /// Whether anything may be heard beside the support in feature space.
    pub(crate) fn hears_witnesses(&self) -> bool {
        self.witness_weights().iter().any(|weight| !weight.is_zero())
    }
}

fn write_metric<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&metric.name())
}

fn read_metric<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
    let name = String::deserialize(deserializer)?;
    Metric::from_name(&name).ok_or_else(|| {
        serde::de::Error::custom(format!("metric {name:?} is not one of euclidean, cosine, manhattan"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_sizes_resolve_as_the_paper_observed() {
        assert_eq!(TailSize::Auto.resolve(16, 26, 14_000), 71);
        assert_eq!(TailSize::Auto.resolve(4096, 50, 63_500), 31_750, "half of the negatives");
        assert_eq!(TailSize::Auto.resolve(2, 3, 1_000), 20);
        assert_eq!(TailSize::Auto.resolve(2, 2, 1), 1);
        assert_eq!(TailSize::Fraction(0.1).resolve(2, 2, 11), 2);
        assert_eq!(TailSize::Count(75).resolve(2, 2, 11), 75);
    }

    #[test]
    fn parameters_survive_json() {
        let params = Params {
            metric: Metric::Cosine,
            tail_size: TailSize::Count(7),
            max_extreme_vectors: Some(Budget::Ratio(0.25)),
            search: Search::Approximate(0.99),
            ..Params::robust()
        };
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), params);
        assert!(serde_json::from_str::<Params>(r#"{"tail": 3}"#).is_err());
    }
}
