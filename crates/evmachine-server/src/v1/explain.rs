//! `/v1/explain`: why a row was decided as it was, and what it rests on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine::{Answer, Evm, Features, NamedSpeaker, Prior, Reasons, Run};
use evmachine_openworld::SampleId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::problem::Problem;
use crate::rows::Matrix;
use crate::service::Service;

/// Classes that an explanation names.
const CLASSES: usize = 5;

/// One of: a row, a decision that was answered, a sample of the pool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    features: Option<Vec<f32>>,
    decision: Option<u64>,
    sample: Option<SampleId>,
}

/// Why, by the live version.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explained {
    #[serde(flatten)]
    reasons: Reasons,
    /// The training row that carries the decision.
    because: NamedSpeaker,
    /// What would be said without that row.
    without: Answer,
    /// The version that is asked.
    model: String,
}

/// The row that is asked about.
pub(crate) async fn row(
    service: &Service,
    features: Option<Vec<f32>>,
    decision: Option<u64>,
    sample: Option<SampleId>,
) -> Result<Vec<f32>, Problem> {
    match (features, decision, sample) {
        (Some(values), None, None) => {
            let columns = values.len();
            let matrix = Matrix { values, rows: 1, columns };
            Ok(matrix.checked(&service.live.get().model, 1)?.values)
        }
        (None, Some(number), None) => {
            let found = service.recent.find(number);
            let gone = || Problem::not_found(format!("decision {number} is not among the last any more"));
            Ok(found.ok_or_else(gone)?.features.into_vec())
        }
        (None, None, Some(sample)) => {
            Ok(service.reader.call(move |pool| pool.sample(sample)).await?.features)
        }
        _ => Err(Problem::unsuitable("name one of `features`, `decision` and `sample`")),
    }
}

/// Why a row is decided as it is, which training row carries that, and what would be said without it
#[utoipa::path(
    post,
    path = "/v1/explain",
    tag = "decisions",
    request_body = Asked,
    responses((status = 200, body = Explained), (status = "4XX", body = Problem))
)]
pub(crate) async fn explain(
    State(service): State<Arc<Service>>,
    extract::Json(Asked { features, decision, sample }): extract::Json<Asked>,
) -> Result<Json<Explained>, Problem> {
    let values = row(&service, features, decision, sample).await?;
    let live = service.live.get();
    let shared = service.clone();
    service.blocking(move || explained(&shared.run(), &live.hash, &live.model, values)).await.map(Json)
}

fn explained(run: &Run<'_>, hash: &str, model: &Evm, values: Vec<f32>) -> Result<Explained, Problem> {
    let features = Features::new(values, model.dimensions())?;
    let reasons = model.reasons_with(run, &features, CLASSES, Prior::EVEN)?.remove(0);
    let doubt = model.named_doubt_with(run, &features, Prior::EVEN)?.remove(0);
    Ok(Explained { reasons, because: doubt.because, without: doubt.without, model: hash.to_owned() })
}
