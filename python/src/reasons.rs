//! Explanations and doubts as plain tuples, which `evmachine/_explanation.py` gives names to.

use evmachine::{ClassEvidence, Decision, Doubt, Evm, Explanation, Speaker};
use pyo3::prelude::*;

use crate::arrays::{self, Matrix};
use crate::device::Means;
use crate::model::Model;
use crate::rows::{self, OriginRow};
use crate::{failure, watch};

/// Where it came from, position among the extreme vectors, distance, psi, radius.
pub(crate) type SpeakerRow = (OriginRow, usize, f64, f64, f64);
/// What features, logits and probe say.
pub(crate) type TestimonyRow = (f64, f64, f64);
/// Class, probability, testimony, speakers.
pub(crate) type EvidenceRow = (usize, f64, Option<TestimonyRow>, Vec<SpeakerRow>);
/// Best class, whether it was accepted, its support above the threshold, its psi.
pub(crate) type DecisionRow = (usize, bool, f64, f64);
/// Where it came from, distance, whether it decides.
pub(crate) type IgnoredRow = (OriginRow, f64, bool);
/// The decision, distance to the boundary, evidence, the nearest ignored sample.
pub(crate) type ReasonRow = (DecisionRow, f64, Vec<EvidenceRow>, Option<IgnoredRow>);
/// The decision, what carries it, the decision without that.
pub(crate) type DoubtRow = (DecisionRow, SpeakerRow, DecisionRow);

fn speaker(evm: &Evm, speaker: &Speaker) -> SpeakerRow {
    let origin = rows::origin(evm, speaker.source);
    (origin, speaker.extreme_vector, speaker.distance, speaker.psi, speaker.radius)
}

fn evidence(evm: &Evm, evidence: &ClassEvidence) -> EvidenceRow {
    let testimony = evidence.testimony.map(|parts| (parts.features, parts.logits, parts.probe));
    let speakers = evidence.speakers.iter().map(|one| speaker(evm, one)).collect();
    (evidence.class, evidence.probability, testimony, speakers)
}

fn decision(decision: &Decision) -> DecisionRow {
    (decision.best(), decision.class().is_some(), decision.support(), decision.psi())
}

pub(crate) fn row(evm: &Evm, explanation: &Explanation) -> ReasonRow {
    let ignored =
        explanation.ignored.map(|near| (rows::origin(evm, near.source), near.distance, near.decides));
    (
        decision(&explanation.decision),
        explanation.distance_to_boundary,
        explanation.classes.iter().map(|class| evidence(evm, class)).collect(),
        ignored,
    )
}

/// For each query the row that carries its decision, and the decision without that row.
#[pyfunction]
#[pyo3(signature = (model, features, means, progress=None))]
pub(crate) fn doubt(
    py: Python<'_>,
    model: &Model,
    features: Matrix<'_>,
    means: Means,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<DoubtRow>> {
    let (queries, evm) = (arrays::features(&features)?, &model.evm);
    let doubts = watch::run(py, &means, progress.as_ref(), |run, _| evm.doubt_with(run, &queries))?
        .map_err(failure::value)?;
    let row =
        |doubt: &Doubt| (decision(&doubt.decision), speaker(evm, &doubt.carrier), decision(&doubt.without));
    Ok(doubts.iter().map(row).collect())
}
