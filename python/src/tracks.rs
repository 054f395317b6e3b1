//! Answers to tracks as JSON, which `evmachine/_tracks.py` makes objects of.

use evmachine::TrackRule;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::model::Model;
use crate::{failure, watch};

/// Rows that calibrate, the codes of their classes, the names of these, and the track of each row.
type Calibrating<'py> = (Matrix<'py>, PyReadonlyArray1<'py, i64>, Vec<String>, Vec<String>);

/// One answer for each track, in the order in which they first come.
#[pyfunction]
#[pyo3(signature = (model, features, tracks, calibrating, means, progress=None))]
pub(crate) fn decide_tracks(
    py: Python<'_>,
    model: &Model,
    features: Matrix<'_>,
    tracks: Vec<String>,
    calibrating: Option<Calibrating<'_>>,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (queries, evm) = (arrays::features(&features)?, &model.evm);
    let calibrating = match &calibrating {
        Some((rows, codes, names, of)) => Some((arrays::features(rows)?, arrays::labels(codes, names)?, of)),
        None => None,
    };
    let found = watch::run(py, &means, progress.as_ref(), |run, _| {
        let rule = match &calibrating {
            Some((rows, labels, of)) => TrackRule::calibrated_with(run, evm, rows, labels, of)?,
            None => TrackRule::of(evm),
        };
        evm.decide_tracks_with(run, &rule, &queries, &tracks)
    })?;
    let decided = found.map_err(failure::value)?;
    let answers: Vec<_> = decided.iter().map(|(track, decision)| evm.track_answer(track, decision)).collect();
    serde_json::to_string(&answers).map_err(failure::value)
}
