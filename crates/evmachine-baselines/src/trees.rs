//! Forests as people use them for tables, by the probability of the class that they find likeliest.

use evmachine::{Features, Labels, Run};
use evmachine_forest::{Boosted, BoostedOptions, Forest, ForestOptions};

use crate::classes::Classes;
use crate::error::SystemError;
use crate::scores::Scores;
use crate::system::{System, at_probability};

/// Which trees grow.
#[derive(Debug, Clone, PartialEq)]
enum TreesKind {
    Independent(ForestOptions),
    Boosted(BoostedOptions),
}

#[derive(Debug, Clone)]
enum Grown {
    Independent(Forest),
    Boosted(Boosted),
}

/// A forest; unknown is what has no class of a probability that is high enough, of which half is unless another is asked for.
#[derive(Debug, Clone)]
pub struct Trees {
    name: &'static str,
    kind: TreesKind,
    classes: Classes,
    grown: Option<Grown>,
}

impl Trees {
    fn new(name: &'static str, kind: TreesKind) -> Self {
        Self { name, kind, classes: Classes::default(), grown: None }
    }

    /// So many extremely randomised trees.
    #[must_use]
    pub fn extra(trees: usize, seed: u64) -> Self {
        Self::new(
            "extra trees",
            TreesKind::Independent(ForestOptions { trees, seed, ..ForestOptions::extra_trees() }),
        )
    }

    /// A random forest of so many trees.
    #[must_use]
    pub fn random(trees: usize, seed: u64) -> Self {
        let options = ForestOptions { trees, seed, ..ForestOptions::random_forest() };
        Self::new("random forest", TreesKind::Independent(options))
    }

    /// Gradient-boosted trees.
    #[must_use]
    pub fn boosted(seed: u64) -> Self {
        Self::new("boosted trees", TreesKind::Boosted(BoostedOptions { seed, ..BoostedOptions::default() }))
    }
}

impl System for Trees {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let mut classes = Classes::default();
        let numbers = classes.learn(features, labels)?;
        let numbers: Vec<u32> = numbers.into_iter().map(|number| number as u32).collect();
        let (run, count) = (Run::new(), classes.names.len());
        self.grown = Some(match &self.kind {
            TreesKind::Independent(options) => {
                Grown::Independent(Forest::fit(&run, features, &numbers, count, options)?)
            }
            TreesKind::Boosted(options) => {
                Grown::Boosted(Boosted::fit(&run, features, &numbers, count, options)?)
            }
        });
        self.classes = classes;
        Ok(())
    }

    fn classes(&self) -> &[String] {
        &self.classes.names
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        let grown = self.grown.as_ref().ok_or_else(|| SystemError::NotFitted { system: self.name() })?;
        let found = match grown {
            Grown::Independent(forest) => forest.probabilities(queries)?,
            Grown::Boosted(boosted) => boosted.probabilities(queries)?,
        };
        let count = self.classes.names.len();
        let rows: Vec<Vec<f64>> = found.chunks_exact(count).map(<[f64]>::to_vec).collect();
        Ok(Scores::new(count, &rows))
    }

    /// Half, as for any probability.
    fn threshold(&self) -> f64 {
        0.5
    }

    fn threshold_at(&self, delta: f64) -> Option<f64> {
        Some(at_probability(delta))
    }

    /// The leaves of all trees.
    fn vectors(&self) -> usize {
        match &self.grown {
            Some(Grown::Independent(forest)) => forest.leaf_count(),
            Some(Grown::Boosted(boosted)) => boosted.leaf_count(),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forests_know_their_classes_and_doubt_between_them() {
        let row = |row: u16| [f32::from(row % 2) * 6.0 + f32::from(row % 7) / 3.0, f32::from(row % 5)];
        let features = Features::new((0..120).flat_map(row).collect::<Vec<f32>>(), 2).unwrap();
        let labels = Labels::new((0..120).map(|row| ["low", "high"][row % 2])).unwrap();
        let queries = Features::new(vec![0.5, 2.0, 7.0, 2.0], 2).unwrap();
        for mut system in [Trees::extra(50, 1), Trees::random(50, 1), Trees::boosted(1)] {
            assert!(matches!(system.scores(&queries), Err(SystemError::NotFitted { .. })));
            system.fit(&features, &labels).unwrap();
            assert_eq!(system.classes(), ["low", "high"]);
            let scores = system.scores(&queries).unwrap();
            let sum: f64 = scores.row(0).iter().sum();
            assert!((sum - 1.0).abs() < 1e-9);
            for query in 0..2 {
                assert_eq!(scores.decide(query, system.threshold()), Some(query), "{}", system.name());
            }
            assert_eq!(system.threshold_at(0.9), Some(0.9));
            assert!(system.vectors() >= 50);
            assert!(system.update(&features, &labels).is_err());
        }
    }
}
