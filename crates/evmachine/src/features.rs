//! An `(n, d)` matrix of `f32`, row after row, checked finite once, at the door.

use std::borrow::Cow;

use crate::error::FeatureError;

/// Largest magnitude accepted: its square, summed over 10^6 dimensions, is still an `f32`.
pub(crate) const LARGEST: f32 = 1e15;
/// Training data whose largest magnitude is below this loses its Euclidean distances to underflow.
const SMALLEST: f32 = 1e-15;

/// Feature vectors, one a row, borrowed or owned.
///
/// ```
/// use evmachine::Features;
///
/// let features = Features::new(vec![0.0, 1.0, 2.0, 3.0], 2)?;
/// assert_eq!((features.rows(), features.columns()), (2, 2));
/// assert_eq!(features.row(1), [2.0, 3.0]);
///
/// let error = Features::new(vec![0.0, f32::NAN], 2).unwrap_err();
/// assert!(error.to_string().starts_with("row 0, column 1: NaN"));
/// # Ok::<(), evmachine::FeatureError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Features<'a> {
    values: Cow<'a, [f32]>,
    columns: usize,
}

impl<'a> Features<'a> {
    /// Takes `values` as rows of `columns` each. A matrix without rows is fine; one without columns is not.
    pub fn new(values: impl Into<Cow<'a, [f32]>>, columns: usize) -> Result<Self, FeatureError> {
        let values = values.into();
        if columns == 0 {
            return Err(FeatureError::NoColumns);
        }
        if values.len() % columns != 0 {
            return Err(FeatureError::Shape { values: values.len(), columns });
        }
        let largest = largest_magnitude(&values);
        if largest.is_nan() || largest > LARGEST {
            return Err(first_bad_value(&values, columns));
        }
        Ok(Self { values, columns })
    }

    /// Values that were checked already.
    pub(crate) fn checked(values: Vec<f32>, columns: usize) -> Features<'static> {
        Features { values: Cow::Owned(values), columns: columns.max(1) }
    }

    /// As [`checked`](Self::checked), without copying.
    pub(crate) fn checked_view(values: &'a [f32], columns: usize) -> Self {
        Self { values: Cow::Borrowed(values), columns: columns.max(1) }
    }

    /// Whether the squares of all values would vanish.
    pub(crate) fn check_squares(&self) -> Result<(), FeatureError> {
        let largest = largest_magnitude(&self.values);
        if largest < SMALLEST && largest > 0.0 {
            return Err(FeatureError::TooSmall { largest, limit: SMALLEST });
        }
        Ok(())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    /// Number of columns, the dimension of the vectors.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `index`, counted from 0.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.columns..(index + 1) * self.columns]
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The same matrix without copying; what is owned stays with `self`.
    pub fn borrowed(&self) -> Features<'_> {
        Features { values: Cow::Borrowed(&self.values), columns: self.columns }
    }

    /// Consecutive rows, without copying.
    pub(crate) fn part(&self, rows: std::ops::Range<usize>) -> Features<'_> {
        Features::checked_view(&self.values[rows.start * self.columns..rows.end * self.columns], self.columns)
    }

    /// The given rows, in the given order, as a matrix of their own.
    pub fn select(&self, rows: &[usize]) -> Features<'static> {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        for &row in rows {
            values.extend_from_slice(self.row(row));
        }
        Features { values: Cow::Owned(values), columns: self.columns }
    }
}

impl Features<'static> {
    /// Converts `f64` values; one that is not finite as an `f32` is an error naming its row and column.
    pub fn from_f64(values: &[f64], columns: usize) -> Result<Self, FeatureError> {
        let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        Self::new(narrow, columns).map_err(|error| match error {
            FeatureError::NotFinite { row, column, .. } => {
                FeatureError::NotFinite { row, column, value: values[row * columns + column] }
            }
            other => other,
        })
    }
}

/// NaN where any value is NaN.
fn largest_magnitude(values: &[f32]) -> f32 {
    // Magnitudes order like their bits, and NaN lies above infinity: integer maxima vectorise, float ones do not.
    let bits = values.iter().fold(0u32, |largest, value| largest.max(value.to_bits() & 0x7fff_ffff));
    f32::from_bits(bits)
}

fn first_bad_value(values: &[f32], columns: usize) -> FeatureError {
    let bad = |value: &f32| value.is_nan() || value.abs() > LARGEST;
    let index = values.iter().position(bad).unwrap_or(0);
    let (row, column, value) = (index / columns, index % columns, values[index]);
    if value.is_finite() {
        FeatureError::TooLarge { row, column, value, limit: LARGEST }
    } else {
        FeatureError::NotFinite { row, column, value: f64::from(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_matrix_is_named() {
        assert_eq!(Features::new(vec![], 0), Err(FeatureError::NoColumns));
        assert_eq!(Features::new(vec![1.0; 5], 2), Err(FeatureError::Shape { values: 5, columns: 2 }));
        assert_eq!(
            Features::new(vec![0.0, 1.0, 2.0, f32::INFINITY], 2),
            Err(FeatureError::NotFinite { row: 1, column: 1, value: f64::INFINITY })
        );
        assert!(matches!(
            Features::new(vec![0.0, 1e16], 2),
            Err(FeatureError::TooLarge { row: 0, column: 1, .. })
        ));
        let small = Features::new(vec![0.0, 1e-16], 2).unwrap();
        assert!(matches!(small.check_squares(), Err(FeatureError::TooSmall { .. })));
        assert!(Features::new(vec![0.0; 4], 2).is_ok());
        assert_eq!(Features::new(vec![], 3).unwrap().rows(), 0);
    }

    #[test]
    fn f64_errors_show_the_value_that_was_given() {
        assert_eq!(
            Features::from_f64(&[0.0, 1e300], 1),
            Err(FeatureError::NotFinite { row: 1, column: 0, value: 1e300 })
        );
    }
}
