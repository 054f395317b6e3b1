//! `/v1/groups`: what waits, as a person is shown it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine_openworld::{Group, GroupId, SampleId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{self, Path, Query};
use crate::problem::Problem;
use crate::service::{Service, run_here};

/// Members of a group that come with a list of groups.
const MEMBERS: usize = 200;
/// Groups that are handed out at once at most.
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
    /// Whether there is a picture at `/v1/samples/{sample}/picture`.
    picture: bool,
    /// Distance to the exemplar.
    distance: f64,
    /// The class that it is nearest to.
    class: String,
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
            picture: member.picture,
            distance: member.distance,
            class: member.class,
            known: member.known,
        });
        Self {
            number: group.number,
            exemplar: group.exemplar,
            radius: group.radius,
            size: group.size,
            neighbors: neighbors.collect(),
            members: members.collect(),
        }
    }
}

/// The queue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Groups {
    groups: Vec<OneGroup>,
    /// Groups that wait: the answers after which nothing does.
    labels_left: u64,
}

/// How many groups are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// At most so many groups.
    #[serde(default = "twenty")]
    #[param(default = 20, maximum = 200)]
    count: usize,
}

fn twenty() -> usize {
    20
}

/// The next groups to answer
///
/// Those that were handed out and not answered come first, as they were and where they were; then those with most unknowns; and
/// last those that were put off.
#[utoipa::path(get, path = "/v1/groups", tag = "labelling", params(Wanted), responses((status = 200, body = Groups)))]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Groups>, Problem> {
    let count = wanted.count.min(MOST);
    let (groups, labels_left) = service
        .writer
        .call(move |pool| Ok((pool.hand_out(count, false, MEMBERS)?, pool.groups_left()?)))
        .await?;
    Ok(Json(Groups { groups: groups.into_iter().map(OneGroup::from).collect(), labels_left }))
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
    let group = service.writer.call(move |pool| pool.group(number, usize::MAX)).await?;
    Ok(Json(group.into()))
}

/// Where to part a group.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Radius {
    /// Members that are farther from the exemplar leave.
    radius: f64,
}

/// The groups that came of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Parts {
    /// The group itself first, then those that left, the largest first.
    groups: Vec<GroupId>,
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
    Path(number): Path<GroupId>,
    extract::Json(Radius { radius }): extract::Json<Radius>,
) -> Result<Json<Parts>, Problem> {
    let groups = service.writer.call(move |pool| pool.split(&run_here(), number, radius)).await?;
    Ok(Json(Parts { groups }))
}

/// The groups to put together.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Several {
    /// Two or more; the first keeps its number and exemplar.
    groups: Vec<GroupId>,
}

/// The group that came of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Merged {
    group: GroupId,
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
    extract::Json(Several { groups }): extract::Json<Several>,
) -> Result<Json<Merged>, Problem> {
    if groups.len() < 2 {
        return Err(Problem::unsuitable("name two groups or more"));
    }
    let group = service.writer.call(move |pool| pool.merge(&run_here(), &groups)).await?;
    Ok(Json(Merged { group }))
}

/// Nothing more to say.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Empty {}

/// Put a group off: it comes when all others have
#[utoipa::path(
    post,
    path = "/v1/groups/{number}/skip",
    tag = "labelling",
    params(("number" = i64, Path)),
    request_body = Empty,
    responses((status = 200, body = Empty), (status = 404, body = Problem))
)]
pub(crate) async fn skip(
    State(service): State<Arc<Service>>,
    Path(number): Path<GroupId>,
    extract::Json(Empty {}): extract::Json<Empty>,
) -> Result<Json<Empty>, Problem> {
    service.writer.call(move |pool| pool.skip(number)).await?;
    Ok(Json(Empty {}))
}
