//! The systems that the Extreme Value Machine is compared with, each from its own paper's definition, behind one
//! trait.
//!
//! | system | scores | rejects |
//! |---|---|---|
//! | [`ExtremeValueMachine`] | support of the class | below a probability |
//! | [`WeibullSvm`] | product of two Weibull probabilities, where a one-class model allows it | below a probability |
//! | [`PlattSvm`] | sigmoid of a one-vs-rest RBF SVM | below a probability |
//! | [`DecisionSvm`] | decision value of a one-vs-rest RBF SVM | below a decision value |
//! | [`NearestCap`] | abating probability of the distance to the nearest point of the class | below a probability |
//! | [`NearestNonOutlier`] | closeness to the class mean in a learned projection | beyond a radius |
//! | [`KernelDensity`] | log density of the class beside that of all data | below a ratio of densities |
//! | [`OneVsSet`] | place inside the slab of the class | outside all slabs |
//! | [`NearestThreshold`] | distance to the nearest points of the class | beyond a distance |
//! | [`Trees`] | probability of the class by extra trees, a random forest or boosted trees | below a probability |
//! | [`OpenSetNearestNeighbor`] | ratio of the distances to the class and to the next one | above a ratio |
//!
//! A probability to reject below can be given from outside, as the paper does with its formula for delta; radii,
//! densities, distances and ratios are set by cross-class validation on the training data ([`cross_class`]).

mod classes;
pub mod cross_class;
mod error;
mod evm;
mod kde;
mod nearest_cap;
mod nearest_threshold;
mod neighbors;
mod nno;
mod one_vs_set;
mod osnn;
mod projection;
mod scaling;
mod scores;
mod svm;
mod svm_grid;
mod system;
mod trees;
mod w_svm;

pub use error::SystemError;
pub use evm::ExtremeValueMachine;
use evmachine_eval::svm as machine;
pub use kde::KernelDensity;
pub use machine::Rbf;
pub use nearest_cap::NearestCap;
pub use nearest_threshold::NearestThreshold;
pub use nno::NearestNonOutlier;
pub use one_vs_set::OneVsSet;
pub use osnn::OpenSetNearestNeighbor;
pub use scores::Scores;
pub use svm::{DecisionSvm, PlattSvm};
pub use svm_grid::{GridPoint, svm_grid};
pub use system::System;
pub use trees::Trees;
pub use w_svm::WeibullSvm;
