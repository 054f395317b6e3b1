//! What the server and its model are, and whether they are ready.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::extract::Path;
use crate::problem::Problem;
use crate::service::Service;

/// The input and the outputs, by name and datatype.
pub(crate) const INPUT: &str = "features";
pub(crate) const OUTPUTS: [(&str, &str); 8] = [
    ("class", "BYTES"),
    ("known", "BOOL"),
    ("best", "BYTES"),
    ("support", "FP32"),
    ("p_value", "FP32"),
    ("p_known", "FP32"),
    ("psi", "FP32"),
    ("sample", "INT64"),
];

/// The server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerMetadata {
    name: &'static str,
    version: &'static str,
    extensions: [&'static str; 1],
}

/// The server
#[utoipa::path(get, path = "/v2", tag = "open inference protocol", responses((status = 200, body = ServerMetadata)))]
pub(crate) async fn server() -> Json<ServerMetadata> {
    let (name, version) = ("evmachine", env!("CARGO_PKG_VERSION"));
    Json(ServerMetadata { name, version, extensions: ["binary_tensor_data"] })
}

/// Whether the server lives.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Live {
    live: bool,
}

/// Whether the server lives
#[utoipa::path(get, path = "/v2/health/live", tag = "open inference protocol", security(()), responses((status = 200, body = Live)))]
pub(crate) async fn live() -> Json<Live> {
    Json(Live { live: true })
}

/// Whether it answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ready {
    ready: bool,
}

/// Whether the server answers: the pool is there and can be read
#[utoipa::path(get, path = "/v2/health/ready", tag = "open inference protocol", security(()), responses((status = 200, body = Ready)))]
pub(crate) async fn ready(State(service): State<Arc<Service>>) -> Result<Json<Ready>, Problem> {
    service.reader.call(|pool| pool.is_there().and_then(|()| pool.live_hash())).await?;
    Ok(Json(Ready { ready: true }))
}

/// A tensor that goes in or comes out.
#[derive(Debug, Serialize, ToSchema)]
struct TensorMetadata {
    name: &'static str,
    datatype: &'static str,
    shape: Vec<i64>,
}

/// The model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelMetadata {
    name: String,
    /// The live version.
    versions: Vec<String>,
    platform: &'static str,
    inputs: Vec<TensorMetadata>,
    outputs: Vec<TensorMetadata>,
}

/// Refuses other models, and other versions than the live one.
pub(crate) fn check(service: &Service, model: &str, version: Option<&str>) -> Result<(), Problem> {
    if model != service.model_name {
        let detail = format!("there is no model {model:?} here, but {:?}", service.model_name);
        return Err(Problem::not_found(detail.clone()).with("error", detail));
    }
    let live = service.live.get();
    match version {
        Some(version) if version != live.hash => {
            let detail = format!("version {version:?} does not answer; the live one is {:?}", live.hash);
            Err(Problem::not_found(detail.clone()).with("error", detail))
        }
        _ => Ok(()),
    }
}

fn describe(service: &Service) -> Json<ModelMetadata> {
    let dimensions = i64::try_from(service.dimensions).unwrap_or(i64::MAX);
    Json(ModelMetadata {
        name: service.model_name.clone(),
        versions: vec![service.live.get().hash.clone()],
        platform: "evmachine",
        inputs: vec![TensorMetadata { name: INPUT, datatype: "FP32", shape: vec![-1, dimensions] }],
        outputs: OUTPUTS
            .map(|(name, datatype)| TensorMetadata { name, datatype, shape: vec![-1] })
            .into_iter()
            .collect(),
    })
}

/// The model
#[utoipa::path(
    get,
    path = "/v2/models/{model}",
    tag = "open inference protocol",
    params(("model" = String, Path)),
    responses((status = 200, body = ModelMetadata), (status = 404, body = Problem))
)]
pub(crate) async fn model(
    State(service): State<Arc<Service>>,
    Path(model): Path<String>,
) -> Result<Json<ModelMetadata>, Problem> {
    check(&service, &model, None)?;
    Ok(describe(&service))
}

/// A version of the model
#[utoipa::path(
    get,
    path = "/v2/models/{model}/versions/{version}",
    tag = "open inference protocol",
    params(("model" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = ModelMetadata), (status = 404, body = Problem))
)]
pub(crate) async fn version(
    State(service): State<Arc<Service>>,
    Path((model, version)): Path<(String, String)>,
) -> Result<Json<ModelMetadata>, Problem> {
    check(&service, &model, Some(&version))?;
    Ok(describe(&service))
}

/// Whether the model answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelReady {
    name: String,
    ready: bool,
}

/// Whether the model answers
#[utoipa::path(
    get,
    path = "/v2/models/{model}/ready",
    tag = "open inference protocol",
    params(("model" = String, Path)),
    responses((status = 200, body = ModelReady), (status = 404, body = Problem))
)]
pub(crate) async fn model_ready(
    State(service): State<Arc<Service>>,
    Path(model): Path<String>,
) -> Result<Json<ModelReady>, Problem> {
    check(&service, &model, None)?;
    Ok(Json(ModelReady { name: model, ready: true }))
}

/// Whether a version of the model answers
#[utoipa::path(
    get,
    path = "/v2/models/{model}/versions/{version}/ready",
    tag = "open inference protocol",
    params(("model" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = ModelReady), (status = 404, body = Problem))
)]
pub(crate) async fn version_ready(
    State(service): State<Arc<Service>>,
    Path((model, version)): Path<(String, String)>,
) -> Result<Json<ModelReady>, Problem> {
    check(&service, &model, Some(&version))?;
    Ok(Json(ModelReady { name: model, ready: true }))
}
