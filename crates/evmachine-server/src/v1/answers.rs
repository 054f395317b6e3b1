//! `/v1/labels`, `ignore`, `discard`, `reopen` and `undo`: what people say of samples.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine_openworld::{Answer, EventId, GroupId, Pool, SampleId, StoreError, Target};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::guard::Caller;
use crate::keys::Role;
use crate::problem::Problem;
use crate::service::{Service, run_here};

/// What is meant: samples, as somebody saw them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Meant {
    /// The samples. Unless all of them wait, nothing is done, and the answer is 409.
    samples: Vec<SampleId>,
    /// The group that they were shown in, if any: those of its members that are not meant go on to wait in other groups.
    group: Option<GroupId>,
    /// Whether the samples may have been answered before: this answer then takes the place of that one.
    #[serde(default)]
    replace: bool,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// A name for samples.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    /// The class: at most 256 characters, none of them a control character, and not `unknown`.
    label: String,
    /// Whether it may be one that is not there yet and whose name is close to that of another.
    #[serde(default)]
    new_class: bool,
    /// Whether a program says so by itself, and no person: a rule may hold the samples back until a person names them
    /// (`/v1/enrolment`).
    #[serde(default)]
    proposed: bool,
    /// The samples. Unless all of them wait, nothing is done, and the answer is 409.
    samples: Vec<SampleId>,
    /// The group that they were shown in, if any: those of its members that are not meant go on to wait in other groups.
    group: Option<GroupId>,
    /// Whether the samples may have been answered before: this answer then takes the place of that one.
    #[serde(default)]
    replace: bool,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// Samples that are to wait again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToReopen {
    samples: Vec<SampleId>,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// What was noted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Noted {
    /// The event, which can be undone.
    event: EventId,
    /// How many samples it is about.
    samples: usize,
}

/// What an answer is about, and holds for as long as it takes to write it down.
struct Chosen {
    samples: Vec<SampleId>,
    group: Option<GroupId>,
    replace: bool,
}

impl Chosen {
    fn answer(
        &self,
        pool: &mut Pool,
        answer: Answer<'_>,
        person: Option<&str>,
    ) -> Result<(EventId, usize), StoreError> {
        let target = if self.replace {
            Target::Samples(&self.samples)
        } else {
            Target::Waiting { samples: &self.samples, group: self.group }
        };
        pool.answer(&run_here(), &target, answer, person)
    }
}

async fn answer(
    service: &Service,
    caller: &Caller,
    meant: Meant,
    answer: Answer<'static>,
) -> Result<Json<Noted>, Problem> {
    let Meant { samples, group, replace, person } = meant;
    let chosen = Chosen { samples, group, replace };
    let person = caller.person(person)?;
    let (event, samples) =
        service.writer.call(move |pool| chosen.answer(pool, answer, person.as_deref())).await?;
    Ok(Json(Noted { event, samples }))
}

/// Name samples
#[utoipa::path(
    post,
    path = "/v1/labels",
    tag = "labelling",
    request_body = Named,
    responses((status = 200, body = Noted), (status = "4XX", body = Problem))
)]
pub(crate) async fn label(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(named): extract::Json<Named>,
) -> Result<Json<Noted>, Problem> {
    let Named { label, new_class, proposed, samples, group, replace, person } = named;
    let chosen = Chosen { samples, group, replace };
    let person = caller.person(person)?;
    let (event, samples) = service
        .writer
        .call(move |pool| {
            pool.check_label(&label, new_class)?;
            let answer = if proposed { Answer::Propose(&label) } else { Answer::Label(&label) };
            chosen.answer(pool, answer, person.as_deref())
        })
        .await?;
    Ok(Json(Noted { event, samples }))
}

/// Say that samples are strangers, and are to stay strangers
#[utoipa::path(
    post,
    path = "/v1/ignore",
    tag = "labelling",
    request_body = Meant,
    responses((status = 200, body = Noted), (status = "4XX", body = Problem))
)]
pub(crate) async fn ignore(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(meant): extract::Json<Meant>,
) -> Result<Json<Noted>, Problem> {
    answer(&service, &caller, meant, Answer::Ignore).await
}

/// Say that samples are of no use
#[utoipa::path(
    post,
    path = "/v1/discard",
    tag = "labelling",
    request_body = Meant,
    responses((status = 200, body = Noted), (status = "4XX", body = Problem))
)]
pub(crate) async fn discard(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(meant): extract::Json<Meant>,
) -> Result<Json<Noted>, Problem> {
    answer(&service, &caller, meant, Answer::Discard).await
}

/// Have samples wait again
#[utoipa::path(
    post,
    path = "/v1/reopen",
    tag = "labelling",
    request_body = ToReopen,
    responses((status = 200, body = Noted), (status = "4XX", body = Problem))
)]
pub(crate) async fn reopen(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(ToReopen { samples, person }): extract::Json<ToReopen>,
) -> Result<Json<Noted>, Problem> {
    let meant = Meant { samples, group: None, replace: true, person };
    answer(&service, &caller, meant, Answer::Reopen).await
}

/// The event to undo.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToUndo {
    /// Unless given, the last that is in force: of the owner of a key of the role label, of all for others.
    event: Option<EventId>,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// What was undone.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Undone {
    /// The event that says so, which can be undone too.
    event: EventId,
    /// The event that is not in force any more.
    undone: EventId,
}

/// Undo an event: all is as if it had not been
///
/// Events that say which version is live (`updated`, `edited`, `promoted`) take a key of the role admin.
#[utoipa::path(
    post,
    path = "/v1/undo",
    tag = "labelling",
    request_body = ToUndo,
    responses((status = 200, body = Undone), (status = "4XX", body = Problem))
)]
pub(crate) async fn undo(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(ToUndo { event, person }): extract::Json<ToUndo>,
) -> Result<Json<Undone>, Problem> {
    let person = caller.person(person)?;
    let may_change_live = caller.role >= Role::Admin;
    let undone = service
        .writer
        .call(move |pool| {
            let event = match event {
                None if !may_change_live => {
                    Some(pool.last_answer(person.as_deref())?.ok_or(StoreError::NothingToUndo)?)
                }
                other => other,
            };
            if let Some(event) = event
                && !may_change_live
                && pool.undoes(event)?.changes_live()
            {
                return Ok(None);
            }
            pool.undo(event, person.as_deref()).map(Some)
        })
        .await?;
    let refused =
        || Problem::forbidden("which version is live is changed by a key of the role admin; yours is label");
    let (undone, event) = undone.ok_or_else(refused)?;
    Ok(Json(Undone { event, undone }))
}
