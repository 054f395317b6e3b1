//! Fits of single tails, for whoever has margins from elsewhere.

use evmachine::{FitStatus, PsiModel, TailModel};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::failure;

fn tail_model(name: &str) -> PyResult<TailModel> {
    serde_json::from_value(name.into())
        .map_err(|_| failure::value(format!("tail_model = {name:?}: must be weibull, libmr or gumbel")))
}

/// Fits margins; returns (shape, scale, shift, status).
#[pyfunction]
pub(crate) fn fit_margins(
    tail_model: &str,
    margins: PyReadonlyArray1<'_, f64>,
) -> PyResult<(f64, f64, f64, &'static str)> {
    let margins = margins.as_slice().map_err(failure::value)?;
    let psi = PsiModel::fit(self::tail_model(tail_model)?, margins).map_err(failure::value)?;
    Ok((psi.shape, psi.scale, psi.shift, psi.status.describe()))
}

/// psi at each distance.
#[pyfunction]
pub(crate) fn psi_at<'py>(
    py: Python<'py>,
    tail_model: &str,
    shape: f64,
    scale: f64,
    shift: f64,
    distances: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let model = self::tail_model(tail_model)?;
    let psi = PsiModel { shape, scale, shift, status: FitStatus::Converged };
    let distances = distances.as_slice().map_err(failure::value)?;
    let values: Vec<f64> = distances.iter().map(|&distance| psi.probability(model, distance)).collect();
    Ok(values.into_pyarray(py))
}
