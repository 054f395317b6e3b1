//! The engine of the Extreme Value Machine: how the tails of points are found and fitted. It knows no model.
//!
//! 1. [`features`] come in and are checked once; [`points`] are what a [`metric`] needs of them.
//! 2. [`distance`](mod@distance) measures tiles of pairs, by a kernel for each set of vector instructions ([`level`]).
//! 3. [`tail`] finds, by a [`plan`], the smallest distances of each point to other classes; [`cells`]
//!    serve searches that need not find all.
//! 4. [`psi`] fits a curve to each tail.
//!
//! A [`Run`] says who watches, how much memory there is, and whether a [`device`] or a [`scratch`] folder takes part.
//!
//! The crate serves `evmachine`, which has what people use; its interface changes with that crate.

#[cfg(feature = "ndarray")]
mod array;
pub mod cells;
pub mod device;
pub mod distance;
mod error;
pub mod features;
pub mod level;
pub mod math;
pub mod matrix;
mod memory;
pub mod metric;
pub mod once;
pub mod plan;
pub mod points;
pub mod psi;
pub mod run;
pub mod scratch;
pub mod search;
pub mod tail;

pub use error::{FeatureError, RunError, TailError};
pub use features::Features;
pub use metric::{Distance, Metric, MetricError};
pub use plan::{Bounds, Executor, Plan};
pub use psi::weibull::MarginError;
pub use psi::{FitRule, FitStatus, PsiModel, SHAPE_CAP, TailModel};
pub use run::{Observer, Run, Stage};
pub use search::{Search, TailRecall};
pub use tail::memory::TailMemory;
