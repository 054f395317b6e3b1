//! An `(n, d)` matrix of `f32`, row after row, checked finite once, at the door.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::slice::ChunksExact;

use crate::error::FeatureError;
use crate::scratch::SharedValues;

/// Largest magnitude accepted: its square, summed over 10^6 dimensions, is still an `f32`.
pub const LARGEST: f32 = 1e15;
/// Training data whose largest magnitude is below this loses its Euclidean distances to underflow.
const SMALLEST: f32 = 1e-15;

/// Feature vectors, one a row, borrowed or owned.
///
/// A slice is borrowed, a vector taken over; neither is copied. With the cargo feature `ndarray`, matrices of that crate
/// convert into this and back.
///
/// ```
/// use evmachine::Features;
///
/// let features = Features::new(vec![0.0, 1.0, 2.0, 3.0], 2)?;
/// assert_eq!((features.rows(), features.columns()), (2, 2));
/// assert_eq!(features.row(1), [2.0, 3.0]);
/// assert_eq!(features.iter().map(|row| row[0]).collect::<Vec<_>>(), [0.0, 2.0]);
///
/// let values = [0.0, 1.0, 2.0, 3.0];
/// assert_eq!(Features::new(&values, 2)?, features);
///
/// let error = Features::new(vec![0.0, f32::NAN], 2).unwrap_err();
/// assert!(error.to_string().starts_with("row 0, column 1: NaN"));
/// # Ok::<(), evmachine::FeatureError>(())
/// ```
#[derive(Clone)]
pub struct Features<'a> {
    values: Values<'a>,
    columns: usize,
    /// The largest magnitude, where it is known.
    largest: Option<f32>,
}

#[derive(Clone)]
enum Values<'a> {
    Own(Cow<'a, [f32]>),
    Shared(SharedValues),
}

impl Deref for Values<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Values::Own(values) => values,
            Values::Shared(values) => values,
        }
    }
}

impl fmt::Debug for Features<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (values, columns) = (&&*self.values, self.columns);
        formatter.debug_struct("Features").field("values", values).field("columns", &columns).finish()
    }
}

impl PartialEq for Features<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.columns == other.columns && *self.values == *other.values
    }
}

impl<'a> Features<'a> {
    /// Takes `values` as rows of `columns` each: a vector as its own, a slice without a copy. A matrix without rows is
    /// fine; one without columns is not.
    pub fn new(values: impl Into<Cow<'a, [f32]>>, columns: usize) -> Result<Self, FeatureError> {
        Self::of(Values::Own(values.into()), columns)
    }

    /// As [`new`](Self::new), for values that lie elsewhere, such as in a file that is mapped, and stay there.
    pub fn shared(values: SharedValues, columns: usize) -> Result<Features<'static>, FeatureError> {
        Features::of(Values::Shared(values), columns)
    }

    fn of(values: Values<'a>, columns: usize) -> Result<Self, FeatureError> {
        if columns == 0 {
            return Err(FeatureError::NoColumns);
        }
        if !values.len().is_multiple_of(columns) {
            return Err(FeatureError::Shape { values: values.len(), columns });
        }
        let largest = largest_magnitude(&values);
        if largest.is_nan() || largest > LARGEST {
            return Err(first_bad_value(&values, columns));
        }
        Ok(Self { values, columns, largest: Some(largest) })
    }

    /// Checks one row on its way to a model, as every reader of rows does; the error calls it row 0. If it must be `directed`, as cosine
    /// distances need, it may not be all zeros. If it `may_lack` values, NaN stands for one that is filled in later.
    ///
    /// ```
    /// use evmachine::{FeatureError, Features};
    ///
    /// assert_eq!(Features::check_row(&[0.0, f32::NAN], true, true), Ok(()));
    /// assert_eq!(Features::check_row(&[0.0, 0.0], true, true), Err(FeatureError::ZeroVector { row: 0 }));
    /// assert!(Features::check_row(&[0.0, f32::NAN], false, false).is_err());
    /// ```
    pub fn check_row(row: &[f32], directed: bool, may_lack: bool) -> Result<(), FeatureError> {
        if let Some(column) = row.iter().position(|&value| is_bad(value) && !(may_lack && value.is_nan())) {
            return Err(bad_value(0, column, row[column]));
        }
        if directed && !row.is_empty() && row.iter().all(|&value| value == 0.0) {
            return Err(FeatureError::ZeroVector { row: 0 });
        }
        Ok(())
    }

    /// Values that were checked already.
    pub fn checked(values: Vec<f32>, columns: usize) -> Features<'static> {
        Features { values: Values::Own(Cow::Owned(values)), columns: columns.max(1), largest: None }
    }

    /// As [`checked`](Self::checked), without copying.
    pub fn checked_view(values: &'a [f32], columns: usize) -> Self {
        Self { values: Values::Own(Cow::Borrowed(values)), columns: columns.max(1), largest: None }
    }

    /// Whether the squares of all values would vanish.
    pub fn check_squares(&self) -> Result<(), FeatureError> {
        let largest = self.largest.unwrap_or_else(|| largest_magnitude(&self.values));
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
    ///
    /// # Panics
    ///
    /// If there are not so many rows.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.columns..(index + 1) * self.columns]
    }

    /// The rows, in order.
    pub fn iter(&self) -> ChunksExact<'_, f32> {
        self.values.chunks_exact(self.columns)
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, row after row; copied if they were borrowed.
    pub fn into_values(self) -> Vec<f32> {
        match self.values {
            Values::Own(values) => values.into_owned(),
            Values::Shared(values) => values.to_vec(),
        }
    }

    /// The same matrix without copying; what is owned stays with `self`.
    pub fn borrowed(&self) -> Features<'_> {
        let values = Values::Own(Cow::Borrowed(&*self.values));
        Features { values, columns: self.columns, largest: self.largest }
    }

    /// Consecutive rows, without copying.
    ///
    /// ```
    /// use evmachine::Features;
    ///
    /// let features = Features::from_rows([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])?;
    /// assert_eq!(features.part(1..3).values(), [2.0, 3.0, 4.0, 5.0]);
    /// # Ok::<(), evmachine::FeatureError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not so many rows.
    pub fn part(&self, rows: Range<usize>) -> Features<'_> {
        Features::checked_view(&self.values[rows.start * self.columns..rows.end * self.columns], self.columns)
    }

    /// The given rows, in the given order, as a matrix of their own.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn select(&self, rows: &[usize]) -> Features<'static> {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        for &row in rows {
            values.extend_from_slice(self.row(row));
        }
        Features::checked(values, self.columns)
    }
}

impl<'f> IntoIterator for &'f Features<'_> {
    type Item = &'f [f32];
    type IntoIter = ChunksExact<'f, f32>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Features<'static> {
    /// Copies rows together, all of which must be as long as the first: vectors, arrays or slices.
    ///
    /// ```
    /// use evmachine::{FeatureError, Features};
    ///
    /// let features = Features::from_rows([[0.0, 1.0], [2.0, 3.0]])?;
    /// assert_eq!(features.values(), [0.0, 1.0, 2.0, 3.0]);
    ///
    /// let error = Features::from_rows([vec![0.0, 1.0], vec![2.0]]).unwrap_err();
    /// assert_eq!(error, FeatureError::RowLength { row: 1, expected: 2, found: 1 });
    /// # Ok::<(), FeatureError>(())
    /// ```
    pub fn from_rows<I>(rows: I) -> Result<Self, FeatureError>
    where
        I: IntoIterator,
        I::Item: AsRef<[f32]>,
    {
        let (values, columns) = joined(rows)?;
        Self::new(values, columns)
    }

    /// As [`from_rows`](Self::from_rows), from `f64` values.
    pub fn from_f64_rows<I>(rows: I) -> Result<Self, FeatureError>
    where
        I: IntoIterator,
        I::Item: AsRef<[f64]>,
    {
        let (values, columns) = joined(rows)?;
        Self::from_f64(&values, columns)
    }

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

/// Rows one after the other, and how long each of them is.
fn joined<T: Copy, I>(rows: I) -> Result<(Vec<T>, usize), FeatureError>
where
    I: IntoIterator,
    I::Item: AsRef<[T]>,
{
    let (mut values, mut columns) = (Vec::new(), None);
    for (row, vector) in rows.into_iter().enumerate() {
        let vector = vector.as_ref();
        let expected = *columns.get_or_insert(vector.len());
        if vector.len() != expected {
            return Err(FeatureError::RowLength { row, expected, found: vector.len() });
        }
        values.extend_from_slice(vector);
    }
    Ok((values, columns.ok_or(FeatureError::NoColumns)?))
}

/// NaN where any value is NaN.
fn largest_magnitude(values: &[f32]) -> f32 {
    // Magnitudes order like their bits, and NaN lies above infinity: integer maxima vectorise, float ones do not.
    let bits = values.iter().fold(0u32, |largest, value| largest.max(value.to_bits() & 0x7fff_ffff));
    f32::from_bits(bits)
}

fn first_bad_value(values: &[f32], columns: usize) -> FeatureError {
    let index = values.iter().position(|&value| is_bad(value));
    let index = index.expect("the largest magnitude is of some value");
    bad_value(index / columns, index % columns, values[index])
}

fn is_bad(value: f32) -> bool {
    value.is_nan() || value.abs() > LARGEST
}

fn bad_value(row: usize, column: usize, value: f32) -> FeatureError {
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
    fn rows_make_a_matrix_if_they_are_alike() {
        let rows: [&[f32]; 3] = [&[0.0, 1.0], &[2.0, 3.0], &[4.0, 5.0]];
        let features = Features::from_rows(rows).unwrap();
        assert_eq!(features, Features::new((0..6u8).map(f32::from).collect::<Vec<_>>(), 2).unwrap());
        assert_eq!((&features).into_iter().collect::<Vec<_>>(), rows);
        assert_eq!(features.iter().rev().nth(1), Some(rows[1]));
        assert_eq!(features.part(1..2).into_values(), rows[1]);
        assert_eq!(Features::from_rows::<[[f32; 2]; 0]>([]), Err(FeatureError::NoColumns));
        assert_eq!(Features::from_rows([[0.0; 0]; 3]), Err(FeatureError::NoColumns));
        assert_eq!(
            Features::from_rows([vec![0.0], vec![1.0], vec![]]),
            Err(FeatureError::RowLength { row: 2, expected: 1, found: 0 })
        );
        assert_eq!(
            Features::from_rows([[0.0, 1.0], [f32::NAN, 3.0]]).unwrap_err().to_string(),
            "row 1, column 0: NaN is not a finite 32-bit number; remove the row or fill the value in"
        );
    }

    #[test]
    fn a_slice_is_not_copied() {
        let values = [1.0, 2.0, 3.0, 4.0];
        let features = Features::new(&values, 2).unwrap();
        assert_eq!(features.values().as_ptr(), values.as_ptr());
        assert_eq!(features.part(1..2).values().as_ptr(), values[2..].as_ptr());
    }

    #[test]
    fn f64_errors_show_the_value_that_was_given() {
        assert_eq!(
            Features::from_f64(&[0.0, 1e300], 1),
            Err(FeatureError::NotFinite { row: 1, column: 0, value: 1e300 })
        );
    }
}
