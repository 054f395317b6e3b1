//! Rows of features in a request.

use std::fmt;

use evmachine::Features;
use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::problem::Problem;

/// A list of lists of numbers, all of one length; null is a missing value.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Matrix {
    /// Row after row; NaN where a value is missing.
    pub(crate) values: Vec<f32>,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl<'de> Deserialize<'de> for Matrix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Rows)
    }
}

struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = Matrix;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of rows, each a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Matrix, A::Error> {
        let mut matrix = Matrix::default();
        while let Some(columns) = rows.next_element_seed(Row(&mut matrix.values))? {
            if matrix.rows > 0 && columns != matrix.columns {
                let (row, expected) = (matrix.rows + 1, matrix.columns);
                return Err(A::Error::custom(format_args!(
                    "row {row} has {columns} numbers and those before it {expected}"
                )));
            }
            matrix.columns = columns;
            matrix.rows += 1;
        }
        Ok(matrix)
    }
}

/// Appends the numbers of a row, and says how many there were.
struct Row<'a>(&'a mut Vec<f32>);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a row, which is a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<usize, A::Error> {
        let before = self.0.len();
        while let Some(value) = row.next_element::<Option<f64>>()? {
            self.0.push(value.map_or(f32::NAN, |value| value as f32));
        }
        Ok(self.0.len() - before)
    }
}

impl Matrix {
    /// Rows that are in memory already.
    pub(crate) fn of(features: &Features<'_>) -> Self {
        let (rows, columns) = (features.rows(), features.columns());
        let values = (0..rows).flat_map(|row| features.row(row)).copied().collect();
        Self { values, rows, columns }
    }

    /// Rows that the model can be asked about: not too many, of its dimension, finite, missing values filled where it
    /// says how.
    pub(crate) fn checked(self, model: &evmachine::Evm, limit: usize) -> Result<Self, Problem> {
        let Self { mut values, rows, columns } = self;
        if rows > limit {
            let detail =
                format!("{rows} rows in one request; at most {limit} are taken, so send them in parts");
            return Err(Problem::too_large(detail).with("limit", limit));
        }
        if let (Some(fill), true) = (model.fill_values(), columns == model.dimensions()) {
            evmachine::fill(&mut values, fill);
        }
        if rows > 0 {
            let expected = model.dimensions();
            if columns != expected {
                return Err(evmachine::FeatureError::Dimensions { expected, found: columns }.into());
            }
            evmachine::Features::new(&values, columns)?;
        }
        Ok(Self { values, rows, columns })
    }
}

#[cfg(test)]
mod tests {
    use super::Matrix;

    #[test]
    fn rows_are_read_flat_and_uneven_ones_named() {
        let matrix: Matrix = serde_json::from_str("[[1, 2.5], [-3e2, null]]").expect("a matrix");
        assert_eq!((matrix.rows, matrix.columns), (2, 2));
        assert_eq!(matrix.values[..3], [1.0, 2.5, -300.0]);
        assert!(matrix.values[3].is_nan());
        assert_eq!(serde_json::from_str::<Matrix>("[]").ok(), Some(Matrix::default()));
        for (text, problem) in [
            ("[[1, 2], [3]]", "row 2 has 1 numbers and those before it 2"),
            ("[1, 2]", "a row, which is a list of numbers"),
            ("[[\"1\"]]", "invalid type: string"),
        ] {
            let error = serde_json::from_str::<Matrix>(text).expect_err("no matrix").to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
