//! How boosted trees grow.

use crate::error::ForestError;

/// How boosted trees grow. The defaults are those of scikit-learn's `HistGradientBoostingClassifier`.
#[derive(Debug, Clone, PartialEq)]
pub struct BoostedOptions {
    /// Rounds at most, each of one tree a class; 100.
    pub rounds: usize,
    /// How far each tree goes the way that its gradients point; 0.1.
    pub learning_rate: f64,
    /// Leaves of a tree at most; 31.
    pub max_leaves: usize,
    /// No leaf has fewer rows; 20.
    pub min_samples_leaf: usize,
    /// Added to the sum of hessians of a leaf; 0.
    pub l2: f64,
    /// From more rows than this on, a tenth of each class is held out, and rounds end when its loss has not fallen for ten of them;
    /// 10,000.
    pub stop_early_above: usize,
    /// Another seed holds out other rows.
    pub seed: u64,
}

impl Default for BoostedOptions {
    fn default() -> Self {
        Self {
            rounds: 100,
            learning_rate: 0.1,
            max_leaves: 31,
            min_samples_leaf: 20,
            l2: 0.0,
            stop_early_above: 10_000,
            seed: 0,
        }
    }
}

impl BoostedOptions {
    pub(crate) fn check(&self) -> Result<(), ForestError> {
        let counts = [
            ("rounds", self.rounds, 1, "at least 1"),
            ("max_leaves", self.max_leaves, 2, "at least 2"),
            ("min_samples_leaf", self.min_samples_leaf, 1, "at least 1"),
        ];
        for (name, value, least, allowed) in counts {
            if value < least {
                return Err(ForestError::Option { name, value: value as f64, allowed });
            }
        }
        if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) {
            let (name, value) = ("learning_rate", self.learning_rate);
            return Err(ForestError::Option { name, value, allowed: "above 0" });
        }
        if !(self.l2 >= 0.0 && self.l2.is_finite()) {
            return Err(ForestError::Option { name: "l2", value: self.l2, allowed: "0 or above" });
        }
        Ok(())
    }
}
