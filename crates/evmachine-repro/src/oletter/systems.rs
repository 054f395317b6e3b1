//! The systems of the experiment and how each is told what to reject.

use evmachine::{Budget, Metric, Params, TailModel, TailSize};
use evmachine_baselines::{
    DecisionSvm, ExtremeValueMachine, KernelDensity, NearestCap, NearestNonOutlier, NearestThreshold,
    OneVsSet, OpenSetNearestNeighbor, PlattSvm, Rbf, System, WeibullSvm,
};
use evmachine_eval::{Objective, Space, TrialSearch, TuneOptions};
use serde::{Deserialize, Serialize};

/// The parameters of the support vector machines, as [`svm_grid`](crate::svm_grid) finds them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SvmChoice {
    /// The cost C.
    pub cost: f64,
    /// gamma of the binary machines.
    pub gamma: f64,
    /// gamma of W-SVM's one-class machines.
    pub one_class_gamma: f64,
    /// nu of W-SVM's one-class machines.
    pub nu: f64,
    /// The cost C of the linear machines of 1-vs-Set.
    pub linear_cost: f64,
}

/// Which systems take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// All of them.
    All,
    /// The EVM in its forms.
    Evm,
}

/// How a system is told what to reject. Both are told how many unknown letters come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Below the probability that the paper's formula gives for the openness; for systems that give probabilities.
    Formula,
    /// Below the score that cross-class validation on the fold's training letters gives for the openness.
    Validated,
}

impl Rule {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Formula, Self::Validated];
}

/// A system of the experiment.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: String,
    kind: SystemKind,
}

#[derive(Debug, Clone)]
enum SystemKind {
    Evm(Box<Params>),
    WeibullSvm(SvmChoice),
    PlattSvm(SvmChoice),
    DecisionSvm(SvmChoice),
    NearestCap,
    /// By this share of whitening.
    NearestThreshold(f64),
    OpenSetNearestNeighbor,
    KernelDensity,
    NearestNonOutlier(MetricLearning),
    OneVsSet(SvmChoice),
}

#[derive(Debug, Clone, Copy)]
enum MetricLearning {
    With,
    Without,
}

impl SvmChoice {
    fn rbf(self) -> Rbf {
        Rbf { cost: self.cost, gamma: self.gamma }
    }
}

/// Trials of the search for the EVM's parameters.
pub(super) const TRIALS: usize = 60;
/// Fewest trials of a quick look.
const LEAST_TRIALS: usize = 4;
/// Kernels that KDE keeps of a class.
const KERNELS: usize = 100;
/// The share of the within-class covariance that nearest neighbours are whitened by: what the EVM's search finds on letters.
const NEIGHBOURS_WHITENING: f64 = 0.5;

impl Entry {
    pub(crate) fn evm(name: &str, params: Params) -> Self {
        Self { name: name.to_owned(), kind: SystemKind::Evm(Box::new(params)) }
    }

    /// Whether its threshold is validated. For the Platt SVM that of the same machines' decision values is, which costs a
    /// quarter of it.
    pub(super) fn is_validated(&self) -> bool {
        !matches!(self.kind, SystemKind::PlattSvm(_))
    }

    /// A fresh one. Thresholds of their own are open where cross-class validation sets them.
    pub(crate) fn build(&self) -> Box<dyn System> {
        match &self.kind {
            SystemKind::Evm(params) => Box::new(ExtremeValueMachine::new(&self.name, Params::clone(params))),
            SystemKind::WeibullSvm(svm) => Box::new(WeibullSvm::new(svm.rbf(), svm.one_class_gamma, svm.nu)),
            SystemKind::PlattSvm(svm) => Box::new(PlattSvm::new(svm.rbf())),
            SystemKind::DecisionSvm(svm) => Box::new(DecisionSvm::new(svm.rbf())),
            SystemKind::NearestCap => Box::new(NearestCap::new(Metric::Euclidean)),
            SystemKind::NearestThreshold(whitening) => {
                let plain = NearestThreshold::new(Metric::Euclidean, 1).with_whitening(*whitening);
                Box::new(plain.with_threshold(f64::NEG_INFINITY))
            }
            SystemKind::OpenSetNearestNeighbor => {
                Box::new(OpenSetNearestNeighbor::new(Metric::Euclidean).with_ratio(1.0))
            }
            SystemKind::KernelDensity => {
                Box::new(KernelDensity::new(KERNELS).with_threshold(f64::NEG_INFINITY))
            }
            SystemKind::NearestNonOutlier(MetricLearning::With) => {
                Box::new(NearestNonOutlier::new(16).with_tau(1.0))
            }
            SystemKind::NearestNonOutlier(MetricLearning::Without) => {
                Box::new(NearestNonOutlier::euclidean().with_tau(1.0))
            }
            SystemKind::OneVsSet(svm) => Box::new(OneVsSet::new(svm.linear_cost)),
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

/// All systems that take part in a draw, with the tuned parameters for the last two of the EVMs; without a choice for the
/// support vector machines, the EVMs alone.
pub(super) fn entries(tuned: &Params, svm: Option<SvmChoice>) -> Vec<Entry> {
    let mut entries: Vec<Entry> =
        TailModel::ALL.iter().map(|&model| Entry::evm(&evm_name(model), paper(model))).collect();
    entries.push(Entry::evm(TUNED, tuned.clone()));
    let whole = Params { max_extreme_vectors: None, ..tuned.clone() };
    entries.push(Entry::evm(TUNED_WHOLE, whole));
    if let Some(svm) = svm {
        let others = [
            SystemKind::WeibullSvm(svm),
            SystemKind::PlattSvm(svm),
            SystemKind::DecisionSvm(svm),
            SystemKind::NearestCap,
            SystemKind::NearestThreshold(0.0),
            SystemKind::NearestThreshold(NEIGHBOURS_WHITENING),
            SystemKind::OpenSetNearestNeighbor,
            SystemKind::KernelDensity,
            SystemKind::NearestNonOutlier(MetricLearning::With),
            SystemKind::NearestNonOutlier(MetricLearning::Without),
            SystemKind::OneVsSet(svm),
        ];
        entries.extend(others.map(|kind| {
            let unnamed = Entry { name: String::new(), kind };
            Entry { name: unnamed.build().name(), ..unnamed }
        }));
    }
    entries
}

/// How the EVM is tuned: F1 on letters left out, over the tuner's whole space, a third of the points kept. A quick look at
/// every so many rows has as many times fewer trials.
pub(super) fn tune_options(seed: u64, every: usize) -> TuneOptions {
    TuneOptions {
        base: Params { max_extreme_vectors: Some(Budget::Ratio(0.34)), ..Params::paper() },
        space: Space::full(),
        search: TrialSearch::Bayesian { trials: (TRIALS / every.max(1)).max(LEAST_TRIALS) },
        objective: Objective::F1,
        folds: Some(5),
        seed,
        ..TuneOptions::default()
    }
}
