//! `/v1/versions`: model versions, which of them is live, and how two of them differ.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::{Extension, Json};
use evmachine::{Answer, Decision, Evm, Features, Prior};
use evmachine_openworld::EventId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::guard::Caller;
use crate::problem::Problem;
use crate::service::Service;

/// A version.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneVersion {
    hash: String,
    /// The version that it was made of.
    parent: Option<String>,
    /// Seconds since 1970.
    made: i64,
    live: bool,
    previous: bool,
    classes: usize,
    /// Its extreme vectors.
    vectors: usize,
}

/// All versions, in the order in which they were made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Versions {
    versions: Vec<OneVersion>,
}

/// Classes and extreme vectors by version, which never change.
#[derive(Default)]
pub(crate) struct Sizes(Mutex<HashMap<String, (usize, usize)>>);

fn size(model: &Evm) -> (usize, usize) {
    (model.classes().len(), model.extreme_vector_count())
}

/// A model by its hash: the live one is in memory, others are read.
async fn load(service: &Service, hash: String) -> Result<Arc<Evm>, Problem> {
    let live = service.live.get();
    if live.hash == hash {
        return Ok(live.model.clone());
    }
    service.reader.call(move |pool| pool.load(&hash).map(Arc::new)).await
}

/// All versions, in the order in which they were made
#[utoipa::path(get, path = "/v1/versions", tag = "versions", responses((status = 200, body = Versions)))]
pub(crate) async fn list(State(service): State<Arc<Service>>) -> Result<Json<Versions>, Problem> {
    let (found, names) = service
        .reader
        .call(|pool| Ok((pool.versions()?, (pool.live_hash()?, pool.previous_hash()?))))
        .await?;
    let mut versions = Vec::with_capacity(found.len());
    for version in found {
        let lock = || service.sizes.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&version.hash).copied();
        let (classes, vectors) = if let Some(size) = known {
            size
        } else {
            let size = size(&*load(&service, version.hash.clone()).await?);
            lock().insert(version.hash.clone(), size);
            size
        };
        versions.push(OneVersion {
            live: version.hash == names.0,
            previous: Some(&version.hash) == names.1.as_ref(),
            hash: version.hash,
            parent: version.parent,
            made: version.made,
            classes,
            vectors,
        });
    }
    Ok(Json(Versions { versions }))
}

/// The version to make live.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Promotion {
    /// Its hash or the beginning of it, or `previous`.
    version: String,
    person: Option<String>,
}

/// What is live now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Promoted {
    event: EventId,
    /// The version that is live.
    version: String,
}

async fn make_live(
    service: &Service,
    version: String,
    person: Option<String>,
) -> Result<Json<Promoted>, Problem> {
    let (event, version) = service
        .writer
        .call(move |pool| Ok((pool.promote(&version, person.as_deref())?, pool.live_hash()?)))
        .await?;
    Ok(Json(Promoted { event, version }))
}

/// Make a version live
#[utoipa::path(
    post,
    path = "/v1/versions/promote",
    tag = "versions",
    request_body = Promotion,
    responses((status = 200, body = Promoted), (status = "4XX", body = Problem))
)]
pub(crate) async fn promote(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(Promotion { version, person }): extract::Json<Promotion>,
) -> Result<Json<Promoted>, Problem> {
    make_live(&service, version, caller.person(person)?).await
}

/// Who goes back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rollback {
    person: Option<String>,
}

/// Make the previous version live again
#[utoipa::path(
    post,
    path = "/v1/versions/rollback",
    tag = "versions",
    request_body = Rollback,
    responses((status = 200, body = Promoted), (status = "4XX", body = Problem))
)]
pub(crate) async fn rollback(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(Rollback { person }): extract::Json<Rollback>,
) -> Result<Json<Promoted>, Problem> {
    make_live(&service, "previous".to_owned(), caller.person(person)?).await
}

/// Two versions.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionPair {
    /// A hash, the beginning of one, `live` or `previous`.
    old: String,
    new: String,
    /// On so many of the last decisions; all that are kept unless given.
    count: Option<usize>,
}

/// A recent decision that two versions make differently.
#[derive(Debug, Serialize, ToSchema)]
struct Differing {
    decision: u64,
    old: Answer,
    new: Answer,
}

/// How two versions decide on the same rows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Comparison {
    /// Rows that they were compared on.
    rows: usize,
    differ: Vec<Differing>,
    /// Rows that the old one knows.
    known_old: usize,
    /// Rows that the new one knows.
    known_new: usize,
}

/// Compare two versions on the last decisions
#[utoipa::path(
    post,
    path = "/v1/versions/compare",
    tag = "versions",
    request_body = VersionPair,
    responses((status = 200, body = Comparison), (status = "4XX", body = Problem))
)]
pub(crate) async fn compare(
    State(service): State<Arc<Service>>,
    extract::Json(VersionPair { old, new, count }): extract::Json<VersionPair>,
) -> Result<Json<Comparison>, Problem> {
    let hashes =
        service.reader.call(move |pool| Ok((pool.version(&old)?.hash, pool.version(&new)?.hash))).await?;
    let (old, new) = (load(&service, hashes.0).await?, load(&service, hashes.1).await?);
    let shared = service.clone();
    let compared = service.blocking(move || {
        let service = shared;
        let recent = service.recent.last(count.unwrap_or(usize::MAX));
        let values: Vec<f32> = recent.iter().flat_map(|decision| decision.features.iter().copied()).collect();
        let features = Features::new(values, service.dimensions)?;
        let decide = |model: &Evm| service.learning.install(|| model.decide_with(&service.run(), &features));
        let (before, after) = (decide(&old)?, decide(&new)?);
        let sides = before
            .iter()
            .zip(&after)
            .map(|(before, after)| (old.answer(before, Prior::EVEN), new.answer(after, Prior::EVEN)));
        let known =
            |decisions: &[Decision]| decisions.iter().filter(|decision| decision.class().is_some()).count();
        let differ = recent.iter().zip(sides).filter(|(_, (old, new))| old.class != new.class);
        Ok(Comparison {
            rows: recent.len(),
            differ: differ
                .map(|(recent, (old, new))| Differing { decision: recent.number, old, new })
                .collect(),
            known_old: known(&before),
            known_new: known(&after),
        })
    });
    compared.await.map(Json)
}
