//! `/v1/enrolment`: what samples must be before they found or extend a class.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine::{EnrolmentRule, HeldBack};
use evmachine_openworld::SampleId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;
use crate::problem::Problem;
use crate::service::{Service, run_here};

/// The rule, and what it holds back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Enrolment {
    #[schema(value_type = Rule)]
    rule: EnrolmentRule,
    /// Labelled samples that an update would not learn now, each with `sample`, `class`, `reason` and the numbers of the reason.
    #[schema(value_type = Vec<Object>)]
    held_back: Vec<HeldBack<SampleId>>,
}

/// What samples must be before they found or extend a class. What is not named is not asked for.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Rule {
    /// Rows of less quality, or of none that is known, are neither taken in nor learned.
    least_quality: Option<f64>,
    /// Samples of a name before it may become a class.
    least_samples: usize,
    /// Separate occasions that they come from, before it may become a class.
    least_occasions: usize,
    /// Occasions are told apart by gaps in time of more seconds than this, and not by name.
    occasion_gap: Option<f64>,
    /// How far an update may move a class that is there, in widths of classes.
    most_moved: Option<f64>,
    /// Whether samples that a program named by itself wait for a person.
    quarantine: bool,
}

impl From<Rule> for EnrolmentRule {
    fn from(rule: Rule) -> Self {
        let Rule { least_quality, least_samples, least_occasions, occasion_gap, most_moved, quarantine } =
            rule;
        Self { least_quality, least_samples, least_occasions, occasion_gap, most_moved, quarantine }
    }
}

/// What samples must be before they are learned, and which labelled samples are held back now
#[utoipa::path(
    get,
    path = "/v1/enrolment",
    tag = "versions",
    responses((status = 200, body = Enrolment), (status = "4XX", body = Problem))
)]
pub(crate) async fn show(State(service): State<Arc<Service>>) -> Result<Json<Enrolment>, Problem> {
    let found = service.reader.call(|pool| Ok((pool.enrolment()?, pool.held_back(&run_here())?)));
    let (rule, held_back) = found.await?;
    Ok(Json(Enrolment { rule, held_back }))
}

/// Set what samples must be before they are learned
///
/// The body is the whole rule: an empty object asks for nothing. What was learned before stays.
#[utoipa::path(
    put,
    path = "/v1/enrolment",
    tag = "versions",
    request_body = Rule,
    responses((status = 200, body = Enrolment), (status = "4XX", body = Problem))
)]
pub(crate) async fn set(
    State(service): State<Arc<Service>>,
    extract::Json(rule): extract::Json<Rule>,
) -> Result<Json<Enrolment>, Problem> {
    let rule = EnrolmentRule::from(rule);
    let set = service.writer.call(move |pool| {
        pool.set_enrolment(&rule)?;
        Ok((pool.enrolment()?, pool.held_back(&run_here())?))
    });
    let (rule, held_back) = set.await?;
    Ok(Json(Enrolment { rule, held_back }))
}
