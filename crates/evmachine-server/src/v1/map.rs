//! `/v1/map`: what is known and what is not, in two dimensions.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use evmachine::{Evm, Features, Metric};
use evmachine_openworld::Plane;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::Query;
use crate::problem::Problem;
use crate::service::Service;

/// `EVVM`, read as a number.
const MAGIC: u32 = 0x4d56_5645;
/// The class of what has none.
const NONE: u32 = u32::MAX;
/// Rows that the axes are found by.
const FOUND_BY: usize = 5000;

/// How much is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct MapQuery {
    /// At most so many points, the extreme vectors first.
    #[serde(default = "most")]
    #[param(default = 100_000, maximum = 1_000_000)]
    limit: usize,
}

fn most() -> usize {
    100_000
}

/// A vector as the metric sees it: of unit length by cosine.
fn seen(model: &Evm, mut vector: Vec<f32>) -> Vec<f32> {
    if model.params().metric == Metric::Cosine {
        let norm = vector.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 {
            for value in &mut vector {
                *value = (f64::from(*value) / norm) as f32;
            }
        }
    }
    vector
}

/// What is drawn: vectors, classes, and numbers of rows or samples.
#[derive(Default)]
struct Points {
    values: Vec<f32>,
    marks: Vec<(u32, u32)>,
}

impl Points {
    fn push(&mut self, model: &Evm, vector: Vec<f32>, class: u32, number: u64) {
        self.values.extend(seen(model, vector));
        self.marks.push((class, u32::try_from(number).unwrap_or(NONE)));
    }
}

/// Points in the plane of the two principal components of the extreme vectors
///
/// Little endian: the magic number, how many are known, how many unknown, how many classes; then for each x and y as f32, the number
/// of its class or 0xffffffff, and the number of the row that it came from or of the sample.
#[utoipa::path(
    get,
    path = "/v1/map",
    tag = "samples",
    params(MapQuery),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>))
)]
pub(crate) async fn map(
    State(service): State<Arc<Service>>,
    Query(MapQuery { limit }): Query<MapQuery>,
) -> Result<Response, Problem> {
    let live = service.live.get();
    let limit = limit.min(1_000_000);
    let held = live.model.extreme_vector_count();
    // Half of the room for each, and more where the other does not need it.
    let waiting = service.reader.call(|pool| pool.waiting()).await?.1 as usize;
    let known = held.min((limit / 2).max(limit.saturating_sub(waiting)));
    let unknown = limit - known;
    let samples = service
        .reader
        .call(move |pool| {
            let mut samples = Vec::new();
            pool.for_each_unknown(unknown, |number, vector| samples.push((number, vector)))?;
            Ok(samples)
        })
        .await?;
    let bytes = service
        .blocking(move || {
            let model = &live.model;
            let mut points = Points::default();
            let step = held.div_ceil(known.max(1)).max(1);
            for vector in model.extreme_vectors().step_by(step).take(known) {
                let place = model.in_feature_space(vector.vector);
                points.push(model, place, vector.class as u32, vector.source);
            }
            let known = points.marks.len();
            for (number, vector) in samples {
                points.push(model, vector, NONE, number.unsigned_abs());
            }
            draw(model, &points, known)
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

fn draw(model: &Evm, points: &Points, known: usize) -> Result<Vec<u8>, Problem> {
    let features = Features::new(&points.values, model.dimensions())?;
    let by = if known > 1 { known } else { features.rows() };
    let step = by.div_ceil(FOUND_BY).max(1);
    let chosen: Vec<usize> = (0..by).step_by(step).collect();
    let unknown = points.marks.len() - known;
    let header = [MAGIC, known as u32, unknown as u32, model.classes().len() as u32];
    let mut bytes: Vec<u8> = header.iter().flat_map(|number| number.to_le_bytes()).collect();
    if features.rows() == 0 {
        return Ok(bytes);
    }
    let plane = Plane::new(&features.select(&chosen));
    for (row, (class, number)) in points.marks.iter().enumerate() {
        for value in plane.project(features.row(row)) {
            bytes.extend((value as f32).to_le_bytes());
        }
        bytes.extend(class.to_le_bytes());
        bytes.extend(number.to_le_bytes());
    }
    Ok(bytes)
}

/// The classes that the map numbers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Classes {
    classes: Vec<String>,
}

/// The classes, as the map numbers them
#[utoipa::path(get, path = "/v1/map/classes", tag = "samples", responses((status = 200, body = Classes)))]
pub(crate) async fn classes(State(service): State<Arc<Service>>) -> Json<Classes> {
    let live = service.live.get();
    let classes = live.model.classes().map(|class| class.name.to_owned()).collect();
    Json(Classes { classes })
}
