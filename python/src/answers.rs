//! What a model answers: decisions, and numbers for each query.

use evmachine::{CalibrateError, ClassScore, Decision, Prior};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::model::{Model, number};
use crate::{failure, watch};

/// Best class, whether it was accepted, its psi, its support above the threshold, the support that is compared with the threshold.
type Decisions<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);
/// Best class, whether it is called unknown, what to know if nothing can be found.
type Discovered<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<bool>>, Option<String>);

/// The best class of each decision.
fn best(decisions: &[Decision]) -> Vec<i64> {
    decisions.iter().map(|decision| number(decision.best() as u64)).collect()
}

fn rows_of<'py>(
    py: Python<'py>,
    model: &Model,
    features: &Matrix<'py>,
    means: Means,
    progress: Option<&Py<PyAny>>,
    each: impl Fn(&[ClassScore]) -> Vec<f64> + Sync + Send,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (queries, evm) = (arrays::features(features)?, &model.evm);
    let rows = watch::run(py, &means, progress, |run, _| {
        evm.map_queries_with(run, &queries, |_, scores| each(scores)).map(|rows| rows.concat())
    })?
    .map_err(failure::value)?;
    rows.into_pyarray(py).reshape([queries.rows(), evm.classes().len()])
}

fn decisions_of(
    py: Python<'_>,
    model: &Model,
    features: &Matrix<'_>,
    means: Means,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Vec<Decision>> {
    let (queries, evm) = (arrays::features(features)?, &model.evm);
    watch::run(py, &means, progress, |run, _| evm.decide_with(run, &queries))?.map_err(failure::value)
}

/// A number for the decision on each query, which calibration alone can tell.
fn calibrated(
    model: &Model,
    decisions: &[Decision],
    each: impl Fn(&Decision) -> Option<f64>,
) -> PyResult<Vec<f64>> {
    if model.evm.calibration().is_none() {
        return Err(failure::value(CalibrateError::NotCalibrated));
    }
    Ok(decisions.iter().filter_map(each).collect())
}

fn p_values_of(model: &Model, decisions: &[Decision]) -> PyResult<Vec<f64>> {
    calibrated(model, decisions, Decision::p_value)
}

#[pyfunction]
#[pyo3(signature = (model, features, means, progress=None))]
pub(crate) fn decide<'py>(
    py: Python<'py>,
    model: &Model,
    features: Matrix<'py>,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Decisions<'py>> {
    let decisions = decisions_of(py, model, &features, means, progress.as_ref())?;
    let accepted: Vec<bool> = decisions.iter().map(|decision| decision.class().is_some()).collect();
    let column =
        |value: fn(&Decision) -> f64| decisions.iter().map(value).collect::<Vec<f64>>().into_pyarray(py);
    Ok((
        best(&decisions).into_pyarray(py),
        accepted.into_pyarray(py),
        column(Decision::psi),
        column(Decision::support),
        column(|decision| decision.score().support),
    ))
}

/// Calls rows of a batch unknown, so that of those at most a share `rate` is known, on average over batches.
#[pyfunction]
#[pyo3(signature = (model, features, rate, means, progress=None))]
pub(crate) fn discover<'py>(
    py: Python<'py>,
    model: &Model,
    features: Matrix<'py>,
    rate: f64,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Discovered<'py>> {
    let decisions = decisions_of(py, model, &features, means, progress.as_ref())?;
    let found = model.evm.discover(&p_values_of(model, &decisions)?, rate).map_err(failure::value)?;
    let doubt = found.doubt();
    Ok((best(&decisions).into_pyarray(py), found.unknown.into_pyarray(py), doubt))
}

/// The share of unknown queries in a batch, by an estimate, and its standard error; nothing without rows.
#[pyfunction]
#[pyo3(signature = (model, features, means, progress=None))]
pub(crate) fn share_unknown(
    py: Python<'_>,
    model: &Model,
    features: Matrix<'_>,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Option<(f64, f64)>> {
    let decisions = decisions_of(py, model, &features, means, progress.as_ref())?;
    let found = model.evm.share_unknown(&p_values_of(model, &decisions)?).map_err(failure::value)?;
    Ok(found.map(|unknown| (unknown.share, unknown.error)))
}

/// The share of known queries that score no higher than each of these.
#[pyfunction]
#[pyo3(signature = (model, features, means, progress=None))]
pub(crate) fn p_values<'py>(
    py: Python<'py>,
    model: &Model,
    features: Matrix<'py>,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let decisions = decisions_of(py, model, &features, means, progress.as_ref())?;
    Ok(p_values_of(model, &decisions)?.into_pyarray(py))
}

/// P(known), `prior` being the share of known queries to be expected.
#[pyfunction]
#[pyo3(signature = (model, features, prior, means, progress=None))]
pub(crate) fn probability_known<'py>(
    py: Python<'py>,
    model: &Model,
    features: Matrix<'py>,
    prior: f64,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let decisions = decisions_of(py, model, &features, means, progress.as_ref())?;
    let prior = Prior::new(prior).map_err(failure::value)?;
    let each = |decision: &Decision| model.evm.probability_known(decision.score(), prior);
    Ok(calibrated(model, &decisions, each)?.into_pyarray(py))
}

/// The support of every class above the threshold: (rows, classes). The sign of the largest is the decision.
#[pyfunction]
#[pyo3(signature = (model, features, means, progress=None))]
pub(crate) fn class_supports<'py>(
    py: Python<'py>,
    model: &Model,
    features: Matrix<'py>,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    rows_of(py, model, &features, means, progress.as_ref(), |scores| model.evm.supports_of(scores))
}

/// Psi of every class: (rows, classes).
#[pyfunction]
#[pyo3(signature = (model, features, means, progress=None))]
pub(crate) fn scores<'py>(
    py: Python<'py>,
    model: &Model,
    features: Matrix<'py>,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let each = |scores: &[ClassScore]| scores.iter().map(ClassScore::psi).collect();
    rows_of(py, model, &features, means, progress.as_ref(), each)
}

/// P(class), or P(class | known), of every class; each row sums to 1.
#[pyfunction]
#[pyo3(signature = (model, features, if_known, means, progress=None))]
pub(crate) fn distribution<'py>(
    py: Python<'py>,
    model: &Model,
    features: Matrix<'py>,
    if_known: bool,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let each = |scores: &[ClassScore]| {
        if if_known {
            model.evm.distribution_if_known(scores)
        } else {
            model.evm.distribution(scores, Prior::EVEN)
        }
    };
    rows_of(py, model, &features, means, progress.as_ref(), each)
}
