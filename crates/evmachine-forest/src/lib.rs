//! Forests of classification trees, as users know them from scikit-learn, in plain code: extremely randomised trees, random
//! forests, and gradient-boosted trees.
//!
//! 1. [`ForestOptions`] and [`BoostedOptions`] say how trees grow; their defaults are scikit-learn's.
//! 2. [`Forest::fit`] grows trees that are independent of each other, [`Boosted::fit`] trees that each correct those before.
//! 3. Both give class probabilities of rows. A forest also says in which [leaf](Forest::leaves) of each tree a row ends; rows that
//!    share many leaves are near each other ([`LeafIndex`]).
//! 4. [`ForestArrays`] is a forest as plain arrays, for a file.
//!
//! Each tree has its own seed, and rows are summed in one order: the result is the same, bit for bit, for any number of threads.
//!
//! ```
//! use evmachine_engine::{Features, Run};
//! use evmachine_forest::{Forest, ForestOptions};
//!
//! let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
//! let forest = Forest::fit(&Run::new(), &features, &[0, 0, 0, 1, 1, 1], 2, &ForestOptions::extra_trees())?;
//! let queries = Features::new(vec![-3.0, 9.0], 1)?;
//! assert_eq!(forest.probabilities(&queries)?, [1.0, 0.0, 0.0, 1.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrays;
mod boosted;
mod error;
mod forest;
mod grow;
mod leaves;
mod options;
mod random;
mod table;
mod tree;

pub use arrays::ForestArrays;
pub use boosted::{Boosted, BoostedOptions};
pub use error::ForestError;
pub use forest::Forest;
pub use leaves::LeafIndex;
pub use options::{ColumnsTried, ForestOptions, SplitRule};
