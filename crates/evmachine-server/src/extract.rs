//! Parts of requests, with problems for what cannot be read.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::RequestExt as _;
use axum::body::{Bytes, HttpBody as _};
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use crate::problem::Problem;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long nothing of it may come.
const PAUSE: Duration = Duration::from_secs(10);
/// Bytes for which there is room before any came, whatever the client says of its length.
const FIRST: u64 = 1 << 20;

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind =
            kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")) {
            return Err(Problem::media_type("send JSON, and say so: Content-Type: application/json"));
        }
        let axum::Json(content) = axum::Json::from_bytes(&body(request).await?)?;
        Ok(Self(content))
    }
}

/// A body as it is.
pub(crate) async fn body(request: Request) -> Result<Bytes, Problem> {
    let mut body = request.with_limited_body().into_body();
    let end = Instant::now() + PATIENCE;
    let mut content = Vec::with_capacity(body.size_hint().lower().min(FIRST) as usize);
    loop {
        let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let by = end.min(Instant::now() + PAUSE);
        let Some(frame) = timeout_at(by, frame).await.map_err(|_| slow())? else { break };
        let frame = frame.map_err(|error| {
            let words = error.to_string();
            if words.contains("length limit") { too_large() } else { Problem::bad_request(words) }
        })?;
        if let Ok(data) = frame.into_data() {
            content.extend_from_slice(&data);
        }
    }
    Ok(content.into())
}

fn slow() -> Problem {
    let (pause, whole) = (PAUSE.as_secs(), PATIENCE.as_secs());
    Problem::slow(format!("nothing of the body came for {pause} seconds, or not all of it in {whole}"))
}

pub(crate) fn too_large() -> Problem {
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
