//! `/v1/opinions` and `/v1/disagreements`: second opinions, asked for, given and compared.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine_openworld::{Agreement, Disagreement, EventId, Opinion, Sample, SampleId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::guard::Caller;
use crate::problem::Problem;
use crate::service::Service;
use crate::v1::samples::{OneSample, picture_address};

/// Samples that are given at once.
const MOST: usize = 200;

/// Samples on which somebody wants a second opinion.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToAsk {
    /// Samples that were answered.
    samples: Vec<SampleId>,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// What was noted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NotedOpinion {
    /// The event, which can be undone.
    event: EventId,
}

/// Ask for a second opinion on samples that were answered
#[utoipa::path(
    post,
    path = "/v1/opinions/ask",
    tag = "opinions",
    request_body = ToAsk,
    responses((status = 200, body = NotedOpinion), (status = "4XX", body = Problem))
)]
pub(crate) async fn ask(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(ToAsk { samples, person }): extract::Json<ToAsk>,
) -> Result<Json<NotedOpinion>, Problem> {
    let person = caller.person(person)?;
    let event = service.writer.call(move |pool| pool.ask_opinion(&samples, person.as_deref())).await?;
    Ok(Json(NotedOpinion { event }))
}

/// A sample without anything that was said of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnjudgedSample {
    number: SampleId,
    id: Option<String>,
    text: Option<String>,
    link: Option<String>,
    /// Where its picture is, if there is one.
    picture: Option<String>,
    features: Vec<f32>,
}

impl From<Sample> for UnjudgedSample {
    fn from(sample: Sample) -> Self {
        Self {
            number: sample.number,
            id: sample.id,
            text: sample.text,
            link: sample.link,
            picture: sample.picture_hash.map(|hash| picture_address(sample.number, &hash)),
            features: sample.features,
        }
    }
}

/// Samples that wait for a second opinion.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpinionsWanted {
    /// The first asked for first; without what was said of them.
    samples: Vec<UnjudgedSample>,
}

/// Samples that wait for a second opinion, but for those that the caller has answered
#[utoipa::path(get, path = "/v1/opinions", tag = "opinions", responses((status = 200, body = OpinionsWanted)))]
pub(crate) async fn wanted(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<OpinionsWanted>, Problem> {
    let found = service.reader.call(move |pool| pool.opinions_wanted(caller.name.as_deref(), MOST)).await?;
    Ok(Json(OpinionsWanted { samples: found.into_iter().map(UnjudgedSample::from).collect() }))
}

/// A second opinion.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewOpinion {
    /// Samples that were answered, by somebody else.
    samples: Vec<SampleId>,
    /// The class; null where they are of none.
    label: Option<String>,
    /// Whether it may be one that is not there yet and whose name is close to that of another.
    #[serde(default)]
    new_class: bool,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// Give a second opinion; the samples stay as they were answered
#[utoipa::path(
    post,
    path = "/v1/opinions",
    tag = "opinions",
    request_body = NewOpinion,
    responses((status = 200, body = NotedOpinion), (status = "4XX", body = Problem))
)]
pub(crate) async fn give(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(NewOpinion { samples, label, new_class, person }): extract::Json<NewOpinion>,
) -> Result<Json<NotedOpinion>, Problem> {
    let person = caller.person(person)?;
    let event = service
        .writer
        .call(move |pool| {
            if let Some(label) = &label {
                pool.check_label(label, new_class)?;
            }
            let opinion = label.as_deref().map_or(Opinion::Stranger, Opinion::Class);
            pool.give_opinion(&samples, opinion, person.as_deref())
        })
        .await?;
    Ok(Json(NotedOpinion { event }))
}

/// A sample that two people see differently.
#[derive(Debug, Serialize, ToSchema)]
struct OneDisagreement {
    /// With the answer that is in force.
    sample: OneSample,
    /// Who gave that answer.
    answered_by: Option<String>,
    /// The class of the second opinion; null is a stranger.
    opinion: Option<String>,
    /// Who has it.
    person: Option<String>,
    /// The event of the opinion.
    event: EventId,
}

impl From<Disagreement> for OneDisagreement {
    fn from(found: Disagreement) -> Self {
        let Disagreement { sample, answered_by, opinion, person, event, .. } = found;
        Self { sample: sample.into(), answered_by, opinion, person, event }
    }
}

/// How often second opinions were the same, for answers of one class.
#[derive(Debug, Serialize, ToSchema)]
struct OneAgreement {
    /// Null are strangers.
    class: Option<String>,
    opinions: u64,
    agreed: u64,
}

impl From<Agreement> for OneAgreement {
    fn from(found: Agreement) -> Self {
        Self { class: found.class, opinions: found.opinions, agreed: found.agreed }
    }
}

/// Where people differ.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Disagreements {
    /// The oldest first.
    disagreements: Vec<OneDisagreement>,
    /// By class, how often they do not.
    agreement: Vec<OneAgreement>,
}

/// Samples whose second opinion is another than their answer, and agreement by class
///
/// An answer with `"replace": true` settles one, and so does an opinion that is the same as the answer.
#[utoipa::path(get, path = "/v1/disagreements", tag = "opinions", responses((status = 200, body = Disagreements)))]
pub(crate) async fn disagreements(
    State(service): State<Arc<Service>>,
) -> Result<Json<Disagreements>, Problem> {
    let found = service.reader.call(|pool| Ok((pool.disagreements(MOST)?, pool.agreement()?))).await?;
    Ok(Json(Disagreements {
        disagreements: found.0.into_iter().map(OneDisagreement::from).collect(),
        agreement: found.1.into_iter().map(OneAgreement::from).collect(),
    }))
}
