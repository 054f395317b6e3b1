//! numpy arrays as features and labels, without copies.

use evmachine::{FeatureError, Features, Labels};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::failure;

/// A C-contiguous `float32` matrix, as Python hands it over.
pub(crate) type Matrix<'py> = PyReadonlyArray2<'py, f32>;

/// Borrows the matrix; the library checks its values.
pub(crate) fn features<'a>(matrix: &'a Matrix<'_>) -> PyResult<Features<'a>> {
    let values = matrix.as_slice().map_err(failure::value)?;
    Features::new(values, matrix.shape()[1]).map_err(failure::value)
}

/// Class names of the rows, from positions in `names`.
pub(crate) fn labels(codes: &PyReadonlyArray1<'_, i64>, names: &[String]) -> PyResult<Labels> {
    let codes = codes.as_slice().map_err(failure::value)?;
    let name = |&code: &i64| usize::try_from(code).ok().and_then(|code| names.get(code));
    let rows: Option<Vec<&String>> = codes.iter().map(name).collect();
    Labels::new(rows.ok_or_else(|| failure::value("a label code has no name"))?).map_err(failure::value)
}

/// The first value that a model does not take: its row and column, and why.
#[pyfunction]
pub(crate) fn bad_value(features: Matrix<'_>) -> PyResult<Option<(usize, usize, String)>> {
    let values = features.as_slice().map_err(failure::value)?;
    match Features::new(values, features.shape()[1]) {
        Err(FeatureError::NotFinite { row, column, value }) => {
            Ok(Some((row, column, format!("{value} is not a finite 32-bit number"))))
        }
        Err(FeatureError::TooLarge { row, column, value, limit }) => {
            Ok(Some((row, column, format!("|{value:e}| is above {limit:e}"))))
        }
        Err(other) => Err(failure::value(other)),
        Ok(_) => Ok(None),
    }
}
