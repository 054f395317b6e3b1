//! `/v1/samples`: what was kept.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use evmachine_openworld::{Sample, SampleId, State as Answered};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::bounded::bounded;
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::service::Service;
use crate::v1::predict::PICTURES;

/// Samples that are given at once at most.
const MOST: usize = 1000;

/// A sample of the pool.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneSample {
    number: SampleId,
    id: Option<String>,
    /// When it came, in seconds since 1970.
    added: i64,
    state: Wanted,
    label: Option<String>,
    /// The class that it is nearest to.
    class: String,
    /// How far that class lies above the threshold: known at 0 and above. Null where it was decided by an earlier program.
    support: Option<f64>,
    /// Psi of that class, the paper's probability.
    psi: f64,
    known: bool,
    /// The version that decided.
    model: String,
    group: i64,
    text: Option<String>,
    link: Option<String>,
    /// Whether there is a picture at `/v1/samples/{number}/picture`.
    picture: bool,
    features: Vec<f32>,
}

/// What the answers to a sample come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wanted {
    Waiting,
    Labelled,
    Ignored,
    Discarded,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Labelled => "labelled",
            Self::Ignored => "ignored",
            Self::Discarded => "discarded",
        }
    }
}

impl From<Sample> for OneSample {
    fn from(sample: Sample) -> Self {
        let (state, label) = match sample.state {
            Answered::Waiting => (Wanted::Waiting, None),
            Answered::Labelled { label } => (Wanted::Labelled, Some(label)),
            Answered::Ignored => (Wanted::Ignored, None),
            Answered::Discarded => (Wanted::Discarded, None),
        };
        Self {
            number: sample.number,
            id: sample.id,
            added: sample.added,
            state,
            label,
            class: sample.class,
            support: sample.support.map(bounded),
            psi: sample.psi,
            known: sample.known,
            model: sample.model,
            group: sample.group,
            text: sample.text,
            link: sample.link,
            picture: sample.picture.is_some(),
            features: sample.features,
        }
    }
}

/// A sample with all that is known of it
#[utoipa::path(
    get,
    path = "/v1/samples/{number}",
    tag = "samples",
    params(("number" = i64, Path)),
    responses((status = 200, body = OneSample), (status = 404, body = Problem))
)]
pub(crate) async fn one(
    State(service): State<Arc<Service>>,
    Path(number): Path<SampleId>,
) -> Result<Json<OneSample>, Problem> {
    let sample = service.reader.call(move |pool| pool.sample(number)).await?;
    Ok(Json(sample.into()))
}

/// The picture of a sample
#[utoipa::path(
    get,
    path = "/v1/samples/{number}/picture",
    tag = "samples",
    params(("number" = i64, Path)),
    responses(
        (status = 200, content((Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/webp"), (Vec<u8> = "image/gif"))),
        (status = 404, body = Problem)
    )
)]
pub(crate) async fn picture(
    State(service): State<Arc<Service>>,
    Path(number): Path<SampleId>,
) -> Result<Response, Problem> {
    let sample = service.reader.call(move |pool| pool.sample(number)).await?;
    let picture =
        sample.picture.ok_or_else(|| Problem::not_found(format!("sample {number} has no picture")))?;
    // Others, which `evmachine pool add` takes, may hold scripts.
    let Some(kind) = PICTURES.into_iter().find(|kind| *kind == picture.media_type) else {
        return Err(Problem::not_found(format!(
            "the picture of sample {number} is of a kind that is not shown"
        )));
    };
    let headers: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("inline")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=31536000, immutable")),
    ];
    Ok((headers, picture.bytes).into_response())
}

/// Samples, in the order in which they came.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Samples {
    samples: Vec<OneSample>,
}

/// Which samples are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Those of this state.
    state: Option<Wanted>,
    /// At most so many.
    #[serde(default = "hundred")]
    #[param(default = 100, maximum = 1000)]
    count: usize,
    /// Those behind this one.
    #[serde(default)]
    after: SampleId,
}

fn hundred() -> usize {
    100
}

/// Samples, in the order in which they came
#[utoipa::path(get, path = "/v1/samples", tag = "samples", params(Which), responses((status = 200, body = Samples)))]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Query(Which { state, count, after }): Query<Which>,
) -> Result<Json<Samples>, Problem> {
    let samples = service
        .reader
        .call(move |pool| pool.samples(state.map(Wanted::name), after, count.min(MOST)))
        .await?;
    Ok(Json(Samples { samples: samples.into_iter().map(OneSample::from).collect() }))
}
