//! The one error map: from what a use case says to a status and a body.

use std::any::Any;
use std::io::ErrorKind;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::Thing;
use holdfast_domain::Violations;
use serde_json::{Value, json};

#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    body: Value,
    retry_after: Option<u64>,
}

impl ApiError {
    fn new(status: StatusCode, body: Value) -> Self {
        Self { status, body, retry_after: None }
    }

    /// `{"message": …}`, the form of most errors.
    pub fn message(status: StatusCode, message: impl Into<Value>) -> Self {
        Self::new(status, json!({ "message": message.into() }))
    }

    /// `{"error": …}`, the form of errors in parameters and routes.
    pub fn error(status: StatusCode, error: impl Into<Value>) -> Self {
        Self::new(status, json!({ "error": error.into() }))
    }

    pub fn no_route() -> Self {
        Self::error(StatusCode::NOT_FOUND, "404 Not Found")
    }

    pub fn too_large() -> Self {
        Self::message(StatusCode::PAYLOAD_TOO_LARGE, "413 Request Entity Too Large")
    }

    pub fn timed_out() -> Self {
        Self::message(StatusCode::SERVICE_UNAVAILABLE, "503 The request took too long and was given up")
    }

    pub fn body_timed_out() -> Self {
        Self::message(StatusCode::REQUEST_TIMEOUT, "408 The body of the request did not arrive in time")
    }

    pub fn at_least_one(names: &[&str]) -> Self {
        let names = names.join(", ");
        Self::error(StatusCode::BAD_REQUEST, format!("{names} are missing, at least one parameter must be provided"))
    }

    /// For forks, whose attributes are those of another project: what is wrong with them is a conflict.
    pub fn or_conflict(self) -> Self {
        match self.status {
            StatusCode::BAD_REQUEST => Self { status: StatusCode::CONFLICT, ..self },
            _ => self,
        }
    }

    /// For the row of the specification that answers 405 where others answer 400.
    pub fn or_not_allowed(self) -> Self {
        match self.status {
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT => Self { status: StatusCode::METHOD_NOT_ALLOWED, ..self },
            _ => self,
        }
    }

    /// For rows of the specification that answer 404 whatever went wrong; other failures stay what they are.
    pub fn or_not_found(self) -> Self {
        match self.status {
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT => Self { status: StatusCode::NOT_FOUND, ..self },
            _ => self,
        }
    }
}

pub fn project_limit(limit: i32) -> String {
    match limit {
        0 => "Personal project creation is not allowed. Please contact your administrator with questions".into(),
        limit => {
            format!("Your project limit is {limit} projects! Please contact your administrator to increase it")
        }
    }
}

fn fields(violations: &Violations) -> Value {
    violations
        .iter()
        .map(|(field, messages)| (field.to_owned(), json!(messages)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

impl From<holdfast_app::Error> for ApiError {
    fn from(error: holdfast_app::Error) -> Self {
        use holdfast_app::Error;
        match error {
            Error::Unauthenticated => Self::message(StatusCode::UNAUTHORIZED, "401 Unauthorized"),
            Error::InsufficientScope { needed } => Self::new(
                StatusCode::FORBIDDEN,
                json!({
                    "error": "insufficient_scope",
                    "error_description": "The request requires higher privileges than provided by the access token.",
                    "scope": needed,
                }),
            ),
            Error::Forbidden(None) => Self::message(StatusCode::FORBIDDEN, "403 Forbidden"),
            // Two spaces, as existing clients know it.
            Error::Forbidden(Some(reason)) => {
                Self::message(StatusCode::FORBIDDEN, format!("403 Forbidden  - {reason}"))
            }
            Error::NotFound(Thing::Record) => Self::message(StatusCode::NOT_FOUND, "404 Not found"),
            Error::NotFound(Thing::Named(text)) => Self::message(StatusCode::NOT_FOUND, text),
            Error::NotFound(thing) => Self::message(StatusCode::NOT_FOUND, format!("404 {thing} Not Found")),
            Error::Invalid(violations) => Self::message(StatusCode::BAD_REQUEST, fields(&violations)),
            Error::Unprocessable(text) => Self::message(StatusCode::UNPROCESSABLE_ENTITY, text),
            Error::Conflict(text) => Self::message(StatusCode::CONFLICT, text),
            cleaned_up @ Error::CleanedUp => Self::message(StatusCode::CONFLICT, cleaned_up.to_string()),
            Error::Refused(text) => Self::message(StatusCode::BAD_REQUEST, text),
            Error::RefusedWith(text) => Self::message(StatusCode::BAD_REQUEST, json!({ "error": text })),
            // A list, as existing clients know it.
            Error::ProjectLimit(limit) => Self::error(StatusCode::FORBIDDEN, vec![project_limit(limit)]),
            Error::InvalidHookUrl => Self::error(StatusCode::UNPROCESSABLE_ENTITY, "Invalid url given"),
            Error::ObjectStore(cause) => {
                tracing::error!(%cause, "the object store is not available");
                Self {
                    retry_after: Some(5),
                    ..Self::message(StatusCode::SERVICE_UNAVAILABLE, "503 Service Unavailable")
                }
            }
            Error::Git(holdfast_git::Error::Protocol(text)) => Self::message(StatusCode::BAD_REQUEST, text),
            // What the connection makes of a client that goes away or stops in the middle of its request.
            Error::Git(holdfast_git::Error::Io(cause))
                if matches!(cause.kind(), ErrorKind::ConnectionAborted | ErrorKind::TimedOut) =>
            {
                tracing::debug!(%cause, "client disconnected in the middle of a request");
                Self::message(StatusCode::BAD_REQUEST, "400 The request breaks off")
            }
            Error::Git(cause) => {
                tracing::error!(%cause, "git failed");
                Self::message(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error")
            }
            Error::Throttled { retry_after } => Self {
                retry_after: Some(retry_after.as_secs_f64().ceil() as u64),
                ..Self::message(StatusCode::TOO_MANY_REQUESTS, "429 Too Many Requests")
            },
            Error::NotYet(text) => {
                Self { retry_after: Some(10), ..Self::message(StatusCode::SERVICE_UNAVAILABLE, text) }
            }
            Error::Unavailable(cause) => {
                tracing::error!(%cause, "the database is not available");
                Self {
                    retry_after: Some(5),
                    ..Self::message(StatusCode::SERVICE_UNAVAILABLE, "503 Service Unavailable")
                }
            }
            Error::Internal(cause) => {
                tracing::error!(%cause, "request failed");
                Self::message(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error")
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Answers at once, whatever the body of the request is.
pub async fn no_route() -> ApiError {
    ApiError::no_route()
}

pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("(no text)"), "a request handler panicked");
    ApiError::message(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error").into_response()
}
