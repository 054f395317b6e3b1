//! `/v1/explain`: why a row was decided as it was, and what it rests on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine::{Answer, Edit, Evm, Features, NamedDoubt, NamedSpeaker, Prior, Reasons};
use evmachine_openworld::SampleId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::problem::Problem;
use crate::rows::Matrix;
use crate::service::Service;
use crate::v1::training::{self, ShownRow};

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

/// Why, by the version that decided; of a row that nobody asked about yet, by the live one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explained {
    #[serde(flatten)]
    reasons: Reasons,
    /// The training row that carries the decision.
    because: NamedSpeaker,
    /// That row as people see it.
    carrier: ShownRow,
    /// What would be said without that row.
    without: Answer,
    /// The sample of the pool that is asked about, if it is one.
    sample: Option<SampleId>,
    /// The version that is asked.
    model: String,
}

/// What is asked about.
struct Subject {
    values: Vec<f32>,
    sample: Option<SampleId>,
    /// The version that decided, if any did.
    decided_by: Option<String>,
}

async fn subject(service: &Service, asked: Asked) -> Result<Subject, Problem> {
    let Asked { features, decision, sample } = asked;
    let (kept, decided_by) = match (decision, sample) {
        (Some(number), None) => {
            service.recent.find(number).map_or((None, None), |found| (found.sample, Some(found.model)))
        }
        (None, Some(sample)) => {
            let found = service.reader.call(move |pool| pool.sample(sample)).await?;
            (Some(sample), Some(found.model))
        }
        _ => (None, None),
    };
    let values = row(service, features, decision, sample).await?;
    Ok(Subject { values, sample: kept, decided_by })
}

/// The version that decided; the live one where that cannot be told.
async fn version(service: &Service, hash: Option<String>) -> Result<(String, Arc<Evm>), Problem> {
    let live = service.live.get();
    match hash {
        Some(hash) if hash != live.hash => {
            let wanted = hash.clone();
            let model = service.reader.call(move |pool| pool.load(&wanted)).await?;
            Ok((hash, Arc::new(model)))
        }
        _ => Ok((live.hash.clone(), live.model.clone())),
    }
}

/// The model without what it learned of a sample: nothing is its own reason. The model itself if it learned nothing of it, or if nothing
/// would be left of a class.
fn without_own(model: &Arc<Evm>, sample: Option<SampleId>) -> Arc<Evm> {
    let is_own =
        |source: &u64| sample.is_some() && training::sample_of(&model.origin(*source).into()) == sample;
    let rows: Vec<u64> = model.extreme_vectors().map(|vector| vector.source).filter(is_own).collect();
    if rows.is_empty() {
        return model.clone();
    }
    model.edited(&Edit::SetAside { rows }).map_or_else(|_| model.clone(), |(edited, _)| Arc::new(edited))
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
    extract::Json(asked): extract::Json<Asked>,
) -> Result<Json<Explained>, Problem> {
    let Subject { values, sample, decided_by } = subject(&service, asked).await?;
    let (hash, model) = version(&service, decided_by).await?;
    let shared = service.clone();
    let (reasons, NamedDoubt { because, without, .. }, vector) = service
        .blocking(move || {
            let model = without_own(&model, sample);
            let features = Features::new(values, model.dimensions())?;
            let reasons = model.reasons_with(&shared.run(), &features, CLASSES, Prior::EVEN)?.remove(0);
            let doubt = model.named_doubt_with(&shared.run(), &features, Prior::EVEN)?.remove(0);
            let vector = training::vector(&model, doubt.because.extreme_vector);
            Ok((reasons, doubt, vector))
        })
        .await?;
    let (class, row) = (because.class.clone(), because.row.clone());
    let carrier = service.reader.call(move |pool| ShownRow::of(pool, class, row, vector)).await?;
    Ok(Json(Explained { reasons, because, carrier, without, sample, model: hash }))
}
