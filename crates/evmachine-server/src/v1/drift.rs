//! `/v1/drift`: whether rows still come as the calibrating rows of the live version did.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine::{DriftError, DriftReport};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::service::Service;

/// How drift stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Drift {
    /// The version that decides.
    model: String,
    /// The report in a sentence.
    text: String,
    #[serde(flatten)]
    report: DriftReport,
}

/// Whether rows still come as they did, since when not, and why
///
/// All rows that the live version has decided on are watched, in the order in which they came; another version begins anew.
#[utoipa::path(
    get,
    path = "/v1/drift",
    tag = "status",
    responses((status = 200, body = Drift), (status = "4XX", body = Problem))
)]
pub(crate) async fn drift(State(service): State<Arc<Service>>) -> Result<Json<Drift>, Problem> {
    let (live, watch) = (service.live.get(), service.drift.clone());
    let found = service
        .blocking(move || {
            let report = watch.report(&live).map_err(problem)?;
            Ok((live.hash.clone(), report))
        })
        .await?;
    match found {
        (model, Some(report)) => Ok(Json(Drift { model, text: report.to_string(), report })),
        (_, None) => Err(Problem::unavailable("the live version has just changed; try again")),
    }
}

fn problem(error: DriftError) -> Problem {
    match error {
        DriftError::Run(error) => error.into(),
        other => {
            tracing::error!(error = %other);
            Problem::internal("the log of the server says more")
        }
    }
}
