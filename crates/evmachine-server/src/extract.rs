//! Parts of requests, with problems for what cannot be read.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts};
use axum::http::StatusCode;

use crate::problem::Problem;

/// A JSON body.
#[derive(FromRequest)]
#[from_request(via(axum::Json), rejection(Problem))]
pub(crate) struct Json<T>(pub(crate) T);

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
            StatusCode::PAYLOAD_TOO_LARGE => Self::too_large("the body is larger than the server takes"),
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
