//! Features like those of a deep network, drawn from a seed, for the paper's own scale: 255,224 points of 200 classes in
//! 4,096 dimensions.
//!
//! A class has a centre c, Gaussian with unit variance in `rank` hidden dimensions; a point is c plus Gaussian noise of
//! standard deviation `spread`; a fixed Gaussian matrix of columns of unit length takes it to the `dimensions` of the
//! features; and what exceeds a bias stays, as behind a rectifier:
//!
//! `x = max(0, B (c + spread * n) / sqrt(1 + spread^2) - BIAS)`
//!
//! Before the rectifier every feature has mean 0 and variance 1, so that with a bias of 0.75 a share of 0.23 of the values
//! is positive: sparse, never negative, correlated through few hidden dimensions, as in the fc7 layer of `AlexNet`. The
//! share of the variance that lies between classes is `1 / (1 + spread^2)`.

use evmachine::{Features, Labels};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use serde::Serialize;

use crate::error::ReproError;
use crate::openworld::Data;

const BIAS: f64 = 0.75;

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Synthetic {
    /// Number of classes.
    pub classes: usize,
    /// Training points of a class.
    pub points: usize,
    /// Test points of a class.
    pub tests: usize,
    /// Dimensions of the features.
    pub dimensions: usize,
    /// Hidden dimensions.
    pub rank: usize,
    /// Standard deviation within a class, that between classes being 1.
    pub spread: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self { classes: 400, points: 60, tests: 15, dimensions: 512, rank: 48, spread: 1.2, seed: 1 }
    }
}

impl Synthetic {
    /// Draws training and test points. The same for the same seed, on any number of threads.
    pub fn draw(&self) -> Result<Data<'static>, ReproError> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let length = (self.rank as f64).sqrt();
        let matrix: Vec<f64> =
            (0..self.dimensions * self.rank).map(|_| gaussian(&mut random) / length).collect();
        let classes: Vec<(u64, Vec<f64>)> = (0..self.classes)
            .map(|_| (random.random(), (0..self.rank).map(|_| gaussian(&mut random)).collect()))
            .collect();
        let (train, test): (Vec<Vec<f32>>, Vec<Vec<f32>>) = classes
            .par_iter()
            .map(|(seed, centre)| {
                let mut random = StdRng::seed_from_u64(*seed);
                (
                    self.points_of(centre, &matrix, self.points, &mut random),
                    self.points_of(centre, &matrix, self.tests, &mut random),
                )
            })
            .unzip();
        let set = |count: usize, classes: Vec<Vec<f32>>| {
            let values = classes.concat();
            let names = (0..self.classes).flat_map(|class| vec![format!("class {class}"); count]);
            Ok::<_, ReproError>((Features::new(values, self.dimensions)?, Labels::new(names)?))
        };
        Ok(Data { train: set(self.points, train)?, test: set(self.tests, test)? })
    }

    fn points_of(&self, centre: &[f64], matrix: &[f64], count: usize, random: &mut StdRng) -> Vec<f32> {
        let scale = 1.0 / (1.0 + self.spread * self.spread).sqrt();
        let mut values = Vec::with_capacity(count * self.dimensions);
        for _ in 0..count {
            let hidden: Vec<f64> =
                centre.iter().map(|centre| scale * (centre + self.spread * gaussian(random))).collect();
            values.extend(matrix.chunks_exact(self.rank).map(|row| {
                let sum: f64 = row.iter().zip(&hidden).map(|(a, b)| a * b).sum();
                (sum - BIAS).max(0.0) as f32
            }));
        }
        values
    }
}

/// Box and Muller.
fn gaussian(random: &mut StdRng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistics_are_those_that_are_documented() {
        let synthetic =
            Synthetic { classes: 60, points: 20, tests: 5, dimensions: 64, ..Synthetic::default() };
        let data = synthetic.draw().unwrap();
        assert_eq!((data.train.0.rows(), data.test.0.rows(), data.train.1.names().len()), (1200, 300, 60));
        let values = data.train.0.values();
        let positive = values.iter().filter(|value| **value > 0.0).count() as f64 / values.len() as f64;
        assert!((positive - 0.227).abs() < 0.02, "{positive}");
        assert_eq!(data.train.0.values(), synthetic.draw().unwrap().train.0.values());
        // The nearest point of a test point is mostly of its class, but not always.
        let nearest = |row: &[f32]| {
            let squared = |other: usize| {
                row.iter().zip(data.train.0.row(other)).map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
            };
            (0..1200).min_by(|&a, &b| squared(a).total_cmp(&squared(b))).unwrap()
        };
        let right = (0..300).filter(|&row| nearest(data.test.0.row(row)) / 20 == row / 5).count();
        assert!((60..300).contains(&right), "{right}");
    }
}
