//! `/v1/samples/{number}/...`: a sample looked at closely: its nearest training rows, its history, notes.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine::{Features, NamedSpeaker};
use evmachine_openworld::{Note, SampleId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{self, Path, Query};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::service::Service;
use crate::v1::events::OneEvent;
use crate::v1::training::{self, ShownRow};

/// Training rows that are given at once at most.
const MOST: usize = 50;

/// A training row near a sample.
#[derive(Debug, Serialize, ToSchema)]
struct NearRow {
    #[serde(flatten)]
    row: ShownRow,
    /// Its distance to the sample.
    distance: f64,
}

/// Training rows near a sample, the nearest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NearRows {
    rows: Vec<NearRow>,
    /// The version that holds them.
    model: String,
}

/// How many are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct NearQuery {
    /// At most so many.
    #[serde(default = "eight")]
    #[param(default = 8, maximum = 50)]
    count: usize,
}

fn eight() -> usize {
    8
}

/// The training rows of the live version that lie nearest to a sample, whatever their class; never the sample itself
#[utoipa::path(
    get,
    path = "/v1/samples/{number}/neighbors",
    tag = "samples",
    params(("number" = i64, Path), NearQuery),
    responses((status = 200, body = NearRows), (status = "4XX", body = Problem))
)]
pub(crate) async fn neighbors(
    State(service): State<Arc<Service>>,
    Path(number): Path<SampleId>,
    Query(NearQuery { count }): Query<NearQuery>,
) -> Result<Json<NearRows>, Problem> {
    let sample = service.reader.call(move |pool| pool.sample(number)).await?;
    let live = service.live.get();
    let hash = live.hash.clone();
    let count = count.min(MOST);
    let found: Vec<(NamedSpeaker, Vec<f32>)> = service
        .blocking(move || {
            let features = Features::new(sample.features, live.model.dimensions())?;
            let near = live.model.nearest_rows(&features, count + 1)?.remove(0);
            let others = near.into_iter().filter(|near| training::sample_of(&near.row) != Some(number));
            let with_vector = |near: NamedSpeaker| {
                let vector = training::vector(&live.model, near.extreme_vector);
                (near, vector)
            };
            Ok(others.take(count).map(with_vector).collect())
        })
        .await?;
    let rows = service
        .reader
        .call(move |pool| {
            let shown = found.into_iter().map(|(near, vector)| {
                let row = ShownRow::of(pool, near.class, near.row, vector)?;
                Ok(NearRow { row, distance: near.distance })
            });
            shown.collect()
        })
        .await?;
    Ok(Json(NearRows { rows, model: hash }))
}

/// Words that somebody left beside a sample.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneNote {
    number: i64,
    /// Seconds since 1970.
    time: i64,
    person: Option<String>,
    text: String,
}

impl From<Note> for OneNote {
    fn from(note: Note) -> Self {
        Self { number: note.number, time: note.time, person: note.person, text: note.text }
    }
}

/// What happened to a sample.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SampleHistory {
    /// The events about it, the latest first.
    events: Vec<OneEvent>,
    /// The notes beside it, the first one first.
    notes: Vec<OneNote>,
}

/// What happened to a sample, and the notes beside it
#[utoipa::path(
    get,
    path = "/v1/samples/{number}/history",
    tag = "samples",
    params(("number" = i64, Path)),
    responses((status = 200, body = SampleHistory), (status = 404, body = Problem))
)]
pub(crate) async fn history(
    State(service): State<Arc<Service>>,
    Path(number): Path<SampleId>,
) -> Result<Json<SampleHistory>, Problem> {
    let found = service.reader.call(move |pool| {
        pool.sample(number)?;
        Ok((pool.events_of(number)?, pool.notes(number)?))
    });
    let (events, notes) = found.await?;
    Ok(Json(SampleHistory {
        events: events.into_iter().map(OneEvent::from).collect(),
        notes: notes.into_iter().map(OneNote::from).collect(),
    }))
}

/// A note to leave.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewNote {
    /// At most 2,000 characters; line breaks are the only control characters.
    text: String,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// Leave a note beside a sample
#[utoipa::path(
    post,
    path = "/v1/samples/{number}/notes",
    tag = "samples",
    params(("number" = i64, Path)),
    request_body = NewNote,
    responses((status = 200, body = OneNote), (status = "4XX", body = Problem))
)]
pub(crate) async fn note(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    Path(number): Path<SampleId>,
    extract::Json(NewNote { text, person }): extract::Json<NewNote>,
) -> Result<Json<OneNote>, Problem> {
    let person = caller.person(person)?;
    let noted = service.writer.call(move |pool| pool.add_note(number, &text, person.as_deref())).await?;
    Ok(Json(noted.into()))
}
