//! Which letters are known in a fold. The folds of the OLETTER paper were never published, so they are drawn from a seed
//! and written beside the results.

use std::path::Path;

use evmachine::Labels;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde::Serialize;

use crate::error::ReproError;

/// Letters to be known.
pub(super) const KNOWN: usize = 15;
/// Letters left, which join the test one by one.
pub const UNKNOWN: usize = 11;

/// The letters of one fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draw {
    /// Those to train on.
    pub known: Vec<String>,
    /// The others, in the order in which they join the test.
    pub unknown: Vec<String>,
}

/// As many folds as asked for; the same for the same seed, whatever the order of the rows.
pub fn draw(labels: &Labels, folds: usize, seed: u64) -> Result<Vec<Draw>, ReproError> {
    let mut names = labels.names().to_vec();
    names.sort();
    if names.len() < KNOWN + UNKNOWN {
        return Err(ReproError::TooFewClasses { classes: names.len(), needed: KNOWN + UNKNOWN });
    }
    let mut random = StdRng::seed_from_u64(seed);
    let mut shuffled = || {
        let mut names = names.clone();
        names.shuffle(&mut random);
        let unknown = names.split_off(KNOWN);
        Draw { known: names, unknown: unknown[..UNKNOWN].to_vec() }
    };
    Ok((0..folds).map(|_| shuffled()).collect())
}

#[derive(Serialize)]
struct Line {
    draw: usize,
    fold: usize,
    known: String,
    unknown: String,
}

/// Writes the letters of all folds.
pub(super) fn write(draws: &[Vec<Draw>], path: &Path) -> Result<(), ReproError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |detail: String| ReproError::Log { path: path.to_owned(), detail };
    for (draw, folds) in (1..).zip(draws) {
        for (fold, letters) in (1..).zip(folds) {
            let line = Line { draw, fold, known: letters.known.concat(), unknown: letters.unknown.concat() };
            writer.serialize(line).map_err(|error| failed(error.to_string()))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
    evmachine_files::write_with_folder(path, &bytes).map_err(ReproError::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_divide_the_letters_and_follow_the_seed() {
        let letters: Vec<String> = ('A'..='Z').rev().map(String::from).collect();
        let labels = Labels::new(&letters).unwrap();
        let folds = draw(&labels, 3, 1).unwrap();
        assert_eq!(folds, draw(&labels, 3, 1).unwrap());
        assert_ne!(folds, draw(&labels, 3, 2).unwrap());
        for fold in &folds {
            let mut all = [fold.known.clone(), fold.unknown.clone()].concat();
            all.sort();
            assert_eq!((fold.known.len(), all.concat().as_str()), (15, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
        }
        assert!(draw(&Labels::new(["a", "b"]).unwrap(), 1, 1).is_err());
    }
}
