//! Rows whose labels are in doubt, as plain tuples, which `evmachine/_suspects.py` gives names to.

use evmachine::Suspect;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::{failure, parameters, watch};

/// Row, code of its label, P of that, the class that claims it and P of that, lead, margin, how it was fitted, its place in
/// the cover as position, size and rows covered, and why.
type SuspectRow =
    (usize, usize, f64, Option<(usize, f64)>, f64, f64, &'static str, Option<(usize, usize, usize)>, String);

/// The rows whose labels are in doubt, the most doubtful first.
#[pyfunction]
#[pyo3(signature = (features, codes, names, params, means, progress=None))]
pub(crate) fn suspects(
    py: Python<'_>,
    features: Matrix<'_>,
    codes: PyReadonlyArray1<'_, i64>,
    names: Vec<String>,
    params: &str,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<SuspectRow>> {
    let params = parameters::read(params)?;
    let (data, labels) = (arrays::features(&features)?, arrays::labels(&codes, &names)?);
    let found = watch::run(py, &means, progress.as_ref(), |run, _| {
        evmachine::suspects_with(run, &params, &data, &labels)
    })?;
    // Classes are numbered as they appear, and codes as Python has sorted them.
    let code = |class: usize| names.iter().position(|name| *name == labels.names()[class]).unwrap_or(class);
    let row = |suspect: Suspect| {
        let why = suspect.reason(&labels);
        let claim = suspect.claim.map(|claim| (code(claim.class), claim.probability));
        let cover = suspect.cover.map(|place| (place.position, place.of, place.covers));
        let Suspect { row, class, probability, lead, margin, status, .. } = suspect;
        (row, code(class), probability, claim, lead, margin, status.describe(), cover, why)
    };
    Ok(found.map_err(failure::value)?.into_iter().map(row).collect())
}
