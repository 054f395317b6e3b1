//! `/v1/export` and `/v1/backup`: what leaves the server, and what is kept beside it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use evmachine_openworld::{Sample, State as Answered, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{self, Query};
use crate::problem::Problem;
use crate::service::Service;

/// What to export.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum What {
    /// The live model, as a safetensors file.
    #[default]
    Model,
    /// Labelled samples, as a CSV file that can be trained on. Ids and labels that a spreadsheet would take for formulas begin with an
    /// apostrophe.
    Labelled,
}

/// What is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportQuery {
    #[serde(default)]
    #[param(inline)]
    what: What,
}

/// The live model, or the labelled samples
#[utoipa::path(
    get,
    path = "/v1/export",
    tag = "copies",
    params(ExportQuery),
    responses((status = 200, content((Vec<u8> = "application/octet-stream"), (String = "text/csv"))))
)]
pub(crate) async fn export(
    State(service): State<Arc<Service>>,
    Query(ExportQuery { what }): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let live = service.live.get();
    let (bytes, kind, name) = match what {
        What::Model => {
            let model = live.model.clone();
            let bytes = service
                .blocking(move || model.to_bytes().map_err(|error| Problem::internal(error.to_string())))
                .await?;
            (bytes, "application/octet-stream", format!("{}.safetensors", live.hash))
        }
        What::Labelled => {
            let names: Vec<String> = match live.model.feature_names() {
                [] => (0..service.dimensions).map(|column| format!("f{column}")).collect(),
                names => names.to_vec(),
            };
            let mut text =
                line(["sample", "id", "label"].into_iter().chain(names.iter().map(String::as_str)));
            let text = service
                .reader
                .call(move |pool| {
                    pool.for_each_sample::<StoreError>(|sample| {
                        if let Answered::Labelled { label } = &sample.state {
                            text.push_str(&row(&sample, label));
                        }
                        Ok(())
                    })?;
                    Ok(text)
                })
                .await?;
            (text.into_bytes(), "text/csv; charset=utf-8", "labelled.csv".to_owned())
        }
    };
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, bytes).into_response())
}

fn row(sample: &Sample, label: &str) -> String {
    let own = [sample.number.to_string(), inert(sample.id.as_deref().unwrap_or_default()), inert(label)];
    let values = sample.features.iter().map(f32::to_string);
    let fields: Vec<String> = own.into_iter().chain(values).collect();
    line(fields.iter().map(String::as_str))
}

/// Text that no spreadsheet takes for a formula: one that begins as a formula does has an apostrophe before it, unless it is a number.
fn inert(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

/// A line of CSV; fields are quoted where they must be.
fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = fields
        .map(|field| {
            if field.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", field.replace('"', "\"\""))
            } else {
                field.to_owned()
            }
        })
        .collect();
    quoted.join(",") + "\n"
}

/// Which backup.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backup {
    /// Letters, digits, `-` and `_`, at most 64.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    name: String,
}

/// Copy the pool into the folder for backups, while it is used
#[utoipa::path(
    post,
    path = "/v1/backup",
    tag = "copies",
    request_body = Backup,
    responses((status = 200, body = Backup), (status = "4XX", body = Problem))
)]
pub(crate) async fn backup(
    State(service): State<Arc<Service>>,
    extract::Json(Backup { name }): extract::Json<Backup>,
) -> Result<Json<Backup>, Problem> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
        let detail = "a backup is named by letters, digits, - and _, at most 64 of them";
        return Err(Problem::unsuitable(detail));
    }
    let Some(folder) = &service.backups else {
        return Err(Problem::conflict("the server was started without a folder for backups; see --backups"));
    };
    let path = folder.join(&name);
    let made = service.reader.call(move |pool| match pool.backup(&path) {
        Err(StoreError::Exists { .. }) => Ok(false),
        other => other.map(|()| true),
    });
    if made.await? {
        Ok(Json(Backup { name }))
    } else {
        Err(Problem::conflict("there is a backup of that name"))
    }
}

#[cfg(test)]
mod tests {
    use super::{inert, line};

    #[test]
    fn formulas_are_text() {
        assert_eq!(inert("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(inert("@SUM(A1)"), "'@SUM(A1)");
        for text in ["-1", "+2.5", "cat", "", "a=b"] {
            assert_eq!(inert(text), text);
        }
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(line(["a", "b,c", "d\"e", ""].into_iter()), "a,\"b,c\",\"d\"\"e\",\n");
    }
}
