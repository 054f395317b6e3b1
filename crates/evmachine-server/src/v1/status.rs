//! `/v1/status`: how it stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine::{DriftAlarm, Evm, Promise, Rejection, UnknownShare};
use evmachine_openworld::Version;
use serde::Serialize;
use utoipa::ToSchema;

use crate::guard::Caller;
use crate::keys::Role;
use crate::learner::{LastLearning, Learning};
use crate::problem::Problem;
use crate::service::Service;

/// How the pool, the model and the server stand.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    dimensions: usize,
    /// Samples that wait for an answer.
    waiting: u64,
    /// Those of them that are unknown.
    waiting_unknown: u64,
    /// Samples by label.
    labelled: BTreeMap<String, u64>,
    /// Labelled samples that the live version has not learned.
    to_learn: u64,
    /// Ignored ones that it does not have as strangers yet.
    to_ignore: u64,
    ignored: u64,
    discarded: u64,
    /// Groups that wait for an answer.
    groups: u64,
    /// Those of them that were handed out.
    handed_out: u64,
    /// Events of all kinds.
    events: u64,
    /// The version that answers.
    live: String,
    /// The one before.
    previous: Option<String>,
    versions: Vec<VersionName>,
    classes: Vec<OneClass>,
    metric: String,
    /// What decides where a query becomes unknown: that is where its support is below 0.
    rule: String,
    /// What the threshold promises, in a sentence.
    promise: String,
    /// Why that cannot be relied on, if it cannot.
    doubt: Option<String>,
    /// The same as fields.
    #[schema(value_type = Object)]
    promised: Promise,
    unknown_rate: UnknownRate,
    /// The first alarm of drift since the live version decides; `/v1/drift` says more.
    drift: Option<DriftAlarm>,
    /// How far learning is, while it goes on.
    learning: Option<Learning>,
    /// What came of it the last time.
    last_learning: Option<LastLearning>,
    /// Whether what waits was decided and grouped by the live version; for a while after it changed it was not.
    settled: bool,
    /// What the caller may do.
    role: Role,
    /// The name of the key, under which what its owner says is noted.
    person: Option<String>,
    demo: bool,
    server_version: &'static str,
}

/// A version.
#[derive(Debug, Serialize, ToSchema)]
struct VersionName {
    hash: String,
    parent: Option<String>,
    /// Seconds since 1970.
    made: i64,
}

impl From<Version> for VersionName {
    fn from(version: Version) -> Self {
        Self { hash: version.hash, parent: version.parent, made: version.made }
    }
}

/// A class of the live version.
#[derive(Debug, Serialize, ToSchema)]
struct OneClass {
    name: String,
    /// Its extreme vectors.
    vectors: usize,
}

/// How many are unknown, against how many should be.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnknownRate {
    /// The share of known queries that the threshold may call unknown, where it was set by that.
    calibrated: Option<f64>,
    /// The share among the last decisions.
    recent: Option<f64>,
    /// How many these are.
    recent_rows: u64,
    /// The share of queries among them that are truly unknown, as their p-values estimate it; null without calibration.
    estimated: Option<f64>,
    /// The standard error of that.
    estimated_error: Option<f64>,
}

/// The share of unknowns among the last decisions, as their p-values estimate it.
pub(crate) fn share_unknown(service: &Service, model: &Evm) -> Option<UnknownShare> {
    model.share_unknown(&service.recent.p_values()).ok().flatten()
}

/// The share of known queries that may be called unknown, where the threshold was set by it.
pub(crate) fn calibrated(model: &Evm) -> Option<f64> {
    match model.params().rejection_threshold {
        Rejection::FalseUnknown(rate) | Rejection::FalseUnknownPerClass(rate) => Some(rate),
        _ => None,
    }
}

/// How the pool, the model and the server stand
#[utoipa::path(get, path = "/v1/status", tag = "status", responses((status = 200, body = Status)))]
pub(crate) async fn status(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Status>, Problem> {
    let (pool, settled) = service.reader.call(|pool| Ok((pool.status()?, pool.is_refreshed()?))).await?;
    let live = service.live.get();
    let (rows, unknown) = service.recent.unknown();
    let classes = live.model.classes();
    let promised = live.model.promise();
    let estimated = share_unknown(&service, &live.model);
    Ok(Json(Status {
        dimensions: pool.dimensions,
        waiting: pool.waiting,
        waiting_unknown: pool.waiting_unknown,
        labelled: pool.labelled,
        to_learn: pool.to_learn,
        to_ignore: pool.to_ignore,
        ignored: pool.ignored,
        discarded: pool.discarded,
        groups: pool.groups,
        handed_out: pool.handed_out,
        events: pool.events,
        live: pool.live,
        previous: pool.previous,
        versions: pool.versions.into_iter().map(VersionName::from).collect(),
        classes: classes
            .map(|class| OneClass { name: class.name.to_owned(), vectors: class.extreme_vectors })
            .collect(),
        metric: live.model.params().metric.name(),
        rule: live.model.params().rejection_threshold.to_string(),
        promise: promised.to_string(),
        doubt: promised.doubt(),
        promised,
        unknown_rate: UnknownRate {
            calibrated: calibrated(&live.model),
            recent: (rows > 0).then(|| unknown as f64 / rows as f64),
            recent_rows: rows,
            estimated: estimated.map(|found| found.share),
            estimated_error: estimated.map(|found| found.error),
        },
        drift: service.drift.standing(&live).and_then(|standing| standing.alarm),
        learning: service.learner.progress(),
        last_learning: service.learner.last(),
        settled,
        role: caller.role,
        person: caller.name,
        demo: service.demo,
        server_version: env!("CARGO_PKG_VERSION"),
    }))
}
