//! Explanations and doubts as JSON, which `evmachine/_explanation.py` makes objects of.

use evmachine::Prior;
use pyo3::prelude::*;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::model::Model;
use crate::{failure, watch};

/// For each query its answer and the reasons, by its best classes.
#[pyfunction]
#[pyo3(signature = (model, features, classes, means, progress=None))]
pub(crate) fn explain(
    py: Python<'_>,
    model: &Model,
    features: Matrix<'_>,
    classes: usize,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (queries, evm) = (arrays::features(&features)?, &model.evm);
    let found = watch::run(py, &means, progress.as_ref(), |run, _| {
        evm.reasons_with(run, &queries, classes, Prior::EVEN)
    })?;
    serde_json::to_string(&found.map_err(failure::value)?).map_err(failure::value)
}

/// For each query the row that carries its answer, and the answer without that row.
#[pyfunction]
#[pyo3(signature = (model, features, means, progress=None))]
pub(crate) fn doubt(
    py: Python<'_>,
    model: &Model,
    features: Matrix<'_>,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (queries, evm) = (arrays::features(&features)?, &model.evm);
    let found =
        watch::run(py, &means, progress.as_ref(), |run, _| evm.named_doubt_with(run, &queries, Prior::EVEN))?;
    serde_json::to_string(&found.map_err(failure::value)?).map_err(failure::value)
}
