//! Columns that tell classes nothing, or that tell rows apart.

use std::collections::HashSet;
use std::fmt;

use evmachine_engine::features::Features;
use serde::Serialize;

/// Rows from which a column can look like an identifier: of fewer, measurements may rise or differ by chance.
const LEAST_ROWS: usize = 50;

/// Why a column should be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ColumnKind {
    /// One value in all rows. It tells nothing, and does no harm.
    Constant,
    /// A different whole number in each row: it tells rows apart, and rows to come have other numbers.
    Identifier,
    /// Every row has more than the one before, or every row less: a row number, a count or a time.
    Counter,
}

/// A column that should be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ColumnDoubt {
    /// From 0.
    pub column: usize,
    /// What it looks like.
    pub kind: ColumnKind,
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Constant => "has one value in all rows",
            Self::Identifier => "has a different whole number in each row, as an identifier has",
            Self::Counter => "rises or falls with every row, as a row number or a time does",
        })
    }
}

/// Columns of training rows that should be looked at. A column is read up to the first rows that clear it: of embeddings, three.
///
/// ```
/// use evmachine::{ColumnKind, Features, doubtful_columns};
///
/// let rows = (0..60).flat_map(|row| [row as f32, (row * row % 7) as f32, 1.0]);
/// let doubts = doubtful_columns(&Features::new(rows.collect::<Vec<f32>>(), 3)?);
/// let found: Vec<(usize, ColumnKind)> = doubts.iter().map(|doubt| (doubt.column, doubt.kind)).collect();
/// assert_eq!(found, [(0, ColumnKind::Counter), (2, ColumnKind::Constant)]);
/// # Ok::<(), evmachine::FeatureError>(())
/// ```
pub fn doubtful_columns(features: &Features<'_>) -> Vec<ColumnDoubt> {
    let columns = features.columns();
    // A single column is all there is: what rises with the rows was sorted.
    if features.rows() < 2 || columns < 2 {
        return Vec::new();
    }
    let kind = |column: usize| {
        let values = || features.values()[column..].iter().step_by(columns).copied();
        let first = values().next()?;
        if values().all(|value| value == first) {
            return Some(ColumnKind::Constant);
        }
        if features.rows() < LEAST_ROWS {
            return None;
        }
        let pairs = || values().zip(values().skip(1));
        if pairs().all(|(before, after)| before < after) || pairs().all(|(before, after)| before > after) {
            return Some(ColumnKind::Counter);
        }
        let mut seen = HashSet::new();
        let is_identifier = values().all(|value| value.fract() == 0.0 && seen.insert(value.to_bits()));
        is_identifier.then_some(ColumnKind::Identifier)
    };
    (0..columns).filter_map(|column| kind(column).map(|kind| ColumnDoubt { column, kind })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(column: impl Fn(usize) -> f32, rows: usize) -> Vec<ColumnKind> {
        let values: Vec<f32> = (0..rows).flat_map(|row| [column(row), (row % 3) as f32 - 0.5]).collect();
        let doubts = doubtful_columns(&Features::new(values, 2).unwrap());
        assert!(doubts.iter().all(|doubt| doubt.column == 0), "the second column is a measurement");
        doubts.iter().map(|doubt| doubt.kind).collect()
    }

    #[test]
    fn what_identifies_rows_is_told_from_measurements() {
        assert_eq!(kinds(|row| 1.7e6 + 0.5 * row as f32, 80), [ColumnKind::Counter]);
        assert_eq!(kinds(|row| -(row as f32), 80), [ColumnKind::Counter]);
        assert_eq!(kinds(|row| (row * 37 % 101) as f32, 101), [ColumnKind::Identifier]);
        assert_eq!(kinds(|row| (row * 37 % 100) as f32, 101), [], "a number comes twice");
        assert_eq!(kinds(|row| (row * 37 % 101) as f32 + 0.25, 101), [], "no whole numbers");
        assert_eq!(kinds(|row| row as f32, 20), [], "too few rows to say");
    }

    #[test]
    fn a_constant_column_is_told_and_a_single_one_is_not() {
        assert_eq!(kinds(|_| 4.0, 3), [ColumnKind::Constant]);
        assert_eq!(kinds(|_| 4.0, 1), []);
        let sorted: Vec<f32> = (0..90).map(|row| row as f32).collect();
        assert_eq!(doubtful_columns(&Features::new(sorted, 1).unwrap()), []);
    }
}
