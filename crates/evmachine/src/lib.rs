//! The Extreme Value Machine: a classifier over feature vectors that knows what it does not know.
//!
//! Every training point gets a Weibull model of its margin to the other classes (its Psi-model), a greedy set
//! cover keeps the few points that explain their class (the extreme vectors), a query that no class supports is
//! unknown, and new data and new classes are learned without retraining. After Rudd, Jain, Scheirer and Boult,
//! "The Extreme Value Machine", TPAMI 2018; equations, algorithms and sections are numbered as there.
//!
//! ```
//! use evmachine::{Evm, Features, Labels, Params};
//!
//! let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
//! let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
//! let (evm, _) = Evm::fit(&Params::default(), &features, &labels)?;
//!
//! let decisions = evm.decide(&Features::new(vec![0.05, 100.0], 1)?)?;
//! assert_eq!(decisions[0].class().map(|class| evm.class_name(class)), Some("low"));
//! assert_eq!(decisions[1].class(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The road of the data
//!
//! 1. [`Features`] and [`Labels`] come in and are checked once; [`Params`] says what to do with them.
//! 2. [`Metric`] says how far apart two vectors are; tiles of distances are computed by a kernel of its own.
//!    Where there is whitening, features are whitened before anything else is done with them.
//! 3. The smallest distances to other classes make the tail of a point, of [`TailSize`] values.
//! 4. [`TailModel`] says which curve is fitted to it; the fit is a [`PsiModel`] with a [`FitStatus`].
//! 5. The cover chooses the extreme vectors, by threshold or [`Budget`].
//! 6. [`Evm`] holds them; [`Report`] says how it went. A linear [`Probe`] and a machine over its logits may be heard beside it,
//!    and rows that were held out say how much, and where a query becomes unknown ([`Rejection`]); [`Promise`] says how sure that is.
//! 7. [`Decision`] is what it says of a query, [`Explanation`] why; [`TrackDecision`] is one answer for queries that belong together.
//! 8. [`UnknownPool`] gathers the unknowns, [`Strategy`] chooses what to label; [`Grouping`] keeps groups of them up as they come.
//! 9. [`Evm::update`] learns the labels, and the road begins again. [`Evm::edit`] corrects what was learned, [`Evm::ignore`]
//!    takes samples that stay strangers, [`Evm::doubt`] asks what a decision rests on, and [`suspects`](suspects()) which labels of the
//!    training rows are in doubt.
//!
//! 10. [`DriftMonitor`] watches a stream of queries, raises an alarm at a stated rate of false ones, and names the [`DriftCause`].
//!
//! Models are written to and read from safetensors files ([`Evm::save`], [`Evm::load`]). What takes long comes in two forms:
//! plain, and `..._with` a [`Run`] that can watch it and stop it. What only a tuner needs is in the module `tuning` (feature `unstable`).
//!
//! # Errors
//!
//! Each operation has one error, whose variants say all that can go wrong with it:
//!
//! | operation | error |
//! |---|---|
//! | [`Features`], [`Labels`], [`Params::check`] | [`FeatureError`], [`LabelError`], [`ParamsError`] |
//! | [`Evm::fit`], [`Evm::update`], [`Probe::fit`], [`suspects`](suspects()) | [`FitError`] |
//! | [`Evm::decide`], [`Evm::probabilities`], [`Evm::explain`], [`Probe::logits`] | [`RunError`] |
//! | [`Evm::calibrate`], [`Evm::calibrate_unknowns`], [`Evm::set_rejection`], [`Evm::discover`] | [`CalibrateError`] |
//! | [`Evm::reduce`] | [`ReduceError`] |
//! | [`Evm::forget_class`] | [`ForgetError`] |
//! | [`Evm::edit`], [`Evm::ignore`] | [`EditError`] |
//! | [`Evm::name_rows`] | [`NamesError`] |
//! | [`Evm::save`], [`Evm::load`] | [`FormatError`] |
//! | [`UnknownPool`], [`Grouping`] | [`PoolError`] |
//! | [`DriftMonitor`] | [`DriftError`] |
//! | [`TrackRule`], [`Evm::decide_tracks`] | [`TrackError`] |
//! | [`PsiModel::fit`] | [`MarginError`] |
//!
//! # Cargo features
//!
//! | Feature | |
//! |---|---|
//! | `files` (default) | [`Evm::save`] and [`Evm::load`]; without it models are bytes ([`Evm::to_bytes`]) |
//! | `ndarray` | [`Features`] from and to matrices of that crate |
//! | `schema` | schemas for `OpenAPI` of [`Answer`] and what belongs to it |
//! | `unstable` | devices, steps of a fit that others run, scratch folders, plans, tuning: may change in any version |
//!
//! What the library says ([`Decision`],
//! [`Explanation`], [`Report`], [`PsiModel`] and their parts) and its [`Params`] implement serde's traits always.
//!
//! # Guarantees
//!
//! For any number of threads, tile size and memory limit ([`Run`]) the model is the same, bit for bit, by an approximate
//! [`Search`] too. Bad
//! input is an error that names its row and column; nothing panics on it. Far from all data everything is unknown,
//! whatever the parameters ([`Evm::reach`]).

// Without the feature nobody asks for what tuning, devices and scratch folders need.
#![cfg_attr(not(feature = "unstable"), allow(dead_code, unreachable_pub))]

mod answer;
mod calibrate;
mod clock;
mod correct;
mod cover;
mod drift;
mod error;
mod heldout;
mod input;
mod json;
#[cfg(test)]
mod laws;
mod learn;
mod machine;
mod model;
mod params;
mod pool;
mod track;
#[cfg(feature = "unstable")]
pub mod tuning;
mod witness;

#[cfg(feature = "unstable")]
pub use evmachine_engine::device;
#[cfg(feature = "unstable")]
pub use evmachine_engine::tail::steps;
#[cfg(feature = "unstable")]
pub use evmachine_engine::{Bounds, Executor, Plan};
pub use evmachine_engine::{
    Distance, Features, FitStatus, MarginError, Metric, MetricError, Observer, PsiModel, Run, Search, Stage,
    TailRecall,
};

pub use answer::decider::Decider;
pub use answer::decision::Decision;
pub use answer::doubt::{Difference, Doubt};
pub use answer::explain::{ClassEvidence, Explanation, Speaker};
pub use answer::named::{
    Answer, NamedDenied, NamedDoubt, NamedEvidence, NamedIgnored, NamedSpeaker, Reasons, TrainingRow,
};
pub use calibrate::discovery::{Discoveries, UnknownShare};
pub use calibrate::promise::{Basis, Promise};
pub use correct::edit::{Edit, EditReport};
pub use correct::migrate::{MigrationReport, NewVectors};
pub use correct::suspects::{Claim, CoverPlace, Suspect, suspects, suspects_with};
pub use drift::monitor::{DriftError, DriftMonitor};
pub use drift::report::{
    CauseKind, DriftAlarm, DriftBasis, DriftCause, DriftReport, DriftWatch, NewGroup, Shift, ShiftedColumn,
};
pub use error::{
    CalibrateError, EditError, FeatureError, FitError, ForgetError, LabelError, ParamsError, ReduceError,
    RunError,
};
pub use evmachine_forest::ForestArrays;
pub use heldout::calibration::{CalibrationInfo, PValueSteps};
pub use heldout::prior::Prior;
pub use input::class_name::{self, ClassNameError};
pub use input::columns::{ColumnDoubt, ColumnKind, doubtful_columns};
pub use input::fill::{Fill, fill};
pub use input::fingerprint::{EncoderDoubt, Trait};
pub use input::labels::{self, Labels, UNKNOWN};
pub use input::similar::{SlipError, refuse_slip, similar};
pub use json::finite;
pub use machine::Machine;
pub use machine::class::{ClassInfo, ExtremeVector};
pub use machine::denied::{Denial, DeniedNearby};
pub use machine::ignored::IgnoredNearby;
pub use machine::report::{Concern, Report, Shares, StageTimes, StatusCounts, TuneAgain};
pub use machine::score::ClassScore;
pub use machine::sweep::DecisionRecall;
pub use model::Evm;
pub use model::aside::{RowAside, RowHeldOut};
pub use model::encoder::{Encoder, EncoderError};
pub use model::format::{FORMAT_VERSION, FormatError};
pub use model::origin::{NamesError, RowNames, RowOrigin};
pub use model::witnesses::WitnessInfo;
pub use params::cover::Cover;
pub use params::parameter::{Kind, Parameter};
pub use params::preset::Preset;
pub use params::range::Range;
pub use params::rejection::Rejection;
pub use params::text::in_python;
pub use params::{
    Budget, CheckedParams, Params, ReduceWhen, Reduction, Refit, SHAPE_CAP, TailMemory, TailModel, TailSize,
    Weight,
};
pub use pool::{
    Candidate, Capture, Enrolled, EnrolmentError, EnrolmentRule, Grouping, HeldBack, HeldReason, Membership,
    PoolError, SampleId, Strategy, Suggestion, UnknownPool,
};
pub use track::decision::{Track, TrackDecision};
pub use track::named::TrackAnswer;
pub use track::rule::{TrackBasis, TrackError, TrackRule};
pub use witness::mixture::Testimony;
pub use witness::probe::Probe;

#[cfg(feature = "unstable")]
/// Room on a disk for what does not fit the memory, and for what an interrupted run has found already.
pub mod scratch {
    pub use evmachine_engine::scratch::*;

    pub use crate::model::job::job;
}
