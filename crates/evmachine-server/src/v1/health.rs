//! `/v1/health-of-model`: does it work?

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use evmachine::{Evm, Features, Run, finite};
use evmachine_openworld::SampleId;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::service::Service;
use crate::v1::status;

/// Extreme vectors from which other classes are looked for.
const LOOKED_FROM: usize = 500;

/// What shows whether it works.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// The unknown that waits and came nearest to being known.
    closest_stranger: Option<Stranger>,
    /// The two classes that come nearest to each other.
    closest_pair: Option<ClassPair>,
    /// By minute.
    unknown_rate: Vec<Rate>,
    /// The share of known queries that the threshold may call unknown, where it was set by that.
    calibrated: Option<f64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Stranger {
    sample: SampleId,
    best: String,
    /// How far that class lies above the threshold; null where it was decided by an earlier program.
    support: Option<f64>,
    psi: f64,
}

/// Two classes, and how near an extreme vector of the first comes to one of the second.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct ClassPair {
    a: String,
    b: String,
    distance: f64,
}

/// Decisions of a minute.
#[derive(Debug, Serialize, ToSchema)]
struct Rate {
    /// Its start, in seconds since 1970.
    time: i64,
    rows: u64,
    unknown: u64,
}

/// The closest pair by version, which never changes.
#[derive(Default)]
pub(crate) struct Pairs(Mutex<HashMap<String, Option<ClassPair>>>);

/// Looked for from up to [`LOOKED_FROM`] extreme vectors, evenly from all.
fn closest_pair(run: &Run<'_>, model: &Evm) -> Result<Option<ClassPair>, Problem> {
    let step = model.extreme_vector_count().div_ceil(LOOKED_FROM).max(1);
    let (mut own, mut values) = (Vec::new(), Vec::new());
    for vector in model.extreme_vectors().step_by(step) {
        own.push(vector.class);
        values.extend(model.in_feature_space(vector.vector));
    }
    let reasons = model.explain_with(run, &Features::new(values, model.dimensions())?, 2)?;
    let mut closest: Option<ClassPair> = None;
    for (class, reasons) in own.into_iter().zip(reasons) {
        let other = reasons.classes.iter().find(|evidence| evidence.class != class);
        let speaker =
            other.and_then(|evidence| Some((evidence.class, evidence.extreme_vectors.first()?.distance)));
        if let Some((other, distance)) = speaker
            && closest.as_ref().is_none_or(|closest| distance < closest.distance)
        {
            let (a, b) = (model.class_name(class).to_owned(), model.class_name(other).to_owned());
            closest = Some(ClassPair { a, b, distance });
        }
    }
    Ok(closest)
}

/// Does it work: the closest stranger, the closest pair of classes, the rate of unknowns over time
#[utoipa::path(get, path = "/v1/health-of-model", tag = "status", responses((status = 200, body = Health)))]
pub(crate) async fn health(State(service): State<Arc<Service>>) -> Result<Json<Health>, Problem> {
    let stranger = service.reader.call(|pool| pool.closest_stranger()).await?;
    let live = service.live.get();
    let lock = || service.pairs.0.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lock().get(&live.hash).cloned();
    let pair = if let Some(pair) = known {
        pair
    } else {
        let (model, shared) = (live.model.clone(), service.clone());
        let look = move || shared.learning.install(|| closest_pair(&shared.run(), &model));
        let found = service.blocking(look).await?;
        lock().insert(live.hash.clone(), found.clone());
        found
    };
    let minutes = service.recent.minutes().into_iter();
    Ok(Json(Health {
        closest_stranger: stranger.map(|sample| Stranger {
            sample: sample.number,
            best: sample.best,
            support: sample.support.map(finite),
            psi: sample.psi,
        }),
        closest_pair: pair,
        unknown_rate: minutes
            .map(|minute| Rate { time: minute.time, rows: minute.rows, unknown: minute.unknown })
            .collect(),
        calibrated: status::calibrated(&live.model),
    }))
}
