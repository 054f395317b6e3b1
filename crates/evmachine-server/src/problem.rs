//! What goes wrong, as RFC 9457 says it.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use evmachine::{EditError, EnrolmentError, FitError, PoolError, RunError};
use evmachine_openworld::StoreError;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A request that was not done.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Which problem it is, for programs.
    #[serde(rename = "type")]
    #[schema(rename = "type", value_type = String)]
    kind: &'static str,
    /// The same in a few words.
    #[schema(value_type = String)]
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened this time, and what to do.
    detail: String,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    fields: Map<String, Value>,
}

/// A kind of problem: its status, its name for programs and its title.
macro_rules! kinds {
    ($($name:ident: $status:ident, $kind:literal, $title:literal;)*) => {
        impl Problem {
            $(pub(crate) fn $name(detail: impl Into<String>) -> Self {
                Self::new(StatusCode::$status, concat!("urn:evmachine:", $kind), $title, detail.into())
            })*
        }
    };
}

kinds! {
    bad_request: BAD_REQUEST, "bad-request", "The request cannot be read";
    no_key: UNAUTHORIZED, "no-key", "A key is needed";
    forbidden: FORBIDDEN, "forbidden", "That is not allowed";
    not_found: NOT_FOUND, "not-found", "There is no such thing";
    no_method: METHOD_NOT_ALLOWED, "no-method", "That method is not for this address";
    slow: REQUEST_TIMEOUT, "slow", "The request took too long to arrive";
    conflict: CONFLICT, "conflict", "It does not fit how things stand";
    too_large: PAYLOAD_TOO_LARGE, "too-large", "The request is too large";
    media_type: UNSUPPORTED_MEDIA_TYPE, "media-type", "That kind of content is not taken here";
    unsuitable: UNPROCESSABLE_ENTITY, "unsuitable", "The content makes no sense";
    too_many: TOO_MANY_REQUESTS, "too-many", "Too many requests";
    internal: INTERNAL_SERVER_ERROR, "internal", "The server could not do it";
    unavailable: SERVICE_UNAVAILABLE, "unavailable", "The server cannot do it now";
    full: INSUFFICIENT_STORAGE, "full", "The disk is full";
}

impl Problem {
    fn new(status: StatusCode, kind: &'static str, title: &'static str, detail: String) -> Self {
        Self { kind, title, status: status.as_u16(), detail, fields: Map::new() }
    }

    /// Adds a field for programs.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Device(error) => Self::unavailable(error.to_string()),
            RunError::Features(error) => error.into(),
            RunError::Stopped => Self::unavailable("it was stopped before its end; try again"),
            RunError::Panicked { .. } => {
                tracing::error!("{error}");
                Self::internal(
                    "the work failed in a way that nobody foresaw; the log of the server says more",
                )
            }
            // Paths of the server are no business of clients.
            RunError::Disk { .. } => {
                tracing::error!("{error}");
                Self::full("make room on the disk that the log of the server names, and try again")
            }
            error => Self::unsuitable(error.to_string()),
        }
    }
}

/// People count rows from 1, and so do the readers of files.
impl From<evmachine::FeatureError> for Problem {
    fn from(error: evmachine::FeatureError) -> Self {
        Self::unsuitable(error.map_row(|row| row + 1).to_string())
    }
}

/// The words for who asks over HTTP, where the pool has those of its own commands.
fn detail(error: &StoreError) -> String {
    use StoreError as Error;
    match error {
        Error::NoGroup { group } => {
            format!(
                "no group {group} waits for an answer any more: it was answered, parted or merged meanwhile"
            )
        }
        Error::AlreadyLearned { sample } => {
            format!("sample {sample} was learned by the live version; go back to a version before it first")
        }
        Error::NotTheLast { event, kind } => format!(
            "event {event} ({kind}) is not the last that changed the live version; make the version live that you want"
        ),
        Error::NoVersion { name } => format!("there is no version {name:?}; GET /v1/versions lists them"),
        other => other.to_string(),
    }
}

/// The same error, with rows from 1.
fn from_one(error: StoreError) -> StoreError {
    use StoreError as Error;
    match error {
        Error::DuplicateId { row, id, sample } => Error::DuplicateId { row: row + 1, id, sample },
        Error::RepeatedId { row, id } => Error::RepeatedId { row: row + 1, id },
        Error::LargePicture { row, bytes, limit } => Error::LargePicture { row: row + 1, bytes, limit },
        Error::Features(error) => Error::Features(error.map_row(|row| row + 1)),
        Error::Enrolment(EnrolmentError::Capture { row, field, value }) => {
            Error::Enrolment(EnrolmentError::Capture { row: row + 1, field, value })
        }
        other => other,
    }
}

/// What ended work on the pool before it had a result, whichever work it was.
fn ended_early(error: &StoreError) -> Option<&RunError> {
    match error {
        StoreError::Fit(FitError::Run(run))
        | StoreError::Pool(PoolError::Run(run))
        | StoreError::Edit(EditError::Run(run))
        | StoreError::Predict(run) => Some(run),
        _ => None,
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        use StoreError as Error;
        if let Some(run) = ended_early(&error) {
            return run.clone().into();
        }
        let error = from_one(error);
        let detail = detail(&error);
        match error {
            Error::AnsweredAlready { answered, .. } => {
                let answered = serde_json::to_value(answered).unwrap_or_default();
                Self::conflict(detail).with("answered", answered)
            }
            Error::Slip(slip) => {
                let advice = "name that class, or send \"new_class\": true if it is to be one";
                Self::conflict(format!("{detail} {advice}")).with("known", slip.known)
            }
            Error::HeldBack { held } => {
                Self::conflict(detail).with("held_back", serde_json::to_value(held).unwrap_or_default())
            }
            Error::NoSample { .. }
            | Error::NoGroup { .. }
            | Error::NoEvent { .. }
            | Error::NoVersion { .. } => Self::not_found(detail),
            Error::AlreadyUndone { .. }
            | Error::AlreadyLearned { .. }
            | Error::NotTheLast { .. }
            | Error::RearrangedSince { .. }
            | Error::NothingToUndo
            | Error::AlreadyLive { .. }
            | Error::NoPrevious
            | Error::NothingToLearn
            | Error::ChangedMeanwhile
            | Error::NotAnswered { .. }
            | Error::OwnAnswer { .. }
            | Error::NotLearnedYet { .. }
            | Error::DuplicateId { .. } => Self::conflict(detail),
            Error::NoSamples
            | Error::NotInGroup { .. }
            | Error::NoParting { .. }
            | Error::AmbiguousVersion { .. }
            | Error::RepeatedId { .. }
            | Error::DetailCount { .. }
            | Error::DecisionCount { .. }
            | Error::LargePicture { .. }
            | Error::NoteText { .. }
            | Error::EmptyName
            | Error::Enrolment(_)
            | Error::ClassName(_)
            | Error::Features(_)
            | Error::Pool(_)
            | Error::Fit(_)
            | Error::Edit(_)
            | Error::Names(_)
            | Error::Predict(_) => Self::unsuitable(detail),
            Error::Ended => Self::unavailable("the server is shutting down"),
            Error::Gone { .. } => {
                tracing::error!("{detail}");
                Self::unavailable("the pool was removed or replaced while it was served; nothing was kept")
            }
            Error::Busy { .. } => Self::unavailable("another process writes to the pool; try again"),
            // Paths of the server are no business of clients; its own log has them.
            other => {
                tracing::error!("{detail}");
                if other.is_full_disk() {
                    Self::full("nothing was changed; make room on the disk of the pool and try again")
                } else {
                    Self::internal("nothing was changed; the log of the server says more")
                }
            }
        }
    }
}
