//! The choices that tuning has.

use evmachine::{Params, TailModel, TailSize};
use rand::rngs::StdRng;
use tpe::{TpeOptimizer, histogram_estimator, parzen_estimator};

/// For each parameter, the values to choose from, in rising order where they have one.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    /// Fraction of the way towards the neighbours, and how many of them.
    pub smoothing: Vec<(f64, usize)>,
    /// The curve fitted to a tail.
    pub tail_model: Vec<TailModel>,
    /// Tail size, as a fraction of the negatives. What is chosen on a part of the data holds for all of it: the
    /// paper's rule of scaling the tail size with the data.
    pub tail_fraction: Vec<f64>,
    /// Margin as a fraction of the distance.
    pub multiplier: Vec<f64>,
    /// Fraction of the way towards the mean of all fits.
    pub pooling: Vec<f64>,
    /// The paper's k.
    pub n_fused: Vec<usize>,
    /// The paper's varsigma.
    pub cover_threshold: Vec<f64>,
}

/// A position in a [`Space`]: an index into each of its lists, in the order of its fields.
pub type Position = [usize; 7];

impl Space {
    /// What the paper searches: tail size and k, at its cover threshold.
    pub fn paper() -> Self {
        Self {
            smoothing: vec![(0.0, 10)],
            tail_model: vec![TailModel::Weibull],
            tail_fraction: vec![0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4],
            multiplier: vec![0.5],
            pooling: vec![0.0],
            n_fused: vec![1, 2, 4, 6, 10],
            cover_threshold: vec![0.5],
        }
    }

    /// Everything, every point kept; the size of the model is chosen afterwards.
    pub fn full() -> Self {
        Self {
            smoothing: [0.0, 0.3, 0.5, 0.65, 0.8]
                .into_iter()
                .flat_map(|a| [5, 10, 20, 50].map(|m| (a, m)))
                .filter(|&(a, m)| a > 0.0 || m == 10)
                .collect(),
            tail_model: TailModel::ALL.into_iter().filter(|model| *model != TailModel::Libmr).collect(),
            tail_fraction: vec![0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4],
            multiplier: vec![0.4, 0.5, 0.6, 0.7, 0.85, 1.0],
            pooling: vec![0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 1.0],
            n_fused: vec![1, 2, 4, 6, 10],
            cover_threshold: vec![1.0],
        }
    }

    fn sizes(&self) -> [usize; 7] {
        [
            self.smoothing.len(),
            self.tail_model.len(),
            self.tail_fraction.len(),
            self.multiplier.len(),
            self.pooling.len(),
            self.n_fused.len(),
            self.cover_threshold.len(),
        ]
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.sizes().iter().product()
    }

    /// Whether a list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `base` with the values at a position.
    pub fn params(&self, base: &Params, at: Position) -> Params {
        let (smoothing, smoothing_neighbors) = self.smoothing[at[0]];
        Params {
            smoothing,
            smoothing_neighbors,
            tail_model: self.tail_model[at[1]],
            tail_size: TailSize::Fraction(self.tail_fraction[at[2]]),
            distance_multiplier: self.multiplier[at[3]],
            pooling: self.pooling[at[4]],
            n_fused: self.n_fused[at[5]],
            cover_threshold: self.cover_threshold[at[6]],
            ..base.clone()
        }
    }

    /// All positions, those of equal smoothing together, because they share distances.
    pub fn grid(&self) -> impl Iterator<Item = Position> + use<> {
        let sizes = self.sizes();
        (0..self.len()).map(move |mut index| {
            let mut at = [0; 7];
            for (position, size) in at.iter_mut().zip(sizes).rev() {
                *position = index % size;
                index /= size;
            }
            at
        })
    }
}

/// A Bayesian search (tree-structured Parzen estimators), one estimator for each parameter.
pub(crate) struct Bayesian {
    estimators: Vec<TpeOptimizer>,
    sizes: [usize; 7],
}

impl Bayesian {
    /// `None` for an empty space.
    pub(crate) fn new(space: &Space) -> Option<Self> {
        let sizes = space.sizes();
        let estimators = sizes.iter().enumerate().map(|(parameter, &size)| {
            // The tail model is a name; all others are ordered.
            let estimator = if parameter == 1 { histogram_estimator() } else { parzen_estimator() };
            tpe::categorical_range(size).ok().map(|range| TpeOptimizer::new(estimator, range))
        });
        Some(Self { estimators: estimators.collect::<Option<_>>()?, sizes })
    }

    pub(crate) fn ask(&mut self, random: &mut StdRng) -> Position {
        let mut at = [0; 7];
        for ((at, estimator), size) in at.iter_mut().zip(&mut self.estimators).zip(self.sizes) {
            *at = estimator.ask(random).map_or(0, |value| (value as usize).min(size - 1));
        }
        at
    }

    /// Higher values are better.
    pub(crate) fn tell(&mut self, at: Position, value: f64) {
        for (estimator, at) in self.estimators.iter_mut().zip(at) {
            // The middle of the cell. A value that is no number teaches nothing.
            let _ = estimator.tell(at as f64 + 0.5, -value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_complete_and_keeps_smoothing_together() {
        let space = Space { smoothing: vec![(0.0, 10), (0.5, 10)], ..Space::paper() };
        let grid: Vec<Position> = space.grid().collect();
        assert_eq!(grid.len(), 2 * 8 * 5);
        assert!(grid.is_sorted());
        assert!(grid.iter().all(|&at| space.params(&Params::default(), at).check().is_ok()));
    }

    #[test]
    fn the_search_finds_the_best_corner_more_often_than_chance() {
        use rand::SeedableRng;
        let space = Space::full();
        let mut search = Bayesian::new(&space).unwrap();
        let mut random = StdRng::seed_from_u64(1);
        let mut late = 0.0;
        for trial in 0..150 {
            let at = search.ask(&mut random);
            let value = -(at[2] as f64 - 6.0).powi(2) - (at[4] as f64 - 5.0).powi(2);
            search.tell(at, value);
            if trial >= 100 {
                late += value / 50.0;
            }
        }
        // Uniform choices average below -16.
        assert!(late > -6.0, "{late}");
    }
}
