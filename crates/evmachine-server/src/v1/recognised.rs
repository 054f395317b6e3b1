//! `/v1/recognised`: what waits although the live version knows it, class by class, to be accepted or gone through.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine::finite;
use evmachine_openworld::{Recognised, SampleFilter, SampleId, SampleOrder};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::Query;
use crate::problem::Problem;
use crate::service::Service;
use crate::v1::samples::OneSample;

/// Samples that come with a class.
const SHOWN: usize = 200;
/// Samples of a class that are named at once.
const NAMED: usize = 100_000;

/// A class that waiting samples are recognised as.
#[derive(Debug, Serialize, ToSchema)]
struct RecognisedClass {
    class: String,
    /// How many samples these are.
    samples: u64,
    /// The support of the most doubtful of them.
    least_support: Option<f64>,
}

impl From<Recognised> for RecognisedClass {
    fn from(found: Recognised) -> Self {
        let least_support = found.least_support.map(finite);
        Self { class: found.class, samples: found.samples, least_support }
    }
}

/// Classes that waiting samples are recognised as.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecognisedClasses {
    /// The one with most samples first.
    classes: Vec<RecognisedClass>,
    /// Whether what waits was decided by the live version; for a while after it changed it was not.
    settled: bool,
}

/// What waits and is known, by class
#[utoipa::path(get, path = "/v1/recognised", tag = "labelling", responses((status = 200, body = RecognisedClasses)))]
pub(crate) async fn classes(State(service): State<Arc<Service>>) -> Result<Json<RecognisedClasses>, Problem> {
    let found = service.reader.call(|pool| Ok((pool.recognised()?, pool.is_refreshed()?))).await?;
    let classes = found.0.into_iter().map(RecognisedClass::from).collect();
    Ok(Json(RecognisedClasses { classes, settled: found.1 }))
}

/// Waiting samples that are recognised as one class.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecognisedSamples {
    /// The first of them, the most doubtful first.
    shown: Vec<OneSample>,
    /// The numbers of all of them, in that order: what an answer names.
    samples: Vec<SampleId>,
}

/// Which class is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassQuery {
    /// The class.
    class: String,
}

/// The waiting samples that are recognised as a class, the most doubtful first
///
/// `POST /v1/labels` with their numbers accepts them.
#[utoipa::path(
    get,
    path = "/v1/recognised/samples",
    tag = "labelling",
    params(ClassQuery),
    responses((status = 200, body = RecognisedSamples), (status = 422, body = Problem))
)]
pub(crate) async fn samples(
    State(service): State<Arc<Service>>,
    Query(ClassQuery { class }): Query<ClassQuery>,
) -> Result<Json<RecognisedSamples>, Problem> {
    let filter = SampleFilter {
        state: Some("waiting".to_owned()),
        best: Some(class),
        known: Some(true),
        ..SampleFilter::default()
    };
    let found = service.reader.call(move |pool| {
        let order = SampleOrder::Doubtful;
        Ok((pool.search(&filter, order, 0, SHOWN)?, pool.search_numbers(&filter, order, NAMED)?))
    });
    let (shown, samples) = found.await?;
    Ok(Json(RecognisedSamples { shown: shown.into_iter().map(OneSample::from).collect(), samples }))
}
