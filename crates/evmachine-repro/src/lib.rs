//! The experiments of the paper, each a function from data to a log of everything measured, pictures, and text that says
//! where the paper and the run agree and where not.
//!
//! | module | of the paper |
//! |---|---|
//! | [`teaser`] | Fig. 1: four classes in the plane |
//! | [`oletter`] | Sec. V-A, Fig. 2: letters that were never seen |
//! | [`openworld`] | Sec. V-B, Fig. 3, Table I: classes learned in steps |
//! | [`budget`] | Sec. VI: how few points will do |
//! | [`parameters`] | supplement, Fig. 5: shapes and scales |
//! | [`svm_grid`] | Sec. V-A: C and gamma of the support vector machines |
//!
//! Runs are seeded and can be stopped: what is finished is in the log, and the next run goes on from there.

pub mod budget;
mod error;
mod letter;
mod log;
pub mod oletter;
pub mod openworld;
pub mod parameters;
mod section;
mod statistics;
pub mod svm_grid;
pub mod synthetic;
pub mod teaser;
mod tuned;
mod watch;

pub use error::ReproError;
pub use section::{Claim, Figure, Section, Table, Verdict, page};
pub use watch::Watch;
