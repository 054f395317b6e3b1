//! `/v1/events`: what happened.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine_openworld::{Event, EventId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::Query;
use crate::problem::Problem;
use crate::service::Service;

/// Events that are given at once at most.
const MOST: usize = 1000;

/// Something that happened.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneEvent {
    number: EventId,
    /// labelled, ignored, discarded, reopened, updated, edited, promoted or undone.
    kind: String,
    /// Seconds since 1970.
    time: i64,
    person: Option<String>,
    /// The class that samples got, or what was corrected.
    label: Option<String>,
    /// The event that it undid.
    target: Option<EventId>,
    /// The version that became live.
    model: Option<String>,
    /// How many samples it is about.
    samples: u64,
    /// Whether nothing undid it.
    in_force: bool,
}

impl From<Event> for OneEvent {
    fn from(event: Event) -> Self {
        Self {
            number: event.number,
            kind: event.kind.to_string(),
            time: event.time,
            person: event.person,
            label: event.label,
            target: event.target,
            model: event.model,
            samples: event.samples,
            in_force: event.in_force,
        }
    }
}

/// Events, the latest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Events {
    events: Vec<OneEvent>,
}

/// Which events are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// At most so many.
    #[serde(default = "hundred")]
    #[param(default = 100, maximum = 1000)]
    count: usize,
    /// Those before this one.
    before: Option<EventId>,
}

fn hundred() -> usize {
    100
}

/// What happened, the latest first
#[utoipa::path(get, path = "/v1/events", tag = "history", params(EventsQuery), responses((status = 200, body = Events)))]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Query(EventsQuery { count, before }): Query<EventsQuery>,
) -> Result<Json<Events>, Problem> {
    let events = service.reader.call(move |pool| pool.last_events(count.min(MOST), before)).await?;
    Ok(Json(Events { events: events.into_iter().map(OneEvent::from).collect() }))
}
