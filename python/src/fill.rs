//! Missing values, which are NaN here.

use evmachine::{FeatureError, Fill};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::Matrix;
use crate::failure;

/// What fills each column, by the name of the rule.
#[pyfunction]
pub(crate) fn learn_fill<'py>(
    py: Python<'py>,
    rule: &str,
    features: Matrix<'py>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let Some(rule) = Fill::ALL.into_iter().find(|fill| fill.name() == rule) else {
        let names = Fill::ALL.map(Fill::name).join(", ");
        return Err(failure::value(format!(
            "fill = {rule:?}: must be one of {names}, a number for each column, or None"
        )));
    };
    let (values, columns) = (features.as_slice().map_err(failure::value)?, features.shape()[1]);
    // Before they are part of a mean.
    if let Some(at) = values.iter().position(|value| value.is_infinite()) {
        let (row, column, value) = (at / columns, at % columns, f64::from(values[at]));
        return Err(failure::value(FeatureError::NotFinite { row, column, value }));
    }
    Ok(py.detach(|| rule.learn(values, columns)).into_pyarray(py))
}

/// The rows with what is missing filled; the same array where nothing is.
#[pyfunction]
pub(crate) fn filled<'py>(
    py: Python<'py>,
    features: Matrix<'py>,
    numbers: PyReadonlyArray1<'py, f32>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let values = features.as_slice().map_err(failure::value)?;
    let numbers = numbers.as_slice().map_err(failure::value)?;
    let filled = py.detach(|| {
        values.iter().any(|value| value.is_nan()).then(|| {
            let mut values = values.to_vec();
            evmachine::fill(&mut values, numbers);
            values
        })
    });
    match filled {
        Some(values) => values.into_pyarray(py).reshape([features.shape()[0], features.shape()[1]]),
        None => Ok((*features).clone()),
    }
}
