//! Drawn features: classes around centres, and queries that come as rows came.

use std::error::Error;

use evmachine::{Features, Labels};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Classes around drawn centres, of given sizes.
pub(crate) struct Source {
    centres: Vec<f32>,
    pub(crate) sizes: Vec<usize>,
    dimensions: usize,
    random: StdRng,
}

impl Source {
    /// `spread` is how far centres lie apart, in deviations of a class.
    pub(crate) fn new(seed: u64, sizes: Vec<usize>, dimensions: usize, spread: f32) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let centres = (0..sizes.len() * dimensions).map(|_| spread * normal(&mut random)).collect();
        Self { centres, sizes, dimensions, random }
    }

    /// The training rows of some classes, class after class.
    pub(crate) fn training(
        &mut self,
        classes: &[usize],
    ) -> Result<(Features<'static>, Labels), Box<dyn Error>> {
        let rows: Vec<usize> =
            classes.iter().flat_map(|&class| std::iter::repeat_n(class, self.sizes[class])).collect();
        let features = self.rows_of(&rows)?;
        Ok((features, Labels::new(rows.iter().map(ToString::to_string))?))
    }

    /// Queries of some classes, as often as these have training rows.
    pub(crate) fn queries(
        &mut self,
        classes: &[usize],
        count: usize,
    ) -> Result<Features<'static>, Box<dyn Error>> {
        let total: usize = classes.iter().map(|&class| self.sizes[class]).sum();
        let drawn: Vec<usize> = (0..count)
            .map(|_| {
                let mut at = self.random.random_range(0..total);
                *classes
                    .iter()
                    .find(|&&class| {
                        let is_own = at < self.sizes[class];
                        at = at.saturating_sub(self.sizes[class]);
                        is_own
                    })
                    .expect("a row of some class")
            })
            .collect();
        self.rows_of(&drawn)
    }

    fn rows_of(&mut self, classes: &[usize]) -> Result<Features<'static>, Box<dyn Error>> {
        let d = self.dimensions;
        let mut values = Vec::with_capacity(classes.len() * d);
        for &class in classes {
            for k in 0..d {
                values.push(self.centres[class * d + k] + normal(&mut self.random));
            }
        }
        Ok(Features::new(values, d)?)
    }
}

/// A normal deviate (Box and Muller).
fn normal(random: &mut StdRng) -> f32 {
    let (a, b): (f64, f64) = (random.random(), random.random());
    ((-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()) as f32
}
