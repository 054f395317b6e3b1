//! `/v1/samples`: what was kept.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use evmachine::finite;
use evmachine_openworld::{Picture, Sample, SampleFilter, SampleId, SampleOrder, State as Answered};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::service::Service;

/// Samples that are given at once at most.
const MOST: usize = 1000;
/// Those that are given unless a number is asked for.
const USUAL: usize = 100;
/// Numbers of samples that are given at once at most.
const MOST_NUMBERS: usize = 100_000;

/// A sample of the pool.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneSample {
    number: SampleId,
    id: Option<String>,
    /// When it came, in seconds since 1970.
    added: i64,
    state: SampleState,
    label: Option<String>,
    /// Whether no person gave that label, but a program by itself.
    proposed: bool,
    quality: Option<f64>,
    occasion: Option<String>,
    /// When it was captured, in seconds from any start.
    time: Option<f64>,
    /// The class; null is unknown.
    class: Option<String>,
    /// The class of the highest support.
    best: String,
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
    /// Where its picture is, if there is one; the address has the hash of it, and never leads to another.
    picture: Option<String>,
    features: Vec<f32>,
}

/// What the answers to a sample come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SampleState {
    Waiting,
    Labelled,
    Ignored,
    Discarded,
}

impl SampleState {
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
            Answered::Waiting => (SampleState::Waiting, None),
            Answered::Labelled { label } => (SampleState::Labelled, Some(label)),
            Answered::Ignored => (SampleState::Ignored, None),
            Answered::Discarded => (SampleState::Discarded, None),
        };
        Self {
            number: sample.number,
            id: sample.id,
            added: sample.added,
            state,
            label,
            proposed: sample.proposed,
            quality: sample.capture.quality,
            occasion: sample.capture.occasion,
            time: sample.capture.time,
            class: sample.class,
            best: sample.best,
            support: sample.support.map(finite),
            psi: sample.psi,
            known: sample.known,
            model: sample.model,
            group: sample.group,
            text: sample.text,
            link: sample.link,
            picture: sample.picture_hash.map(|hash| picture_address(sample.number, &hash)),
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

/// Where a picture is.
pub(crate) fn picture_address(sample: SampleId, hash: &str) -> String {
    format!("/v1/samples/{sample}/picture/{hash}")
}

/// The picture of a sample
#[utoipa::path(
    get,
    path = "/v1/samples/{number}/picture",
    tag = "samples",
    params(("number" = i64, Path)),
    responses(
        (status = 200, content((Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/webp"), (Vec<u8> = "image/gif"))),
        (status = 304, description = "It is the one that the client has"),
        (status = 404, body = Problem)
    )
)]
pub(crate) async fn picture(
    State(service): State<Arc<Service>>,
    Path(number): Path<SampleId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    shown(&service, number, None, &headers).await
}

/// The picture of a sample, by its hash
///
/// The same for ever: it may be kept as long as one likes.
#[utoipa::path(
    get,
    path = "/v1/samples/{number}/picture/{hash}",
    tag = "samples",
    params(("number" = i64, Path), ("hash" = String, Path)),
    responses(
        (status = 200, content((Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/webp"), (Vec<u8> = "image/gif"))),
        (status = 304, description = "It is the one that the client has"),
        (status = 404, body = Problem)
    )
)]
pub(crate) async fn picture_by_hash(
    State(service): State<Arc<Service>>,
    Path((number, hash)): Path<(SampleId, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    shown(&service, number, Some(hash), &headers).await
}

/// The picture, if it has that hash or none is asked for.
async fn shown(
    service: &Service,
    number: SampleId,
    wanted: Option<String>,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let sample = service.reader.call(move |pool| pool.sample(number)).await?;
    let none = || Problem::not_found(format!("sample {number} has no picture"));
    let (picture, hash) = sample.picture.zip(sample.picture_hash).ok_or_else(none)?;
    if wanted.as_ref().is_some_and(|wanted| *wanted != hash) {
        return Err(Problem::not_found(format!("the picture of sample {number} is another one")));
    }
    // Others, which `evmachine pool add` takes, may hold scripts; so may what is not what it is called.
    let kind = Picture::kind_of(&picture.bytes).filter(|kind| *kind == picture.media_type);
    let Some(kind) = kind else {
        return Err(Problem::not_found(format!(
            "the picture of sample {number} is of a kind that is not shown"
        )));
    };
    let cached = if wanted.is_some() { "private, max-age=31536000, immutable" } else { "private, no-cache" };
    let tag = format!("\"{hash}\"");
    let is_known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = is_known
        .is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag));
    let headers: [(HeaderName, HeaderValue); 5] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("inline")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        (header::CACHE_CONTROL, HeaderValue::from_static(cached)),
        (header::ETAG, HeaderValue::from_str(&tag).map_err(|error| Problem::internal(error.to_string()))?),
    ];
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    Ok((headers, picture.bytes).into_response())
}

/// Samples.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Samples {
    samples: Vec<OneSample>,
}

/// Which comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The first that came.
    #[default]
    Came,
    /// The least supported.
    Doubtful,
}

impl From<Order> for SampleOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Came => Self::Came,
            Order::Doubtful => Self::Doubtful,
        }
    }
}

/// Which samples are asked for: those for which all holds that is given.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Those of this state.
    state: Option<SampleState>,
    /// Those that people named so.
    label: Option<String>,
    /// Those whose best class this is, known or not.
    best: Option<String>,
    /// Those that are known, or are not.
    known: Option<bool>,
    /// Those whose id has this in it, in small letters or capitals.
    id: Option<String>,
    /// Those whose text has this in it, in small letters or capitals.
    text: Option<String>,
    /// Those that came at this time or later, in seconds since 1970.
    since: Option<i64>,
    /// Those that came before this time.
    until: Option<i64>,
    /// Those of this support or more.
    least_support: Option<f64>,
    /// Those of this support or less.
    most_support: Option<f64>,
    #[serde(default)]
    #[param(inline)]
    order: Order,
    /// At most so many: 100 unless given, and 1,000 at most; of numbers 100,000.
    count: Option<usize>,
    /// Those behind this one.
    #[serde(default)]
    after: SampleId,
}

impl Which {
    fn filter(&self) -> SampleFilter {
        SampleFilter {
            state: self.state.map(|state| state.name().to_owned()),
            label: self.label.clone(),
            best: self.best.clone(),
            known: self.known,
            id: self.id.clone(),
            text: self.text.clone(),
            since: self.since,
            until: self.until,
            least_support: self.least_support,
            most_support: self.most_support,
        }
    }
}

/// Samples, by what is known of them
#[utoipa::path(
    get,
    path = "/v1/samples",
    tag = "samples",
    params(Which),
    responses((status = 200, body = Samples), (status = 422, body = Problem))
)]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Query(which): Query<Which>,
) -> Result<Json<Samples>, Problem> {
    let count = which.count.unwrap_or(USUAL).min(MOST);
    let found =
        service.reader.call(move |pool| pool.search(&which.filter(), which.order.into(), which.after, count));
    Ok(Json(Samples { samples: found.await?.into_iter().map(OneSample::from).collect() }))
}

/// Numbers of samples.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SampleNumbers {
    samples: Vec<SampleId>,
    /// How many there are in all.
    matching: u64,
}

/// The numbers of samples, by what is known of them
///
/// What an answer to many names; `after` has no meaning here.
#[utoipa::path(
    get,
    path = "/v1/samples/numbers",
    tag = "samples",
    params(Which),
    responses((status = 200, body = SampleNumbers), (status = 422, body = Problem))
)]
pub(crate) async fn numbers(
    State(service): State<Arc<Service>>,
    Query(which): Query<Which>,
) -> Result<Json<SampleNumbers>, Problem> {
    let count = which.count.unwrap_or(MOST_NUMBERS).min(MOST_NUMBERS);
    let found = service.reader.call(move |pool| {
        let filter = which.filter();
        Ok((pool.search_numbers(&filter, which.order.into(), count)?, pool.search_count(&filter)?))
    });
    let (samples, matching) = found.await?;
    Ok(Json(SampleNumbers { samples, matching }))
}
