//! numpy arrays as features and labels, without copies.

use evmachine::{Features, Labels};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::PyResult;

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
