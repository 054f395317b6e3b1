//! Open-set figures of what a classifier said.

use evmachine_eval::{Answers, Evaluation, curves};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::failure;

/// Answers from columns; a truth below 0 is a class that the classifier never saw.
fn answers(
    truth: &PyReadonlyArray1<'_, i64>,
    best: &PyReadonlyArray1<'_, i64>,
    score: &PyReadonlyArray1<'_, f64>,
    accepted: &PyReadonlyArray1<'_, bool>,
    classes: usize,
) -> PyResult<Answers> {
    let (truth, best) = (truth.as_slice().map_err(failure::value)?, best.as_slice().map_err(failure::value)?);
    let (score, accepted) =
        (score.as_slice().map_err(failure::value)?, accepted.as_slice().map_err(failure::value)?);
    if [best.len(), score.len(), accepted.len()].iter().any(|&length| length != truth.len()) {
        return Err(failure::value("truth, best, score and accepted must be of one length"));
    }
    let class = |row: usize, value: i64| match usize::try_from(value) {
        Ok(class) if class < classes => Ok(class),
        _ => Err(failure::value(format!("row {row}: {value} is not one of {classes} classes"))),
    };
    let mut answers = Answers::default();
    for (row, &value) in truth.iter().enumerate() {
        let truth = if value < 0 { None } else { Some(class(row, value)?) };
        answers.push(truth, class(row, best[row])?, score[row], accepted[row]);
    }
    Ok(answers)
}

/// The figures of `evmachine evaluate`, as JSON.
#[pyfunction]
pub(crate) fn evaluate(
    truth: PyReadonlyArray1<'_, i64>,
    best: PyReadonlyArray1<'_, i64>,
    score: PyReadonlyArray1<'_, f64>,
    accepted: PyReadonlyArray1<'_, bool>,
    classes: usize,
) -> PyResult<String> {
    let answers = answers(&truth, &best, &score, &accepted, classes)?;
    serde_json::to_string(&Evaluation::new(&answers, classes)).map_err(failure::value)
}

/// Acceptance rates of unknown and rates of right and accepted known queries, from the strictest threshold on.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "two arrays")]
pub(crate) fn oscr_curve<'py>(
    py: Python<'py>,
    truth: PyReadonlyArray1<'py, i64>,
    best: PyReadonlyArray1<'py, i64>,
    score: PyReadonlyArray1<'py, f64>,
    accepted: PyReadonlyArray1<'py, bool>,
    classes: usize,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
    let answers = answers(&truth, &best, &score, &accepted, classes)?;
    let curve = curves::oscr_curve(&answers)
        .ok_or_else(|| failure::value("an OSCR curve needs queries of known and of unknown classes"))?;
    let (unknown, known): (Vec<f64>, Vec<f64>) = curve.into_iter().unzip();
    Ok((unknown.into_pyarray(py), known.into_pyarray(py)))
}
