//! Parts of requests, with problems for what cannot be read.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let read = axum::Json::from_request(request, &());
        let axum::Json(content) = tokio::time::timeout(PATIENCE, read).await.map_err(|_| slow())??;
        Ok(Self(content))
    }
}

/// A body as it is.
pub(crate) async fn body(request: Request) -> Result<Bytes, Problem> {
    let read = tokio::time::timeout(PATIENCE, Bytes::from_request(request, &())).await;
    read.map_err(|_| slow())?.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => Problem::bad_request(rejection.body_text()),
    })
}

fn slow() -> Problem {
    Problem::slow(format!("the body was not there after {} seconds", PATIENCE.as_secs()))
}

fn too_large() -> Problem {
    Problem::too_large("the body is larger than the server takes; send fewer rows at once")
}

/// What stands after the question mark.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(crate) struct Query<T>(pub(crate) T);

/// The variable part of an address.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(crate) struct Path<T>(pub(crate) T);

/// The cause, without the sentence that the framework puts before it.
fn cause(text: &str) -> String {
    text.split_once(": ").map_or(text, |(_, cause)| cause).to_owned()
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        let text = rejection.body_text();
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Self::media_type("send JSON, and say so: Content-Type: application/json")
            }
            StatusCode::UNPROCESSABLE_ENTITY => Self::unsuitable(cause(&text)),
            _ => Self::bad_request(cause(&text)),
        }
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::unsuitable(cause(&rejection.body_text()))
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::not_found(cause(&rejection.body_text()))
    }
}
