//! The systems of the experiment and how each is told what to reject.

use evmachine::{Budget, Metric, Params, TailModel, TailSize};
use evmachine_baselines::{
    ExtremeValueMachine, KernelDensity, NearestCap, NearestNonOutlier, NearestThreshold, OneVsSet,
    OpenSetNearestNeighbor, PlattSvm, Rbf, System, WeibullSvm,
};
use evmachine_eval::{Objective, Search, Space, TuneOptions};
use serde::Serialize;

/// The parameters of the support vector machines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SvmChoice {
    /// The cost C.
    pub cost: f64,
    /// gamma of the binary machines.
    pub gamma: f64,
    /// gamma of W-SVM's one-class machines.
    pub one_class_gamma: f64,
    /// nu of W-SVM's one-class machines.
    pub nu: f64,
}

/// What `evmachine-repro svm-grid` chose on the training letters of the first fold of the first draw.
pub const SVM: SvmChoice = SvmChoice { cost: 8.0, gamma: 8.0, one_class_gamma: 0.0625, nu: 0.01 };

/// Which systems take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// All of them.
    All,
    /// The EVM in its forms.
    Evm,
}

/// How a system is told what to reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Below the probability that the paper's formula gives for the openness.
    Formula,
    /// Below the score that cross-class validation on training letters gives for the openness.
    CrossClass,
}

/// A system of the experiment.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: String,
    /// How it rejects.
    pub(crate) rule: Rule,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Evm(Box<Params>),
    WeibullSvm,
    PlattSvm,
    NearestCap,
    NearestThreshold(usize),
    OpenSetNearestNeighbor,
    KernelDensity,
    NearestNonOutlier,
    OneVsSet,
}

/// Kernels that KDE keeps of a class.
const KERNELS: usize = 100;

impl Entry {
    pub(crate) fn evm(name: &str, rule: Rule, params: Params) -> Self {
        Self { name: name.to_owned(), rule, kind: Kind::Evm(Box::new(params)) }
    }

    /// A fresh one. Thresholds of their own are open where cross-class validation sets them.
    pub(crate) fn build(&self) -> Box<dyn System> {
        let rbf = Rbf { cost: SVM.cost, gamma: SVM.gamma };
        match &self.kind {
            Kind::Evm(params) => Box::new(ExtremeValueMachine::new(&self.name, Params::clone(params))),
            Kind::WeibullSvm => Box::new(WeibullSvm::new(rbf, SVM.one_class_gamma, SVM.nu)),
            Kind::PlattSvm => Box::new(PlattSvm::new(rbf)),
            Kind::NearestCap => Box::new(NearestCap::new(Metric::Euclidean)),
            Kind::NearestThreshold(k) => {
                Box::new(NearestThreshold::new(Metric::Euclidean, *k).with_threshold(f64::NEG_INFINITY))
            }
            Kind::OpenSetNearestNeighbor => {
                Box::new(OpenSetNearestNeighbor::new(Metric::Euclidean).with_ratio(1.0))
            }
            Kind::KernelDensity => Box::new(KernelDensity::new(KERNELS).with_threshold(f64::NEG_INFINITY)),
            Kind::NearestNonOutlier => Box::new(NearestNonOutlier::new(16).with_tau(1.0)),
            Kind::OneVsSet => Box::new(OneVsSet::new()),
        }
    }
}

/// The paper's parameters: tail size 75, k = 4, cover threshold 0.5.
pub(crate) fn paper(model: TailModel) -> Params {
    Params { tail_model: model, tail_size: TailSize::Count(75), n_fused: 4, ..Params::paper() }
}

/// The name of the EVM with tuned parameters.
pub(super) const TUNED: &str = "EVM, tuned";

/// The name of the same with every point kept.
pub(super) const TUNED_WHOLE: &str = "EVM, tuned, every point";

/// The name of the paper's EVM with a tail model.
pub(super) fn evm_name(model: TailModel) -> String {
    format!("EVM, {}", format!("{model:?}").to_lowercase())
}

/// All systems that take part, with the tuned parameters for the last two of the EVMs.
pub(super) fn entries(selection: Selection, tuned: &Params) -> Vec<Entry> {
    let mut entries: Vec<Entry> = TailModel::ALL
        .iter()
        .map(|&model| Entry::evm(&evm_name(model), Rule::Formula, paper(model)))
        .collect();
    entries.push(Entry::evm(TUNED, Rule::CrossClass, tuned.clone()));
    let whole = Params { max_extreme_vectors: None, ..tuned.clone() };
    entries.push(Entry::evm(TUNED_WHOLE, Rule::CrossClass, whole));
    if selection == Selection::All {
        entries.extend([
            entry(Rule::Formula, Kind::WeibullSvm),
            entry(Rule::Formula, Kind::PlattSvm),
            entry(Rule::Formula, Kind::NearestCap),
            entry(Rule::CrossClass, Kind::NearestThreshold(1)),
            entry(Rule::CrossClass, Kind::OpenSetNearestNeighbor),
            entry(Rule::CrossClass, Kind::KernelDensity),
            entry(Rule::CrossClass, Kind::NearestNonOutlier),
            // Its slabs reject by themselves.
            entry(Rule::Formula, Kind::OneVsSet),
        ]);
    }
    entries
}

fn entry(rule: Rule, kind: Kind) -> Entry {
    let unnamed = Entry { name: String::new(), rule, kind };
    Entry { name: unnamed.build().name(), ..unnamed }
}

/// How the EVM is tuned: F1 on classes left out, a third of the points kept. The space is what suits a few dimensions:
/// short tails, margins half-way as in the paper, little smoothing.
pub(super) fn tune_options(seed: u64) -> TuneOptions {
    let space = Space {
        whitening: vec![0.0, 0.1, 0.5],
        smoothing: vec![(0.0, 10), (0.3, 5), (0.3, 10), (0.5, 5), (0.5, 10)],
        tail_model: vec![TailModel::Weibull, TailModel::Gumbel],
        tail_fraction: vec![0.005, 0.01, 0.02, 0.05],
        multiplier: vec![0.5],
        pooling: vec![0.0, 0.25, 0.5, 0.7],
        n_fused: vec![1, 2, 4],
        cover_threshold: vec![1.0],
        ..Space::full()
    };
    TuneOptions {
        base: Params { max_extreme_vectors: Some(Budget::Ratio(0.34)), ..Params::paper() },
        space,
        search: Search::Bayesian { trials: 40 },
        objective: Objective::F1,
        folds: Some(5),
        seed,
        ..TuneOptions::default()
    }
}
