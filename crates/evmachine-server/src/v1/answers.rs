//! `/v1/labels`, `ignore`, `discard`, `reopen` and `undo`: what people say of samples.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine::Evm;
use evmachine_openworld::{Answer, EventId, GroupId, Pool, SampleId, StoreError, Target};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::guard::Caller;
use crate::problem::Problem;
use crate::service::{Service, run_here};

/// Names that are offered in the place of one that is no class.
const OFFERED: usize = 5;

/// What is meant: a group, or samples.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Meant {
    /// The members of this group that wait.
    group: Option<GroupId>,
    /// But for these.
    #[serde(default)]
    except: Vec<SampleId>,
    /// In the place of a group: these samples, answered already or not.
    samples: Option<Vec<SampleId>>,
    /// Who says so; the owner of the key unless given.
    person: Option<String>,
}

/// A name for samples.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    /// The class.
    label: String,
    /// Whether it may be one that is not there yet.
    #[serde(default)]
    new_class: bool,
    /// The members of this group that wait.
    group: Option<GroupId>,
    /// But for these.
    #[serde(default)]
    except: Vec<SampleId>,
    /// In the place of a group: these samples, answered already or not.
    samples: Option<Vec<SampleId>>,
    /// Who says so; the owner of the key unless given.
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
enum Chosen {
    Group { group: GroupId, except: Vec<SampleId> },
    Samples(Vec<SampleId>),
}

impl Chosen {
    fn new(
        group: Option<GroupId>,
        except: Vec<SampleId>,
        samples: Option<Vec<SampleId>>,
    ) -> Result<Self, Problem> {
        match (group, samples) {
            (Some(group), None) => Ok(Self::Group { group, except }),
            (None, Some(samples)) if except.is_empty() => Ok(Self::Samples(samples)),
            (None, Some(_)) => {
                Err(Problem::unsuitable("`except` goes with `group`; leave the samples out instead"))
            }
            _ => Err(Problem::unsuitable("name either a `group` or `samples`")),
        }
    }

    fn answer(
        &self,
        pool: &mut Pool,
        answer: Answer<'_>,
        person: Option<&str>,
    ) -> Result<(EventId, usize), StoreError> {
        let target = match self {
            Self::Group { group, except } => Target::Group { group: *group, except },
            Self::Samples(samples) => Target::Samples(samples),
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
    let Meant { group, except, samples, person } = meant;
    let chosen = Chosen::new(group, except, samples)?;
    let person = caller.person(person);
    let (event, samples) =
        service.writer.call(move |pool| chosen.answer(pool, answer, person.as_deref())).await?;
    Ok(Json(Noted { event, samples }))
}

/// Classes that a name may have been meant for: those that begin like it, or differ by a letter or two.
fn similar<'a>(name: &str, classes: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut found: Vec<(usize, &str)> = classes
        .filter_map(|class| {
            let other = class.to_lowercase();
            let way = strsim::levenshtein(&lower, &other);
            let begins = other.starts_with(&lower) || lower.starts_with(&other);
            (begins || (way <= 2 && way < lower.chars().count())).then_some((way, class))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(OFFERED).map(|(_, class)| class.to_owned()).collect()
}

/// Refuses a name that is neither a class nor a label, as a slip of the hand would make it.
fn check_class(pool: &Pool, model: &Evm, label: &str) -> Result<Option<Problem>, StoreError> {
    let labels = pool.labels()?;
    if model.class_index(label).is_some() || labels.contains_key(label) {
        return Ok(None);
    }
    let classes = model.classes().map(|class| class.name).chain(labels.keys().map(String::as_str));
    let known = similar(label, classes);
    let detail = format!("{label:?} is no class yet; send \"new_class\": true if it is to be one");
    Ok(Some(Problem::conflict(detail).with("known", known)))
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
    let Named { label, new_class, group, except, samples, person } = named;
    let chosen = Chosen::new(group, except, samples)?;
    let person = caller.person(person);
    let live = service.live.get();
    let noted = service
        .writer
        .call(move |pool| {
            if !new_class && let Some(problem) = check_class(pool, &live.model, &label)? {
                return Ok(Err(problem));
            }
            chosen.answer(pool, Answer::Label(&label), person.as_deref()).map(Ok)
        })
        .await?;
    let (event, samples) = noted?;
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
    request_body = Meant,
    responses((status = 200, body = Noted), (status = "4XX", body = Problem))
)]
pub(crate) async fn reopen(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(meant): extract::Json<Meant>,
) -> Result<Json<Noted>, Problem> {
    answer(&service, &caller, meant, Answer::Reopen).await
}

/// The event to undo.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToUndo {
    /// The last that is in force, unless given.
    event: Option<EventId>,
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
    let person = caller.person(person);
    let (undone, event) = service.writer.call(move |pool| pool.undo(event, person.as_deref())).await?;
    Ok(Json(Undone { event, undone }))
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn slips_of_the_hand_are_near() {
        let classes = ["cat", "car", "dog", "category"];
        assert_eq!(similar("cst", classes.into_iter()), ["cat", "car"]);
        assert_eq!(similar("Cat", classes.into_iter()), ["cat", "car", "category"]);
        assert!(similar("zebra", classes.into_iter()).is_empty());
    }
}
