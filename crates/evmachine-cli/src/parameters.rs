//! The flags that set the library's parameters, one for each.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use evmachine::{
    Budget, Evm, Metric, Params, ReduceWhen, Reduction, Refit, TailMemory, TailModel, TailSize, Weight,
};

use crate::console::Console;
use crate::failure::{Failure, Kind};
use crate::megabytes::Megabytes;
use crate::search::SearchArguments;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Eq. 1 as published, cover threshold 0.5, k = 1, with a threshold that keeps to a share of known rows rejected.
    Plain,
    /// The same to the letter: psi below delta = 0.05 is unknown, and every row is learned.
    Paper,
    /// Ahead on real features without tuning: smoothing, pooling, wider margins, every point kept, and a linear probe beside.
    Robust,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricName {
    Euclidean,
    Cosine,
    Manhattan,
}

/// A name in the command line for each value of one of the library's choices.
macro_rules! names {
    ($name:ident for $target:ty { $($variant:ident),+ $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub(crate) enum $name { $($variant),+ }

        impl From<$name> for $target {
            fn from(name: $name) -> Self {
                match name { $($name::$variant => <$target>::$variant),+ }
            }
        }
    };
}

names!(TailModelName for TailModel { Weibull, Libmr, Gumbel });
names!(ReductionName for Reduction { SetCover, WeightedMaxK });
names!(RefitName for Refit { New, Affected, All });
names!(ReduceWhenName for ReduceWhen { Always, OverBudget });
names!(TailMemoryName for TailMemory { Full, Max, None });

/// A tail size on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TailSizeText(TailSize);

impl FromStr for TailSizeText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not auto, a count such as 75, or a percentage such as 2%");
        if text == "auto" {
            return Ok(Self(TailSize::Auto));
        }
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| bad())?;
            return Ok(Self(TailSize::Fraction(percent / 100.0)));
        }
        text.parse().map(|count| Self(TailSize::Count(count))).map_err(|_| bad())
    }
}

/// The weight of a witness on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WeightText(Weight);

impl FromStr for WeightText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(Weight::Auto));
        }
        let number = text.parse().map_err(|_| format!("{text:?} is not auto or a number such as 1.5"))?;
        Ok(Self(Weight::Fixed(number)))
    }
}

/// How to train. Flags override `--params`, which overrides `--preset`.
#[derive(Debug, Clone, Args, Default, PartialEq)]
#[command(next_help_heading = "Parameters")]
pub(crate) struct ParameterArguments {
    /// Where to start from; plain unless given.
    #[arg(long, value_enum)]
    pub(crate) preset: Option<Preset>,

    /// Parameters from a file, as `evmachine tune` writes it.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,

    /// The distance between vectors; cosine for embeddings [paper: euclidean].
    #[arg(long, value_enum)]
    pub(crate) metric: Option<MetricName>,

    /// How many of the smallest margins are fitted (tau): auto, a count such as 75, or a share of the negatives
    /// such as 2% [paper: auto].
    #[arg(long, value_name = "SIZE")]
    pub(crate) tail_size: Option<TailSizeText>,

    /// The curve that is fitted to them [paper: weibull].
    #[arg(long, value_enum)]
    pub(crate) tail_model: Option<TailModelName>,

    /// Use this shape (kappa) instead of fitting one.
    #[arg(long, value_name = "KAPPA")]
    pub(crate) fixed_shape: Option<f64>,

    /// A margin is this fraction of a distance to another class [paper: 0.5, robust: 0.7].
    #[arg(long, value_name = "FRACTION")]
    pub(crate) distance_multiplier: Option<f64>,

    /// Bring every column to mean 0 and deviation 1 first.
    #[arg(long)]
    pub(crate) standardize: bool,

    /// Whiten features by this share of the within-class covariance; euclidean and cosine alone [paper: 0, robust: 0.1].
    #[arg(long, value_name = "SHARE")]
    pub(crate) whitening: Option<f64>,

    /// Move points this fraction of the way to the mean of their nearest points of the class [paper: 0, robust: 0.8].
    #[arg(long, value_name = "FRACTION")]
    pub(crate) smoothing: Option<f64>,

    /// How many nearest points that mean is taken over, the point itself included [paper, robust: 10].
    #[arg(long, value_name = "N")]
    pub(crate) smoothing_neighbors: Option<usize>,

    /// Move fits this fraction of the way to the mean of all fits [paper: 0, robust: 0.8].
    #[arg(long, value_name = "FRACTION")]
    pub(crate) pooling: Option<f64>,

    /// A point is covered where psi reaches this (varsigma); 1 keeps every point [paper: 0.5, robust: 1].
    #[arg(long, value_name = "PROBABILITY", conflicts_with = "budget")]
    pub(crate) cover_threshold: Option<f64>,

    /// Leave out extreme vectors that cover fewer points of their class than this times the points of other classes that they
    /// claim: fewer vectors, strangers accepted and outliers kept; 0 covers every point [paper, robust: 0].
    #[arg(long, value_name = "WEIGHT", conflicts_with = "budget")]
    pub(crate) cover_risk: Option<f64>,

    #[command(flatten)]
    pub(crate) budget: BudgetArguments,

    /// How extreme vectors are chosen.
    #[arg(long, value_enum)]
    pub(crate) reduction: Option<ReductionName>,

    /// How many of a class's largest psi are averaged (k) [paper, robust: 1].
    #[arg(short = 'k', long, value_name = "K")]
    pub(crate) n_fused: Option<usize>,

    /// How much the lead of the best class over the second counts for acceptance; weibull alone [paper: 0, robust: 0.1].
    #[arg(long, value_name = "WEIGHT")]
    pub(crate) contrast: Option<f64>,

    /// How much a machine over the logits of a linear probe counts beside the features: auto, as held-out rows bear it out,
    /// or a number; 0 leaves it out [paper: 0, robust: auto].
    #[arg(long, value_name = "WEIGHT")]
    pub(crate) logit_weight: Option<WeightText>,

    /// How much the logits of the probe themselves count [paper: 0, robust: auto].
    #[arg(long, value_name = "WEIGHT")]
    pub(crate) probe_weight: Option<WeightText>,

    /// What later updates do to Psi-models already there.
    #[arg(long, value_enum)]
    pub(crate) refit: Option<RefitName>,

    /// When later updates choose extreme vectors anew.
    #[arg(long, value_enum)]
    pub(crate) reduce_when: Option<ReduceWhenName>,

    /// What extreme vectors remember of their tails, for later updates.
    #[arg(long, value_enum)]
    pub(crate) tail_memory: Option<TailMemoryName>,

    /// Megabytes that whole tails may take in the model.
    #[arg(long, value_name = "MB")]
    pub(crate) tail_memory_limit: Option<Megabytes>,

    #[command(flatten)]
    pub(crate) search: SearchArguments,
}

/// At most one limit on the number of extreme vectors.
#[derive(Debug, Clone, Copy, Args, Default, PartialEq)]
#[group(id = "budget", multiple = false)]
pub(crate) struct BudgetArguments {
    /// Keep at most so many extreme vectors of each class.
    #[arg(long, value_name = "N")]
    pub(crate) max_per_class: Option<usize>,

    /// Keep at most so many extreme vectors in all, and one of each class at least.
    #[arg(long, value_name = "N")]
    pub(crate) max_total: Option<usize>,

    /// Keep this fraction of all training points, and one of each class at least.
    #[arg(long, value_name = "RATIO")]
    pub(crate) vector_ratio: Option<f64>,
}

impl BudgetArguments {
    pub(crate) fn budget(&self) -> Option<Budget> {
        let per_class = self.max_per_class.map(Budget::PerClass);
        per_class.or(self.max_total.map(Budget::Total)).or(self.vector_ratio.map(Budget::Ratio))
    }
}

/// Says where a budget was not kept to, because every class keeps an extreme vector.
pub(crate) fn warn_of_budget(console: &Console, evm: &Evm) {
    let classes = evm.classes().len();
    let rows: u64 = evm.classes().map(|class| class.points_seen).sum();
    let allowed = match evm.params().max_extreme_vectors {
        Some(Budget::Total(count)) => count as f64,
        Some(Budget::Ratio(ratio)) => ratio * rows as f64,
        Some(Budget::PerClass(_)) | None => return,
    };
    if allowed < classes as f64 {
        console.warn(format!(
            "{allowed} extreme vectors are fewer than the {classes} classes, each of which keeps one at least; \
             {} are in the model",
            evm.extreme_vector_count()
        ));
    }
}

impl ParameterArguments {
    /// Whether the metric is given, by its flag or with others in a file.
    pub(crate) fn names_metric(&self) -> bool {
        self.metric.is_some() || self.params.is_some()
    }

    /// The parameters, checked.
    pub(crate) fn build(&self) -> Result<Params, Failure> {
        let metric = self.metric.map(|metric| match metric {
            MetricName::Euclidean => Metric::Euclidean,
            MetricName::Cosine => Metric::Cosine,
            MetricName::Manhattan => Metric::Manhattan,
        });
        let mut params = match (&self.params, self.preset) {
            (Some(path), preset) => {
                if preset.is_some() {
                    return Err(Failure::new(Kind::Usage, "--preset and --params exclude each other")
                        .hint("give one of them, and change single parameters by their own flags"));
                }
                read(path)?
            }
            (None, Some(Preset::Robust)) => Params::robust_for(metric.clone().unwrap_or(Metric::Euclidean)),
            (None, Some(Preset::Paper)) => Params::paper(),
            (None, Some(Preset::Plain) | None) => Params::default(),
        };
        set(&mut params.metric, metric);
        set(&mut params.tail_size, self.tail_size.map(|size| size.0));
        set(&mut params.tail_model, self.tail_model);
        set(&mut params.distance_multiplier, self.distance_multiplier);
        set(&mut params.whitening, self.whitening);
        set(&mut params.smoothing, self.smoothing);
        set(&mut params.smoothing_neighbors, self.smoothing_neighbors);
        set(&mut params.pooling, self.pooling);
        set(&mut params.cover_risk, self.cover_risk);
        set(&mut params.reduction, self.reduction);
        set(&mut params.n_fused, self.n_fused);
        set(&mut params.contrast, self.contrast);
        set(&mut params.logit_weight, self.logit_weight.map(|weight| weight.0));
        set(&mut params.probe_weight, self.probe_weight.map(|weight| weight.0));
        params.standardize |= self.standardize;
        set(&mut params.refit, self.refit);
        set(&mut params.reduce_when, self.reduce_when);
        set(&mut params.tail_memory, self.tail_memory);
        set(&mut params.tail_memory_limit, self.tail_memory_limit.map(|limit| limit.bytes as u64));
        params.search = self.search.over(params.search)?;
        params.fixed_shape = self.fixed_shape.or(params.fixed_shape);
        if let Some(budget) = self.budget.budget() {
            params.max_extreme_vectors = Some(budget);
            params.cover_risk = 0.0;
        }
        if let Some(threshold) = self.cover_threshold {
            params.cover_threshold = threshold;
            params.max_extreme_vectors = None;
        }
        params.check()?;
        Ok(params)
    }
}

/// What was not given stays as it is.
fn set<T>(target: &mut T, value: Option<impl Into<T>>) {
    if let Some(value) = value {
        *target = value.into();
    }
}

fn read(path: &std::path::Path) -> Result<Params, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Kind::Usage, error.to_string()).about(path.display()))?;
    toml::from_str(&text).map_err(|error| {
        Failure::new(Kind::Usage, error.to_string().trim_end().to_owned())
            .about(path.display())
            .hint("`evmachine tune DATA -o params.toml` writes such a file")
    })
}
