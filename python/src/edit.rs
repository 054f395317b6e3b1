//! Corrections: another model, and what was done as JSON.

use evmachine::{Concern, Edit, EditError, EditReport, Evm, refuse_slip};
use pyo3::prelude::*;
use serde_json::Value;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::model::Model;
use crate::rows::{self, Names};
use crate::{failure, watch};

/// The report, and in words what the edit gives rise to worry about.
fn report(before: &Evm, after: &Evm, report: &EditReport) -> PyResult<String> {
    let mut value = serde_json::to_value(report).map_err(failure::value)?;
    let alone = after.is_alone() && !before.is_alone();
    value["alone"] = if alone { Concern::Alone.to_string().into() } else { Value::Null };
    serde_json::to_string(&value).map_err(failure::value)
}

/// Refuses a name that would found a class and looks like a typing error for one of the model, or for one of `labels`.
#[pyfunction]
pub(crate) fn check_label(model: &Model, name: &str, labels: Vec<String>) -> PyResult<()> {
    let classes = model.evm.classes().map(|class| class.name);
    refuse_slip(name, classes.chain(labels.iter().map(String::as_str))).map_err(|slip| failure::slip(&slip))
}

/// Makes a correction, given as the library has it in JSON.
#[pyfunction]
#[pyo3(signature = (model, edit, means, progress=None))]
pub(crate) fn edit(
    py: Python<'_>,
    model: &Model,
    edit: &str,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Model, String)> {
    let edit: Edit = serde_json::from_str(edit).map_err(failure::value)?;
    let edited = watch::run(py, &means, progress.as_ref(), |run, _| model.evm.edited_with(run, &edit))?;
    // Python counts the rows of a model from 1.
    let from_one = |error: EditError| failure::value(error.map_rows(|row| row.saturating_add(1)));
    let (evm, done) = edited.map_err(from_one)?;
    let done = report(&model.evm, &evm, &done)?;
    Ok((Model { evm }, done))
}

/// Says of vectors that they are not of the class of a name.
#[pyfunction]
pub(crate) fn deny(
    py: Python<'_>,
    model: &Model,
    features: Matrix<'_>,
    name: &str,
    names: Names,
) -> PyResult<(Model, String)> {
    let data = arrays::features(&features)?;
    let denied = py.detach(|| {
        let mut evm = model.evm.clone();
        evm.deny(&data, name).map(|done| (evm, done))
    });
    let (mut evm, done) = denied.map_err(failure::value)?;
    rows::name(&mut evm, model.evm.points_seen(), data.rows(), names)?;
    let done = report(&model.evm, &evm, &done)?;
    Ok((Model { evm }, done))
}

/// Adds samples that are no class.
#[pyfunction]
#[pyo3(signature = (model, features, names, means, progress=None))]
pub(crate) fn ignore(
    py: Python<'_>,
    model: &Model,
    features: Matrix<'_>,
    names: Names,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Model, String)> {
    let data = arrays::features(&features)?;
    let ignored = watch::run(py, &means, progress.as_ref(), |run, _| {
        let mut evm = model.evm.clone();
        evm.ignore_with(run, &data).map(|done| (evm, done))
    })?;
    let (mut evm, done) = ignored.map_err(failure::value)?;
    rows::name(&mut evm, model.evm.points_seen(), data.rows(), names)?;
    let done = report(&model.evm, &evm, &done)?;
    Ok((Model { evm }, done))
}
