//! Inference: one tensor of rows in, decisions out.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::metadata::{OUTPUTS, check};
use super::tensor::{Column, Flat, from_bytes, is_numeric};
use crate::extract::{self, Path};
use crate::problem::Problem;
use crate::rows::Matrix;
use crate::service::Service;
use crate::v1::predict::{self, Decisions, Keep};

/// How many bytes of the body are JSON, where binary tensors follow.
const HEADER_LENGTH: HeaderName = HeaderName::from_static("inference-header-content-length");

/// A request of the protocol.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = InferenceRequest)]
pub(crate) struct Request {
    /// Given back.
    id: Option<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    parameters: Parameters,
    inputs: Vec<Input>,
    /// All of them, unless given.
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Debug, Default, Deserialize)]
struct Parameters {
    #[serde(default)]
    binary_data_output: bool,
    /// Which rows go into the pool.
    #[serde(default)]
    keep: Keep,
}

/// The rows.
#[derive(Debug, Deserialize, ToSchema)]
struct Input {
    /// Its name: `features`.
    #[serde(rename = "name")]
    _name: String,
    /// Rows and columns.
    shape: Vec<usize>,
    /// Of numbers.
    datatype: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    parameters: InputParameters,
    /// Numbers, flat or in lists; not where bytes follow.
    #[schema(value_type = Option<Vec<f32>>)]
    data: Option<Flat>,
}

#[derive(Debug, Default, Deserialize)]
struct InputParameters {
    binary_data_size: Option<usize>,
}

/// An output that is wanted.
#[derive(Debug, Deserialize, ToSchema)]
struct Output {
    name: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    parameters: OutputParameters,
}

#[derive(Debug, Default, Deserialize)]
struct OutputParameters {
    binary_data: Option<bool>,
}

/// What was decided.
#[derive(Debug, serde::Serialize, ToSchema)]
pub(crate) struct Inference {
    model_name: String,
    model_version: String,
    id: Option<String>,
    #[schema(value_type = Vec<Object>)]
    outputs: Vec<Value>,
}

/// Decide on the rows of a tensor, and keep those that are unknown
///
/// Outputs are `class` (empty for what is unknown), `known`, `best`, `support` (how far the best class lies above the threshold: known
/// at 0 and above), `p_value` (the share of known queries that score no higher), `p_known` (P(known); both NaN, in JSON
/// null, without calibration), `psi` and `sample` (the number in the pool, or -1).
/// The parameter `keep` of the request says which rows go into the pool: `unknown`, `all` or `none`.
#[utoipa::path(
    post,
    path = "/v2/models/{model}/infer",
    tag = "open inference protocol",
    params(("model" = String, Path)),
    request_body = Request,
    responses((status = 200, body = Inference), (status = "4XX", body = Problem))
)]
pub(crate) async fn infer(
    State(service): State<Arc<Service>>,
    Path(model): Path<String>,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Result<Response, Problem> {
    check(&service, &model, None)?;
    answer(&service, &headers, request).await
}

/// Decide by a version of the model, which must be the live one
#[utoipa::path(
    post,
    path = "/v2/models/{model}/versions/{version}/infer",
    tag = "open inference protocol",
    params(("model" = String, Path), ("version" = String, Path)),
    request_body = Request,
    responses((status = 200, body = Inference), (status = "4XX", body = Problem))
)]
pub(crate) async fn infer_version(
    State(service): State<Arc<Service>>,
    Path((model, version)): Path<(String, String)>,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Result<Response, Problem> {
    check(&service, &model, Some(&version))?;
    answer(&service, &headers, request).await
}

async fn answer(
    service: &Service,
    headers: &HeaderMap,
    request: axum::extract::Request,
) -> Result<Response, Problem> {
    let answered = async {
        let body = extract::body(request).await?;
        let (json, tensors) = split(headers, &body)?;
        let request: Request = serde_json::from_slice(json).map_err(|error| {
            let problem = if error.is_data() { Problem::unsuitable } else { Problem::bad_request };
            problem(error.to_string())
        })?;
        let features = rows(&request, tensors)?;
        let Request { id, parameters, outputs, .. } = request;
        let asked = predict::Request {
            features,
            ids: None,
            texts: None,
            links: None,
            qualities: None,
            occasions: None,
            times: None,
            tracks: None,
            pictures: None,
            keep: parameters.keep,
            encoder: None,
        };
        let decided = predict::decide(service, asked).await?;
        respond(service, id, &decided, &outputs, parameters.binary_data_output)
    };
    // Clients of the protocol look for the reason there.
    answered.await.map_err(|problem: Problem| {
        let detail = problem.detail().to_owned();
        problem.with("error", detail)
    })
}

fn split<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Problem> {
    let Some(length) = headers.get(HEADER_LENGTH) else { return Ok((body, &[])) };
    let length = length.to_str().ok().and_then(|text| text.parse::<usize>().ok());
    match length.and_then(|length| body.split_at_checked(length)) {
        Some(parts) => Ok(parts),
        None => Err(Problem::bad_request(
            "Inference-Header-Content-Length must be the bytes of JSON that the body begins with",
        )),
    }
}

fn rows(request: &Request, tensors: &[u8]) -> Result<Matrix, Problem> {
    let [input] = &request.inputs[..] else {
        let detail = format!("{} inputs; there is one, the rows", request.inputs.len());
        return Err(Problem::unsuitable(detail));
    };
    let &[rows, columns] = &input.shape[..] else {
        return Err(Problem::unsuitable(format!("a shape of {:?}; it is rows and columns", input.shape)));
    };
    let values = match (input.parameters.binary_data_size, &input.data) {
        (Some(size), None) if size == tensors.len() => {
            from_bytes(&input.datatype, tensors).map_err(Problem::unsuitable)?
        }
        (Some(size), None) => {
            let detail = format!("binary_data_size is {size}, and {} bytes follow the JSON", tensors.len());
            return Err(Problem::unsuitable(detail));
        }
        (None, Some(Flat(values))) if is_numeric(&input.datatype) && tensors.is_empty() => values.clone(),
        (None, Some(_)) => {
            return Err(Problem::unsuitable(format!("{} is no datatype of numbers", input.datatype)));
        }
        _ => return Err(Problem::unsuitable("an input has either `data` or `binary_data_size`")),
    };
    if rows.checked_mul(columns) != Some(values.len()) {
        let detail = format!("{} numbers for a shape of {rows} x {columns}", values.len());
        return Err(Problem::unsuitable(detail));
    }
    Ok(Matrix { values, rows, columns })
}

fn column(name: &str, decided: &Decisions) -> Option<Column> {
    let rows = decided.decisions.iter();
    Some(match name {
        "class" => Column::Text(rows.map(|row| row.answer.class.clone().unwrap_or_default()).collect()),
        "known" => Column::Truth(rows.map(|row| row.answer.known).collect()),
        "best" => Column::Text(rows.map(|row| row.answer.best.clone()).collect()),
        "support" => Column::Float(rows.map(|row| row.answer.support as f32).collect()),
        "p_value" => {
            Column::Float(rows.map(|row| row.answer.p_value.map_or(f32::NAN, |it| it as f32)).collect())
        }
        "p_known" => {
            Column::Float(rows.map(|row| row.answer.p_known.map_or(f32::NAN, |it| it as f32)).collect())
        }
        "psi" => Column::Float(rows.map(|row| row.answer.psi as f32).collect()),
        "sample" => Column::Integer(rows.map(|row| row.sample.unwrap_or(-1)).collect()),
        _ => return None,
    })
}

fn respond(
    service: &Service,
    id: Option<String>,
    decided: &Decisions,
    wanted: &[Output],
    binary: bool,
) -> Result<Response, Problem> {
    let wanted: Vec<(&str, bool)> = if wanted.is_empty() {
        OUTPUTS.iter().map(|(name, _)| (*name, binary)).collect()
    } else {
        wanted
            .iter()
            .map(|output| (output.name.as_str(), output.parameters.binary_data.unwrap_or(binary)))
            .collect()
    };
    let (mut outputs, mut tensors) = (Vec::new(), Vec::new());
    for (name, binary) in wanted {
        let found = column(name, decided).zip(OUTPUTS.iter().find(|(output, _)| *output == name));
        let Some((column, (_, datatype))) = found else {
            let names = OUTPUTS.map(|(name, _)| name).join(", ");
            return Err(Problem::unsuitable(format!("there is no output {name:?}; there are {names}")));
        };
        let mut output = Map::new();
        output.insert("name".to_owned(), name.into());
        output.insert("datatype".to_owned(), (*datatype).into());
        output.insert("shape".to_owned(), json!([decided.decisions.len()]));
        if binary {
            let bytes = column.to_bytes();
            output.insert("parameters".to_owned(), json!({ "binary_data_size": bytes.len() }));
            tensors.extend(bytes);
        } else {
            output.insert("data".to_owned(), column.to_json());
        }
        outputs.push(Value::Object(output));
    }
    let mut body = json!({
        "model_name": service.model_name,
        "model_version": decided.model,
        "outputs": outputs,
    });
    if let Some(id) = id {
        body["id"] = id.into();
    }
    if tensors.is_empty() {
        return Ok(axum::Json(body).into_response());
    }
    let mut bytes = body.to_string().into_bytes();
    let headers = [
        (HEADER_LENGTH, HeaderValue::from(bytes.len())),
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
    ];
    bytes.extend(tensors);
    Ok((headers, bytes).into_response())
}
