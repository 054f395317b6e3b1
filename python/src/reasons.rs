//! Explanations as plain tuples, which `evmachine/_explanation.py` gives names to.

use evmachine::{ClassEvidence, Explanation, Speaker};

/// Position among the extreme vectors, training row, distance, psi, radius.
pub(crate) type SpeakerRow = (usize, u64, f64, f64, f64);
/// What features, logits and probe say.
pub(crate) type TestimonyRow = (f64, f64, f64);
/// Class, probability, testimony, speakers.
pub(crate) type EvidenceRow = (usize, f64, Option<TestimonyRow>, Vec<SpeakerRow>);
/// Best class, whether it was accepted, probability, distance to the boundary, evidence.
pub(crate) type ReasonRow = (usize, bool, f64, f64, Vec<EvidenceRow>);

fn speaker(speaker: &Speaker) -> SpeakerRow {
    (speaker.extreme_vector, speaker.source, speaker.distance, speaker.psi, speaker.radius)
}

fn evidence(evidence: &ClassEvidence) -> EvidenceRow {
    let testimony = evidence.testimony.map(|parts| (parts.features, parts.logits, parts.probe));
    (evidence.class, evidence.probability, testimony, evidence.speakers.iter().map(speaker).collect())
}

pub(crate) fn row(explanation: &Explanation) -> ReasonRow {
    let decision = &explanation.decision;
    (
        decision.best(),
        decision.class().is_some(),
        decision.probability(),
        explanation.distance_to_boundary,
        explanation.classes.iter().map(evidence).collect(),
    )
}
