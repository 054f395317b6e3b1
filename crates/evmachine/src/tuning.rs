//! For whoever writes a tuner: many models from the distances of one, and the weights of witnesses.
//!
//! Nobody else needs what is here; `evmachine-eval` is such a tuner. A model that keeps every point and remembers its tails
//! whole holds all that depends on distances between training points. [`derive`](derive()) makes of it the model that other
//! parameters would have given, from [`TailFits`] where many share them, and a [`DistanceTable`] answers queries to all of
//! those models.
//!
//! ```
//! use evmachine::tuning::{self, DistanceTable};
//! use evmachine::{Evm, Features, Labels, Params, Run};
//!
//! let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
//! let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
//! let base = Params { cover_threshold: 1.0, ..Params::paper() };
//! let (evm, _) = Evm::fit(&base, &features, &labels)?;
//! let queries = Features::new(vec![0.05, 3.0], 1)?;
//! let table = DistanceTable::measure(&Run::new(), evm.machine(), &queries)?;
//!
//! let other = Params { pooling: 0.5, distance_multiplier: 0.7, ..base };
//! let derived = tuning::derive(&Run::new(), &evm, &other, &features)?;
//! let found = table.map_queries(derived.machine(), |_, scores| derived.decision(scores))?;
//! let (fitted, _) = Evm::fit(&other, &features, &labels)?;
//! assert_eq!(found, fitted.decide(&queries)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Beside what is here, [`Params::over_logits`](crate::Params::over_logits),
//! [`Probe::features`](crate::Probe::features) and [`Evm::strangers_of`](crate::Evm::strangers_of) are there for tuners, and
//! [`Run::tile`](crate::Run::tile) is there for benchmarks.

pub(crate) mod derive;
pub use crate::learn::training::weighing::weigh;
pub use crate::machine::table::DistanceTable;
pub use crate::tuning::derive::{DeriveError, TailFits, derive};
pub use crate::witness::forest::ForestWitness;
pub use crate::witness::mixture::Weights;
pub use crate::witness::stacking::stack;
