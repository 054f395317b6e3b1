//! `/v1/update`: learning what was answered.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::guard::Caller;
use crate::learner;
use crate::problem::Problem;
use crate::service::Service;
use crate::v1::groups::Empty;

/// Who wants it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wish {
    person: Option<String>,
}

/// It is under way.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Started {
    /// When it began, in seconds since 1970.
    started: i64,
}

/// Learn what was named or ignored, beside serving
///
/// `GET /v1/status` says how far it is, and what came of it.
#[utoipa::path(
    post,
    path = "/v1/update",
    tag = "versions",
    request_body = Wish,
    responses((status = 202, body = Started), (status = "4XX", body = Problem))
)]
pub(crate) async fn start(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(Wish { person }): extract::Json<Wish>,
) -> Result<(StatusCode, Json<Started>), Problem> {
    if service.reader.call(|pool| pool.to_learn()).await?.is_empty() && service.learner.progress().is_none() {
        return Err(evmachine_openworld::StoreError::NothingToLearn.into());
    }
    let started = learner::start(&service, caller.person(person)?)?;
    Ok((StatusCode::ACCEPTED, Json(Started { started })))
}

/// Stop what is being learned; nothing is lost, it can be learned later
#[utoipa::path(
    delete,
    path = "/v1/update",
    tag = "versions",
    responses((status = 202, body = Empty), (status = 409, body = Problem))
)]
pub(crate) async fn stop(State(service): State<Arc<Service>>) -> Result<(StatusCode, Json<Empty>), Problem> {
    if service.learner.stop() {
        Ok((StatusCode::ACCEPTED, Json(Empty {})))
    } else {
        Err(Problem::conflict("nothing is being learned"))
    }
}
