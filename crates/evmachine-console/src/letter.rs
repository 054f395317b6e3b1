//! The data in the box: UCI Letter Recognition (D. Slate, 1991; CC BY 4.0), 20,000 letters of 16 numbers each.

use evmachine::{Features, Labels};

use crate::failure::{Failure, Kind};

/// A line for each letter: its name, and then its numbers.
pub const TEXT: &str = include_str!("../data/letter/letter-recognition.data");

/// Numbers of a letter.
pub const DIMENSIONS: usize = 16;

/// All letters, in the order of the file.
pub fn read() -> Result<(Features<'static>, Labels), Failure> {
    let mut values = Vec::with_capacity(20_000 * DIMENSIONS);
    let mut names = Vec::with_capacity(20_000);
    for line in TEXT.lines() {
        let (name, numbers) = line.split_once(',').ok_or_else(damaged)?;
        names.push(name);
        for number in numbers.split(',') {
            values.push(number.parse().map_err(|_| damaged())?);
        }
    }
    Ok((Features::new(values, DIMENSIONS)?, Labels::new(names)?))
}

fn damaged() -> Failure {
    Failure::new(Kind::Other, "the data built into the program is damaged")
}
