//! Decisions on tracks by name: what the program, Python and the server show.

use serde::{Deserialize, Serialize};

use crate::json::finite;
use crate::model::Evm;
use crate::track::decision::TrackDecision;

/// What the model says of a track, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct TrackAnswer {
    /// The track.
    pub track: String,
    /// The class; `None` is unknown.
    pub class: Option<String>,
    /// Whether it is known.
    pub known: bool,
    /// The class of highest mean support, known or not.
    pub best: String,
    /// How far that mean lies above the threshold for rows. Always finite.
    pub support: f64,
    /// The share of known tracks that score no higher, or a bound on it; `None` without calibration.
    pub p_value: Option<f64>,
    /// Rows of the track.
    pub rows: usize,
    /// The row of the track at which it was sure, from 1; `None` if it was decided at its end.
    pub sure_at: Option<usize>,
    /// Rows of the track that by themselves are answered otherwise, from 1.
    pub disagree: Vec<usize>,
}

/// # Ask
impl Evm {
    /// A decision on a track by name.
    pub fn track_answer(&self, track: &str, decision: &TrackDecision) -> TrackAnswer {
        TrackAnswer {
            track: track.to_owned(),
            class: decision.class.map(|class| self.class_name(class).to_owned()),
            known: decision.class.is_some(),
            best: self.class_name(decision.best).to_owned(),
            support: finite(decision.support),
            p_value: decision.p_value,
            rows: decision.rows,
            sure_at: decision.sure_at,
            disagree: decision.disagree.iter().map(|row| row + 1).collect(),
        }
    }
}
