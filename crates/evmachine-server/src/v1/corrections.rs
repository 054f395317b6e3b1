//! `/v1/rows`: training rows that are set aside, and come back; rows that are not of a class.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine::{Edit, Evm, Features};
use evmachine_openworld::{Correction, EventId, Learned, SampleId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::guard::Caller;
use crate::problem::Problem;
use crate::service::Service;
use crate::v1::explain;

/// One of: a decision, which means the row that carries it; a row by its source; a row by class and number.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeantRow {
    decision: Option<u64>,
    source: Option<u64>,
    class: Option<String>,
    number: Option<u64>,
    person: Option<String>,
}

/// What was done.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Corrected {
    /// The event, which can be undone.
    event: EventId,
    /// The version that is live now.
    version: String,
    /// The row.
    source: u64,
    class: String,
}

/// The rows that may be meant: their sources and classes.
fn held(model: &Evm, aside: bool) -> Vec<(u64, String)> {
    if aside {
        model.rows_aside().map(|row| (row.source, row.class.to_owned())).collect()
    } else {
        let vectors = model.extreme_vectors();
        vectors.map(|vector| (vector.source, model.class_name(vector.class).to_owned())).collect()
    }
}

fn find(model: &Evm, meant: &MeantRow, carrier: Option<u64>, aside: bool) -> Result<(u64, String), Problem> {
    let rows = held(model, aside);
    let mut found: Vec<(u64, String)> = match (carrier.or(meant.source), &meant.class, meant.number) {
        (Some(source), None, None) => rows.into_iter().filter(|row| row.0 == source).collect(),
        (None, Some(class), Some(number)) => rows
            .into_iter()
            .filter(|(source, of)| of == class && model.origin(*source).number == number)
            .collect(),
        _ => return Err(Problem::unsuitable("name a `decision`, a `source`, or a `class` and a `number`")),
    };
    match found.len() {
        0 if aside => Err(Problem::not_found("no such row was set aside")),
        0 => Err(Problem::not_found("the live version holds no such row")),
        1 => Ok(found.remove(0)),
        _ => {
            let sources: Vec<u64> = found.iter().map(|row| row.0).collect();
            let detail = "several rows of the class have that number; name one by its source";
            Err(Problem::conflict(detail).with("sources", sources))
        }
    }
}

async fn correct(
    service: Arc<Service>,
    caller: &Caller,
    meant: MeantRow,
    aside: bool,
) -> Result<Json<Corrected>, Problem> {
    let live = service.live.get();
    let values = match meant.decision {
        Some(decision) => Some(explain::row(&service, None, Some(decision), None).await?),
        None => None,
    };
    let person = caller.person(meant.person.clone())?;
    let asked = service.clone();
    let (source, class) = service
        .blocking(move || {
            let carrier = match values {
                Some(values) => {
                    let features = Features::new(values, live.model.dimensions())?;
                    Some(live.model.doubt_with(&asked.run(), &features)?.remove(0).because.source)
                }
                None => None,
            };
            find(&live.model, &meant, carrier, aside)
        })
        .await?;
    let rows = vec![source];
    let edit = if aside { Edit::Restore { rows } } else { Edit::SetAside { rows } };
    let number = service.live.get().model.origin(source).number;
    let what = if aside { "brought back" } else { "set aside" };
    let description = format!("row {number} of {class} {what}");
    let taken = edited(&service, edit, description, person).await?;
    Ok(Json(Corrected { event: taken.event, version: taken.version, source, class }))
}

/// Makes a version by an edit, and makes it live.
pub(crate) async fn edited(
    service: &Arc<Service>,
    edit: Edit,
    description: String,
    person: Option<String>,
) -> Result<Learned, Problem> {
    let correction = service.writer.call(move |pool| pool.correction(edit)).await?;
    make(service, correction, description, person).await
}

/// Makes a correction, and makes it live.
async fn make(
    service: &Arc<Service>,
    correction: Correction,
    description: String,
    person: Option<String>,
) -> Result<Learned, Problem> {
    let shared = service.clone();
    let version = service
        .blocking(move || {
            let made = shared.learning.install(|| correction.make(&shared.run(), description))?;
            // Laid out before others ask it.
            made.model().decide_with(&shared.run(), &Features::new(Vec::new(), shared.dimensions)?)?;
            Ok(made)
        })
        .await?;
    service.writer.call(move |pool| pool.take(version, person.as_deref())).await
}

/// One of: a row, a decision that was answered, a sample of the pool; and the class that it is not of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeantVector {
    features: Option<Vec<f32>>,
    decision: Option<u64>,
    sample: Option<SampleId>,
    /// The class that the live version takes it for, unless given.
    class: Option<String>,
    person: Option<String>,
}

/// Say that a row is not of a class: a new version that never answers it so, live at once
#[utoipa::path(
    post,
    path = "/v1/rows/not",
    tag = "decisions",
    request_body = MeantVector,
    responses((status = 200, body = Corrected), (status = "4XX", body = Problem))
)]
pub(crate) async fn not(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(meant): extract::Json<MeantVector>,
) -> Result<Json<Corrected>, Problem> {
    let MeantVector { features, decision, sample, class, person } = meant;
    let person = caller.person(person)?;
    let values = explain::row(&service, features, decision, sample).await?;
    let id = match sample {
        Some(sample) => service.reader.call(move |pool| pool.sample(sample)).await?.id,
        None => None,
    };
    let live = service.live.get();
    let (asked, shared) = (values.clone(), service.clone());
    let (source, class) = service
        .blocking(move || {
            let model = &live.model;
            let class = if let Some(class) = class {
                let missing = || Problem::not_found(format!("the live version has no class {class:?}"));
                model.class_name(model.class_index(&class).ok_or_else(missing)?).to_owned()
            } else {
                let features = Features::new(asked, model.dimensions())?;
                let decision = model.decide_with(&shared.run(), &features)?.remove(0);
                let detail =
                    "the live version takes the row for no class; name the `class` that it is not of";
                let unknown = || Problem::unsuitable(detail);
                model.name_of(&decision).ok_or_else(unknown)?.to_owned()
            };
            Ok((model.points_seen(), class))
        })
        .await?;
    let description = format!("not {class}");
    let of = class.clone();
    let correction = service.writer.call(move |pool| pool.denial(of, values, id)).await?;
    let taken = make(&service, correction, description, person).await?;
    Ok(Json(Corrected { event: taken.event, version: taken.version, source, class }))
}

/// Set a training row aside: a new version without it, live at once
#[utoipa::path(
    post,
    path = "/v1/rows/aside",
    tag = "decisions",
    request_body = MeantRow,
    responses((status = 200, body = Corrected), (status = "4XX", body = Problem))
)]
pub(crate) async fn aside(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(meant): extract::Json<MeantRow>,
) -> Result<Json<Corrected>, Problem> {
    correct(service, &caller, meant, false).await
}

/// Bring a row back that was set aside
#[utoipa::path(
    post,
    path = "/v1/rows/restore",
    tag = "decisions",
    request_body = MeantRow,
    responses((status = 200, body = Corrected), (status = "4XX", body = Problem))
)]
pub(crate) async fn restore(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(meant): extract::Json<MeantRow>,
) -> Result<Json<Corrected>, Problem> {
    if meant.decision.is_some() {
        return Err(Problem::unsuitable(
            "a row that was set aside carries no decision; name it by its source",
        ));
    }
    correct(service, &caller, meant, true).await
}
