//! How good an open-set classifier is, and how to make it better.
//!
//! 1. [`Answers`] puts what a classifier said beside what was true, unknowns included.
//! 2. [`Evaluation`] sums it up: accuracy, F1, normalised accuracy, AUROC, OSCR, FPR at 95 % TPR, the
//!    confusion matrix.
//! 3. [`Rates`] says what a threshold comes to, [`Chance`] whether that is what was promised, [`Reliability`] whether confidences mean
//!    what they say.
//! 4. [`folds`](mod@folds) divides data for cross-class validation: classes left out in turn act as unknowns.
//! 5. [`Rival`] is what a practitioner would reach for instead: nearest neighbours, class means, Mahalanobis' distance,
//!    the scores of a linear classifier, forests, support vector machines.
//! 6. [`tune`](mod@tune) chooses parameters on training data alone, and says by how much they beat the rivals.

pub mod answers;
mod arena;
mod chance;
mod course;
pub mod curves;
pub mod evaluation;
mod evidence;
pub mod folds;
mod objective;
pub mod openness;
mod rates;
pub mod reliability;
pub mod rivals;
pub mod space;
pub mod svm;
pub mod tune;
mod voices;

pub use answers::Answers;
pub use chance::Chance;
pub use evaluation::Evaluation;
pub use evidence::Lead;
pub use folds::{Fold, FoldError};
pub use rates::Rates;
pub use reliability::{Reliability, ReliabilityError};
pub use rivals::{Contest, Linear, Rival, RivalError};
pub use space::Space;
pub use tune::{Objective, Trial, TrialSearch, TuneError, TuneOptions, TuneProgress, Tuned, tune, tune_with};
pub use voices::Weights;
