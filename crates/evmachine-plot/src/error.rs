//! What can be wrong with the numbers of a picture, said so that the caller knows which ones.

use std::io;
use std::path::PathBuf;

/// Why a picture could not be drawn or saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// There is nothing to draw.
    #[error("{what} is empty. Give at least one value")]
    Empty {
        /// Which input.
        what: String,
    },
    /// Two inputs that belong together differ in length.
    #[error("{what} has {found} values where {expected} belong. Give one for each")]
    LengthMismatch {
        /// Which input.
        what: String,
        /// The length its partner has.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A value is not a number, infinite, or larger than a picture can place.
    #[error("{what} has the value {value} at position {index}. Remove it or correct it")]
    NotDrawable {
        /// Which input.
        what: String,
        /// The position of the first such value, from zero.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A value lies outside the interval it must lie in.
    #[error("{what} has the value {value} at position {index}, outside {low} to {high}. Correct it")]
    OutOfRange {
        /// Which input.
        what: String,
        /// The position of the first such value, from zero.
        index: usize,
        /// The value.
        value: f64,
        /// The smallest value allowed.
        low: f64,
        /// The largest value allowed.
        high: f64,
    },
    /// A function that is drawn failed.
    #[error("{what} could not be had: {source}")]
    Function {
        /// Which function.
        what: String,
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// More of something than a readable picture can hold.
    #[error("{what}: {found} is more than the {limit} that stay readable. Choose a part of them")]
    TooMany {
        /// Which input.
        what: String,
        /// The most that can be drawn.
        limit: usize,
        /// How many were given.
        found: usize,
    },
    /// A PNG scale that gives no pixels, or too many.
    #[error(
        "a scale of {scale} would make a PNG of {width} by {height} pixels. Choose one that gives 1 to {limit}"
    )]
    Scale {
        /// The scale asked for.
        scale: f32,
        /// The width it would give.
        width: f32,
        /// The height it would give.
        height: f32,
        /// The longest side allowed.
        limit: u32,
    },
    /// The name of the file does not say which format to write.
    #[error("{} ends in neither .svg nor .png. Give it one of these endings", path.display())]
    UnknownFormat {
        /// The path given.
        path: PathBuf,
    },
    /// The pixels could not be turned into a PNG.
    #[error("the PNG could not be encoded: {detail}. Choose a smaller scale, or save as .svg")]
    Encode {
        /// What the encoder said.
        detail: String,
    },
    /// The file could not be written.
    #[error("{} could not be written: {source}. Check that the folder exists and has space", path.display())]
    Write {
        /// The path given.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Beyond this magnitude, differences and squares of coordinates overflow.
const LARGEST: f64 = 1e100;

/// Refuses an empty slice.
pub(crate) fn not_empty<T>(what: &str, values: &[T]) -> Result<(), PlotError> {
    if values.is_empty() { Err(PlotError::Empty { what: what.to_owned() }) } else { Ok(()) }
}

/// Refuses a length that differs from its partner's.
pub(crate) fn same_length(what: &str, expected: usize, found: usize) -> Result<(), PlotError> {
    if expected == found {
        Ok(())
    } else {
        Err(PlotError::LengthMismatch { what: what.to_owned(), expected, found })
    }
}

/// Refuses NaN, infinities and values too large to subtract from each other.
pub(crate) fn drawable(what: &str, values: impl IntoIterator<Item = f64>) -> Result<(), PlotError> {
    match values.into_iter().enumerate().find(|(_, value)| !value.is_finite() || value.abs() > LARGEST) {
        Some((index, value)) => Err(PlotError::NotDrawable { what: what.to_owned(), index, value }),
        None => Ok(()),
    }
}

/// Refuses values outside `low..=high`, both inclusive.
pub(crate) fn within(
    what: &str,
    values: impl IntoIterator<Item = f64>,
    low: f64,
    high: f64,
) -> Result<(), PlotError> {
    match values.into_iter().enumerate().find(|(_, value)| !(low..=high).contains(value)) {
        Some((index, value)) => Err(PlotError::OutOfRange { what: what.to_owned(), index, value, low, high }),
        None => Ok(()),
    }
}

/// Refuses more than `limit` of something.
pub(crate) fn at_most(what: &str, limit: usize, found: usize) -> Result<(), PlotError> {
    if found <= limit { Ok(()) } else { Err(PlotError::TooMany { what: what.to_owned(), limit, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_value_is_named() {
        let error = drawable("scores", [1.0, f64::NAN, f64::INFINITY]).unwrap_err();
        assert!(matches!(error, PlotError::NotDrawable { index: 1, .. }));
        assert!(error.to_string().contains("scores"));
        assert!(drawable("scores", [1e99, -1e99]).is_ok());
        assert!(drawable("scores", [1e101]).is_err());
    }

    #[test]
    fn bounds_are_inclusive_and_refuse_nan() {
        assert!(within("psi", [0.0, 1.0], 0.0, 1.0).is_ok());
        assert!(within("psi", [f64::NAN], 0.0, 1.0).is_err());
    }
}
