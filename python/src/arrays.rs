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

/// The first row that a model does not take, the column, if one is to blame, and the rest of the library's sentence. Rows are as
/// cosine distances need them if `directed`, and NaN is filled in later if they `may_lack` values.
#[pyfunction]
pub(crate) fn bad_row(
    features: Matrix<'_>,
    directed: bool,
    may_lack: bool,
) -> PyResult<Option<(usize, Option<usize>, String)>> {
    let values = features.as_slice().map_err(failure::value)?;
    let rows = values.chunks_exact(features.shape()[1].max(1));
    let mut bad = rows.enumerate().filter_map(|(row, values)| {
        let error = Features::check_row(values, directed, may_lack).err()?;
        let (column, place) = match error {
            FeatureError::NotFinite { column, .. } | FeatureError::TooLarge { column, .. } => {
                (Some(column), format!("row 0, column {column}: "))
            }
            _ => (None, "row 0 ".to_owned()),
        };
        let words = error.to_string();
        Some((row, column, words.strip_prefix(&place).unwrap_or(&words).to_owned()))
    });
    Ok(bad.next())
}
