//! `/v1/decisions`: what was answered lately.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine::Answer;
use evmachine_openworld::{NewSample, Outcome, SampleId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{self, Path, Query};
use crate::problem::Problem;
use crate::recent::Answered;
use crate::service::Service;
use crate::v1::groups::Empty;

/// A decision that was answered.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PastDecision {
    decision: u64,
    /// Seconds since 1970.
    time: i64,
    #[serde(flatten)]
    answer: Answer,
    sample: Option<SampleId>,
    id: Option<String>,
    text: Option<String>,
    /// The version that decided.
    model: String,
}

impl From<Answered> for PastDecision {
    fn from(answered: Answered) -> Self {
        Self {
            decision: answered.number,
            time: answered.time,
            answer: answered.answer,
            sample: answered.sample,
            id: answered.id,
            text: answered.text,
            model: answered.model,
        }
    }
}

/// A decision whose row goes into the pool.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeptDecision {
    /// The sample that it is there.
    sample: SampleId,
}

/// Keep the row of a decision that was answered, known or not, so that it can be named
#[utoipa::path(
    post,
    path = "/v1/decisions/{number}/keep",
    tag = "decisions",
    params(("number" = u64, Path)),
    request_body = Empty,
    responses((status = 200, body = KeptDecision), (status = "4XX", body = Problem))
)]
pub(crate) async fn keep(
    State(service): State<Arc<Service>>,
    Path(number): Path<u64>,
    extract::Json(Empty {}): extract::Json<Empty>,
) -> Result<Json<KeptDecision>, Problem> {
    let gone = || Problem::not_found(format!("decision {number} is not among the last any more"));
    let found = service.recent.find(number).ok_or_else(gone)?;
    if let Some(sample) = found.sample {
        return Ok(Json(KeptDecision { sample }));
    }
    let shown = NewSample { id: found.id, text: found.text, ..NewSample::default() };
    let outcomes = service.writer.add(found.features.into_vec(), vec![shown], None).await?;
    if let Some(Outcome::HeldBack(reason)) = outcomes.first() {
        return Err(Problem::conflict(format!("the rule of the pool holds it back: {reason}")));
    }
    let sample = outcomes.first().and_then(Outcome::sample).ok_or_else(gone)?;
    service.recent.keep(number, sample);
    Ok(Json(KeptDecision { sample }))
}

/// Decisions, the latest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PastDecisions {
    decisions: Vec<PastDecision>,
}

/// How many are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionsQuery {
    /// At most so many.
    #[serde(default = "hundred")]
    #[param(default = 100, maximum = 10000)]
    count: usize,
}

fn hundred() -> usize {
    100
}

/// The last decisions, the latest first
///
/// The last 10,000 are kept in memory, fewer where vectors are long, and none over a restart.
#[utoipa::path(
    get,
    path = "/v1/decisions",
    tag = "decisions",
    params(DecisionsQuery),
    responses((status = 200, body = PastDecisions))
)]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Query(DecisionsQuery { count }): Query<DecisionsQuery>,
) -> Json<PastDecisions> {
    let decisions = service.recent.last(count).into_iter().map(PastDecision::from).collect();
    Json(PastDecisions { decisions })
}
