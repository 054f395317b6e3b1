//! `/v1/groups`: what waits, as a person is shown it.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine_openworld::{EventId, Group, GroupId, QueueAsked, QueuePart, QueuePlace, SampleId, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{self, Path, Query};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::service::{Service, run_here};
use crate::v1::samples::picture_address;

/// Members of a group that come with a list of groups.
const MEMBERS: usize = 200;
/// Groups that are given at once at most.
const MOST: usize = 200;

/// Samples that one answer may serve.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneGroup {
    number: GroupId,
    /// The sample around which the others lie.
    exemplar: SampleId,
    /// None of them is farther from it.
    radius: f64,
    /// Samples of it that wait.
    size: usize,
    /// The known classes that come nearest to the exemplar, best first.
    neighbors: Vec<OneNeighbor>,
    /// Its samples, the nearest to the exemplar first: the first 200 in a list of groups.
    members: Vec<OneMember>,
    /// The numbers of all of its samples, in that order: what an answer names.
    samples: Vec<SampleId>,
    /// Who has it before them, for now: the name of a key, or the sitting that a page goes by.
    held_by: Option<String>,
}

/// A known class near a group.
#[derive(Debug, Serialize, ToSchema)]
struct OneNeighbor {
    class: String,
    /// How far the class lies above the threshold for the exemplar; null where an earlier program looked for it.
    support: Option<f64>,
    /// Psi of the class for the exemplar, the paper's probability.
    psi: f64,
    /// Distance of the exemplar to the class.
    distance: f64,
}

/// A sample of a group.
#[derive(Debug, Serialize, ToSchema)]
struct OneMember {
    sample: SampleId,
    id: Option<String>,
    text: Option<String>,
    link: Option<String>,
    /// Where its picture is, if there is one.
    picture: Option<String>,
    /// Distance to the exemplar.
    distance: f64,
    /// The class; null is unknown.
    class: Option<String>,
    /// The class of the highest support.
    best: String,
    known: bool,
}

impl From<Group> for OneGroup {
    fn from(group: Group) -> Self {
        let neighbors = group.neighbors.into_iter().map(|near| OneNeighbor {
            class: near.class,
            support: near.support,
            psi: near.psi,
            distance: near.distance,
        });
        let members = group.members.into_iter().map(|member| OneMember {
            sample: member.sample,
            id: member.id,
            text: member.text,
            link: member.link,
            picture: member.picture_hash.map(|hash| picture_address(member.sample, &hash)),
            distance: member.distance,
            class: member.class,
            best: member.best,
            known: member.known,
        });
        Self {
            number: group.number,
            exemplar: group.exemplar,
            radius: group.radius,
            size: group.size,
            neighbors: neighbors.collect(),
            members: members.collect(),
            samples: group.samples,
            held_by: group.holder,
        }
    }
}

/// A part of the queue.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "names that clients read")]
pub(crate) struct Groups {
    groups: Vec<OneGroup>,
    /// Where the queue goes on, for `after`; null at its end.
    next: Option<String>,
    /// Groups that wait: the answers after which nothing does.
    groups_left: u64,
    /// Whether what waits was decided and grouped by the live version; for a while after it changed it was not.
    settled: bool,
}

impl Groups {
    fn new(part: QueuePart, groups_left: u64, settled: bool) -> Json<Self> {
        let next = part.next.map(|place| place.to_string());
        Json(Self {
            groups: part.groups.into_iter().map(OneGroup::from).collect(),
            next,
            groups_left,
            settled,
        })
    }
}

/// Which groups are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupsQuery {
    /// At most so many groups.
    #[serde(default = "twenty")]
    #[param(default = 20, maximum = 200)]
    count: usize,
    /// Those behind this place, which came as `next`.
    after: Option<String>,
    /// Instead of the queue: those of these groups that wait, by their numbers between commas, at most 200.
    numbers: Option<String>,
}

fn twenty() -> usize {
    20
}

fn place(after: Option<&str>) -> Result<Option<QueuePlace>, Problem> {
    let read = |after: &str| after.parse().map_err(|error| Problem::unsuitable(format!("after: {error}")));
    after.map(read).transpose()
}

fn numbers(text: &str) -> Result<Vec<GroupId>, Problem> {
    let numbers: Result<Vec<GroupId>, _> = text.split(',').map(str::parse).collect();
    let numbers = numbers.ok().filter(|numbers| numbers.len() <= MOST);
    numbers.ok_or_else(|| Problem::unsuitable(format!("numbers: at most {MOST} of them, between commas")))
}

/// What waits, for who looks
///
/// Those that were handed out and not answered come first, as they were and where they were; then those with most unknowns; then those
/// that were put off; and last those that others have before them. Nothing is handed out by this, and groups may still take samples in.
#[utoipa::path(get, path = "/v1/groups", tag = "labelling", params(GroupsQuery), responses((status = 200, body = Groups), (status = 422, body = Problem)))]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    Query(wanted): Query<GroupsQuery>,
) -> Result<Json<Groups>, Problem> {
    let after = place(wanted.after.as_deref())?;
    let numbers = wanted.numbers.as_deref().map(numbers).transpose()?;
    let live = service.live.get();
    let (part, left, settled) = service
        .reader
        .call(move |pool| {
            let part = if let Some(numbers) = numbers {
                QueuePart::of(pool.groups_by_number(&live.model, &numbers, MEMBERS)?)
            } else {
                let holder = caller.name.as_deref();
                let count = wanted.count.min(MOST);
                pool.queue(&live.model, &QueueAsked { count, after, members: MEMBERS, holder })?
            };
            Ok((part, pool.groups_left()?, pool.is_refreshed()?))
        })
        .await?;
    Ok(Groups::new(part, left, settled))
}

/// Which groups somebody wants to answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToHandOut {
    /// At most so many groups.
    #[serde(default = "twenty")]
    #[schema(default = 20, maximum = 200)]
    count: usize,
    /// Those behind this place, which came as `next`.
    after: Option<String>,
    /// Where the server asks for no key: what tells those apart who ask.
    sitting: Option<String>,
}

/// Hand groups out to who will answer them
///
/// The order is that of `GET /v1/groups`. From now on they take no sample in and stay as they are until they are answered; for ten minutes
/// others get them last.
#[utoipa::path(
    post,
    path = "/v1/groups/hand-out",
    tag = "labelling",
    request_body = ToHandOut,
    responses((status = 200, body = Groups), (status = "4XX", body = Problem))
)]
pub(crate) async fn hand_out(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(ToHandOut { count, after, sitting }): extract::Json<ToHandOut>,
) -> Result<Json<Groups>, Problem> {
    let after = place(after.as_deref())?;
    let holder = caller.holder(sitting)?;
    let live = service.live.get();
    let (part, left, settled) = service
        .writer
        .call(move |pool| {
            let holder = holder.as_deref();
            let asked = QueueAsked { count: count.min(MOST), after, members: MEMBERS, holder };
            Ok((pool.hand_out_to(&live.model, &asked)?, pool.groups_left()?, pool.is_refreshed()?))
        })
        .await?;
    Ok(Groups::new(part, left, settled))
}

/// A group with all its members
#[utoipa::path(
    get,
    path = "/v1/groups/{number}",
    tag = "labelling",
    params(("number" = i64, Path)),
    responses((status = 200, body = OneGroup), (status = 404, body = Problem))
)]
pub(crate) async fn one(
    State(service): State<Arc<Service>>,
    Path(number): Path<GroupId>,
) -> Result<Json<OneGroup>, Problem> {
    let live = service.live.get();
    let found = service.reader.call(move |pool| pool.groups_by_number(&live.model, &[number], usize::MAX));
    let group = found.await?.pop().ok_or(StoreError::NoGroup { group: number })?;
    Ok(Json(group.into()))
}

/// Where to part a group.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Radius {
    /// Members that are farther from the exemplar leave.
    radius: f64,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// The groups that came of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Parts {
    /// The group itself first, then those that left, the largest first.
    groups: Vec<GroupId>,
    /// The event, which can be undone.
    event: EventId,
}

/// Part a group by a radius
#[utoipa::path(
    post,
    path = "/v1/groups/{number}/split",
    tag = "labelling",
    params(("number" = i64, Path)),
    request_body = Radius,
    responses((status = 200, body = Parts), (status = "4XX", body = Problem))
)]
pub(crate) async fn split(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    Path(number): Path<GroupId>,
    extract::Json(Radius { radius, person }): extract::Json<Radius>,
) -> Result<Json<Parts>, Problem> {
    let person = caller.person(person)?;
    let split = service.writer.call(move |pool| pool.split(&run_here(), number, radius, person.as_deref()));
    let (event, groups) = split.await?;
    Ok(Json(Parts { groups, event }))
}

/// The groups to put together.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Several {
    /// Two or more; the first keeps its number and exemplar.
    groups: Vec<GroupId>,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// The group that came of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Merged {
    group: GroupId,
    /// The event, which can be undone.
    event: EventId,
}

/// Put groups together
#[utoipa::path(
    post,
    path = "/v1/groups/merge",
    tag = "labelling",
    request_body = Several,
    responses((status = 200, body = Merged), (status = "4XX", body = Problem))
)]
pub(crate) async fn merge(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(Several { groups, person }): extract::Json<Several>,
) -> Result<Json<Merged>, Problem> {
    let person = caller.person(person)?;
    if groups.len() < 2 {
        return Err(Problem::unsuitable("name two groups or more"));
    }
    let merge = service.writer.call(move |pool| pool.merge(&run_here(), &groups, person.as_deref()));
    let (event, group) = merge.await?;
    Ok(Json(Merged { group, event }))
}

/// Nothing more to say.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Empty {}

/// Who puts a group off.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutOff {
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// It was put off.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Skipped {
    /// The event, which can be undone.
    event: EventId,
}

/// Put a group off: it comes when all others have
#[utoipa::path(
    post,
    path = "/v1/groups/{number}/skip",
    tag = "labelling",
    params(("number" = i64, Path)),
    request_body = PutOff,
    responses((status = 200, body = Skipped), (status = "4XX", body = Problem))
)]
pub(crate) async fn skip(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    Path(number): Path<GroupId>,
    extract::Json(PutOff { person }): extract::Json<PutOff>,
) -> Result<Json<Skipped>, Problem> {
    let person = caller.person(person)?;
    let event = service.writer.call(move |pool| pool.skip(number, person.as_deref())).await?;
    Ok(Json(Skipped { event }))
}
