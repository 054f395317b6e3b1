//! `/metrics`: for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::metrics::Gauges;
use crate::problem::Problem;
use crate::recent::now;
use crate::service::Service;
use crate::v1::status::{calibrated, share_unknown};

/// What is counted, in the format of Prometheus
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "status",
    responses((status = 200, content_type = "text/plain", body = String))
)]
pub(crate) async fn metrics(State(service): State<Arc<Service>>) -> Result<Response, Problem> {
    let ((waiting, waiting_unknown), groups, oldest) = service
        .reader
        .call(|pool| Ok((pool.waiting()?, pool.groups_left()?, pool.samples(Some("waiting"), 0, 1)?.pop())))
        .await?;
    let live = service.live.get();
    let (watch, watched) = (service.drift.clone(), live.clone());
    let report = service.blocking(move || Ok(watch.report(&watched).ok().flatten())).await?;
    let (recent_rows, recent_unknown) = service.recent.unknown();
    let text = service.metrics.text(&Gauges {
        waiting,
        waiting_unknown,
        groups,
        oldest: oldest.map(|sample| now() - sample.added),
        version: &live.hash,
        classes: live.model.classes().len(),
        extreme_vectors: live.model.extreme_vector_count(),
        calibrated: calibrated(&live.model),
        recent_rows,
        recent_unknown,
        estimated: share_unknown(&service, &live.model),
        learning: service.learner.progress().is_some(),
        drift: service.drift.standing(&live),
        drift_cause: report.and_then(|report| report.cause),
    });
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
