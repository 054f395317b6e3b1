//! Streams that are drawn: quiet ones, and ones into which a cause of drift was planted.

use evmachine::{Evm, Features, Labels, Params};

use crate::random::Random;

/// Columns, classes, and training rows.
pub(crate) const COLUMNS: usize = 16;
pub(crate) const CLASSES: usize = 8;
const TRAINED: usize = 1_600;
/// Deviation of rows around the centre of their class, in every column; centres deviate by 1.
const NOISE: f64 = 0.5;

/// A vector of length 1.
fn direction(random: &mut Random) -> Vec<f64> {
    let values: Vec<f64> = (0..COLUMNS).map(|_| random.normal()).collect();
    let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    values.into_iter().map(|value| value / length).collect()
}

/// What happens to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    Nothing,
    /// One row in five is of a class that the model does not have.
    NewClass,
    /// All vectors move by twice the deviation of a column.
    Moved,
    /// The first class moves by five times that.
    ClassAges,
    /// All vectors are turned, as by another encoder of the same size.
    Encoder,
}

/// Classes, and a model that has learned them.
pub(crate) struct World {
    pub(crate) centres: Vec<Vec<f64>>,
    pub(crate) evm: Evm,
}

impl World {
    pub(crate) fn new(seed: u64) -> Result<Self, Box<dyn std::error::Error>> {
        let mut random = Random(seed);
        let centres: Vec<Vec<f64>> =
            (0..=CLASSES).map(|_| (0..COLUMNS).map(|_| random.normal()).collect()).collect();
        let mut values = Vec::new();
        for row in 0..TRAINED {
            values.extend(
                centres[row % CLASSES].iter().map(|centre| (centre + NOISE * random.normal()) as f32),
            );
        }
        let labels = Labels::new((0..TRAINED).map(|row| format!("class {}", row % CLASSES)))?;
        let (evm, _) = Evm::fit(&Params::plain(), &Features::new(values, COLUMNS)?, &labels)?;
        Ok(Self { centres, evm })
    }

    /// Rows of a stream from now on. `seed` says what the cause looks like, and `random` which rows come.
    pub(crate) fn rows(
        &self,
        random: &mut Random,
        planted: Planted,
        seed: u64,
        rows: usize,
    ) -> Result<Features<'static>, evmachine::FeatureError> {
        let direction = direction(&mut Random(seed));
        let mut values = Vec::with_capacity(rows * COLUMNS);
        for _ in 0..rows {
            let known = (random.uniform() * CLASSES as f64) as usize;
            let class = if planted == Planted::NewClass && random.uniform() < 0.2 { CLASSES } else { known };
            let mut row: Vec<f64> =
                self.centres[class].iter().map(|centre| centre + NOISE * random.normal()).collect();
            let by = match planted {
                Planted::Moved => 2.0 * NOISE,
                Planted::ClassAges if class == 0 => 5.0 * NOISE,
                _ => 0.0,
            };
            row.iter_mut().zip(&direction).for_each(|(value, along)| *value += by * along);
            if planted == Planted::Encoder {
                row.rotate_left(1);
                row.iter_mut().skip(1).step_by(2).for_each(|value| *value = -*value);
            }
            values.extend(row.into_iter().map(|value| value as f32));
        }
        Features::new(values, COLUMNS)
    }
}
