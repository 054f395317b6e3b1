//! How a forest grows.

use crate::error::ForestError;

/// How a node is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitRule {
    /// Extremely randomised trees (Geurts, Ernst and Wehenkel, 2006): for each column that is tried, one threshold drawn evenly
    /// between the least and the largest value of the node; the best of them by Gini impurity is taken.
    Random,
    /// Random forests (Breiman, 2001): of each column that is tried, the best of all thresholds halfway between values.
    Best,
}

/// How many columns are tried at a node. Columns that are constant there count, but the search goes on until one is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnsTried {
    /// The square root of their number, rounded down.
    SquareRoot,
    /// So many, or all of them if there are fewer.
    Count(usize),
    /// All.
    All,
}

impl ColumnsTried {
    pub(crate) fn of(self, columns: usize) -> usize {
        match self {
            Self::SquareRoot => columns.isqrt(),
            Self::Count(count) => count,
            Self::All => columns,
        }
        .clamp(1, columns.max(1))
    }
}

/// How a forest grows. The defaults are those of scikit-learn's `ExtraTreesClassifier` and `RandomForestClassifier`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForestOptions {
    /// Number of trees, 100.
    pub trees: usize,
    /// How nodes are split.
    pub split: SplitRule,
    /// Whether each tree learns from as many rows as there are, drawn with replacement, instead of from all rows.
    pub bootstrap: bool,
    /// Columns tried at a node, their square root.
    pub columns: ColumnsTried,
    /// A node of fewer rows is a leaf; 2.
    pub min_samples_split: usize,
    /// No leaf has fewer rows; 1.
    pub min_samples_leaf: usize,
    /// No leaf is deeper below its root, if set.
    pub max_depth: Option<usize>,
    /// Another seed grows other trees.
    pub seed: u64,
}

impl ForestOptions {
    /// Extremely randomised trees, each from all rows.
    pub fn extra_trees() -> Self {
        Self {
            trees: 100,
            split: SplitRule::Random,
            bootstrap: false,
            columns: ColumnsTried::SquareRoot,
            min_samples_split: 2,
            min_samples_leaf: 1,
            max_depth: None,
            seed: 0,
        }
    }

    /// A random forest, each tree from rows drawn with replacement.
    pub fn random_forest() -> Self {
        Self { split: SplitRule::Best, bootstrap: true, ..Self::extra_trees() }
    }

    pub(crate) fn check(&self) -> Result<(), ForestError> {
        let least = |name: &'static str, value: usize, least: usize, allowed: &'static str| {
            if value < least {
                Err(ForestError::Option { name, value: value as f64, allowed })
            } else {
                Ok(())
            }
        };
        least("trees", self.trees, 1, "at least 1")?;
        least("min_samples_split", self.min_samples_split, 2, "at least 2")?;
        least("min_samples_leaf", self.min_samples_leaf, 1, "at least 1")?;
        least("max_depth", self.max_depth.unwrap_or(1), 1, "at least 1")?;
        if let ColumnsTried::Count(count) = self.columns {
            least("columns", count, 1, "at least 1")?;
        }
        Ok(())
    }
}
