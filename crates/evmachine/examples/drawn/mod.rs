//! Drawn features of a shape, and the flags that say which.

use std::error::Error;

use evmachine::{Features, Labels};

/// Rows and columns of a first argument such as `60000x512`.
pub(crate) fn shape(arguments: &[String]) -> Result<(usize, usize), Box<dyn Error>> {
    let (rows, d) =
        arguments.first().and_then(|shape| shape.split_once('x')).ok_or("a shape, as 60000x512")?;
    Ok((rows.parse()?, d.parse()?))
}

/// What stands behind a flag; the flag itself where nothing does.
pub(crate) fn option<'a>(arguments: &'a [String], name: &'a str) -> Option<&'a str> {
    let at = arguments.iter().position(|argument| argument == name)?;
    Some(arguments.get(at + 1).map_or(name, String::as_str))
}

pub(crate) fn number(arguments: &[String], name: &str, or: usize) -> Result<usize, std::num::ParseIntError> {
    option(arguments, name).map_or(Ok(or), str::parse)
}

/// As many rows of each class, around centres that are drawn alike.
pub(crate) fn clumps(
    rows: usize,
    d: usize,
    classes: usize,
) -> Result<(Features<'static>, Labels), Box<dyn Error>> {
    let mut state = 7u64;
    let mut random = move || {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        next() + next() + next() - 1.5
    };
    let centres: Vec<f32> = (0..classes * d).map(|_| random()).collect();
    let values =
        (0..rows * d).map(|at| centres[at / d % classes * d + at % d] + random()).collect::<Vec<f32>>();
    let names = (0..rows).map(|row| format!("class {}", row % classes));
    Ok((Features::new(values, d)?, Labels::new(names)?))
}
