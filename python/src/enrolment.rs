//! Which labelled samples may be learned, as JSON, which `evmachine/_enrolment.py` makes objects of.

use evmachine::{Candidate, Capture, EnrolmentRule};
use pyo3::prelude::*;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::model::Model;
use crate::{failure, watch};

/// The rule of a JSON object, checked.
pub(crate) fn read(rule: &str) -> PyResult<EnrolmentRule> {
    let rule: EnrolmentRule = serde_json::from_str(rule).map_err(failure::value)?;
    rule.check().map_err(failure::value)?;
    Ok(rule)
}

/// Quality, occasion and time of a sample.
pub(crate) type Captured = (Option<f64>, Option<String>, Option<f64>);

pub(crate) fn capture((quality, occasion, time): Captured) -> Capture {
    Capture { quality, occasion, time }
}

/// What is wrong with the quality of each row, as a list with null for those that are good enough.
#[pyfunction]
pub(crate) fn doubt_quality(rule: &str, captured: Vec<Captured>) -> PyResult<String> {
    let rule = read(rule)?;
    let mut doubts = Vec::with_capacity(captured.len());
    for (row, captured) in captured.into_iter().enumerate() {
        let capture = capture(captured);
        capture.check(row).map_err(failure::value)?;
        doubts.push(rule.doubts_quality(&capture));
    }
    serde_json::to_string(&doubts).map_err(failure::value)
}

/// Why each labelled sample is held back, as a list with null for those that are not.
#[pyfunction]
pub(crate) fn examine(
    py: Python<'_>,
    model: &Model,
    rule: &str,
    samples: Matrix<'_>,
    names: Vec<String>,
    described: Vec<(Captured, bool)>,
    means: Means,
) -> PyResult<String> {
    let (rule, features) = (read(rule)?, arrays::features(&samples)?);
    let described: Vec<(Capture, bool)> =
        described.into_iter().map(|(captured, proposed)| (capture(captured), proposed)).collect();
    if names.len() != features.rows() || described.len() != features.rows() {
        return Err(failure::value("one name and one description for each sample"));
    }
    let candidates: Vec<Candidate<'_>> = names
        .iter()
        .zip(&described)
        .map(|(class, (capture, proposed))| Candidate { class, capture, proposed: *proposed })
        .collect();
    let held =
        watch::run(py, &means, None, |run, _| rule.examine_with(run, &model.evm, &features, &candidates))?;
    serde_json::to_string(&held.map_err(failure::value)?).map_err(failure::value)
}
