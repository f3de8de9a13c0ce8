//! Maps errors of use cases to a status and a JSON body.

use std::any::Any;
use std::io::ErrorKind;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::Resource;
use holdfast_domain::Violations;
use holdfast_domain::accounts::Scope;
use holdfast_http_core::RequestError;
use serde_json::{Value, json};

use crate::api_version::ApiVersion;

#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    body: Value,
    retry_after: Option<u64>,
    /// The status and the body in version 4 of the API, if they differ.
    in_v4: Option<Box<(StatusCode, Value)>>,
}

impl ApiError {
    fn new(status: StatusCode, body: Value) -> Self {
        Self { status, body, retry_after: None, in_v4: None }
    }

    /// Returns an error with the body `{"message": …}`, the form of most errors.
    pub fn message(status: StatusCode, message: impl Into<Value>) -> Self {
        Self::new(status, json!({ "message": message.into() }))
    }

    /// Returns an error with the body `{"error": …}`, the form of errors in parameters and routes.
    pub fn error(status: StatusCode, error: impl Into<Value>) -> Self {
        Self::new(status, json!({ "error": error.into() }))
    }

    /// Returns the error with the status and the body that this version of the API has for it.
    pub fn for_version(self, version: ApiVersion) -> Self {
        match (version, self.in_v4) {
            (ApiVersion::V4, Some(differing)) => {
                let (status, body) = *differing;
                Self { status, body, retry_after: self.retry_after, in_v4: None }
            }
            (_, in_v4) => Self { in_v4, ..self },
        }
    }

    fn with_v4(self, in_v4: Self) -> Self {
        Self { in_v4: Some(Box::new((in_v4.status, in_v4.body))), ..self }
    }

    pub fn route_not_found() -> Self {
        Self::error(StatusCode::NOT_FOUND, "404 Not Found")
    }

    fn insufficient_scope(needed: &str) -> Self {
        let body = json!({
            "error": "insufficient_scope",
            "error_description": "The request requires higher privileges than provided by the access token.",
            "scope": needed,
        });
        Self::new(StatusCode::FORBIDDEN, body)
    }

    pub fn too_large() -> Self {
        Self::message(StatusCode::PAYLOAD_TOO_LARGE, "413 Request Entity Too Large")
    }

    pub fn timed_out() -> Self {
        Self::message(StatusCode::SERVICE_UNAVAILABLE, "503 The request took too long and was canceled")
    }

    pub fn at_least_one_required(names: &[&str]) -> Self {
        let names = names.join(", ");
        Self::error(StatusCode::BAD_REQUEST, format!("{names} are missing, at least one parameter must be provided"))
    }

    /// Converts 400 to 409, for forks: their attributes are copied from another project, so an invalid one is a
    /// conflict.
    pub fn invalid_as_conflict(self) -> Self {
        match self.status {
            StatusCode::BAD_REQUEST => Self { status: StatusCode::CONFLICT, ..self },
            _ => self,
        }
    }

    /// Converts 400 and 409 to 405, for the endpoint that the specification defines this way.
    pub fn invalid_as_not_allowed(self) -> Self {
        match self.status {
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT => Self { status: StatusCode::METHOD_NOT_ALLOWED, ..self },
            _ => self,
        }
    }

    /// Converts 400 and 409 to 404, for endpoints that the specification defines this way.
    pub fn invalid_as_not_found(self) -> Self {
        match self.status {
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT => Self { status: StatusCode::NOT_FOUND, ..self },
            _ => self,
        }
    }
}

pub fn project_limit_message(limit: i32) -> String {
    match limit {
        0 => "Personal project creation is not allowed. Please contact your administrator with questions".into(),
        limit => {
            format!("Your project limit is {limit} projects! Please contact your administrator to increase it")
        }
    }
}

fn violations_json(violations: &Violations) -> Value {
    violations
        .iter()
        .map(|(field, messages)| (field.to_owned(), json!(messages)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        let status = error.status();
        match error {
            RequestError::UnknownPath => Self::route_not_found(),
            RequestError::InvalidHost => {
                Self::error(status, "400 Bad Request: exactly one valid Host header is required")
            }
            RequestError::InvalidParams(texts) => Self::error(status, texts.join(", ")),
            RequestError::TooManyParams => Self::error(status, "too many parameters"),
            RequestError::MalformedBody => Self::error(status, "message body does not match declared format"),
            RequestError::UnsupportedContentType(content_type) => {
                Self::error(status, format!("The requested content-type '{content_type}' is not supported."))
            }
            RequestError::TooLarge => Self::too_large(),
            RequestError::BodyTimedOut => Self::message(status, "408 The request body did not arrive in time"),
            RequestError::TimedOut => Self::timed_out(),
        }
    }
}

impl From<holdfast_app::Error> for ApiError {
    fn from(error: holdfast_app::Error) -> Self {
        use holdfast_app::Error;
        match error {
            Error::Unauthenticated => Self::message(StatusCode::UNAUTHORIZED, "401 Unauthorized"),
            // Clients of version 3 know no scope for reading.
            Error::InsufficientScope { needed } if needed == Scope::ReadApi.as_str() => {
                Self::insufficient_scope(Scope::Api.as_str()).with_v4(Self::insufficient_scope(needed))
            }
            Error::InsufficientScope { needed } => Self::insufficient_scope(needed),
            Error::Forbidden(None) => Self::message(StatusCode::FORBIDDEN, "403 Forbidden"),
            // Two spaces, as clients of version 3 expect.
            Error::Forbidden(Some(reason)) => {
                Self::message(StatusCode::FORBIDDEN, format!("403 Forbidden  - {reason}"))
                    .with_v4(Self::message(StatusCode::FORBIDDEN, format!("403 Forbidden - {reason}")))
            }
            Error::NotFound(Resource::Record) => Self::message(StatusCode::NOT_FOUND, "404 Not found"),
            Error::NotFound(Resource::Literal(text)) => Self::message(StatusCode::NOT_FOUND, text),
            Error::NotFound(resource) => Self::message(StatusCode::NOT_FOUND, format!("404 {resource} Not Found")),
            Error::Invalid(violations) => Self::message(StatusCode::BAD_REQUEST, violations_json(&violations)),
            Error::Unprocessable(text) => Self::message(StatusCode::UNPROCESSABLE_ENTITY, text),
            Error::Conflict(text) => Self::message(StatusCode::CONFLICT, text),
            Error::NotMergeable => Self::message(StatusCode::METHOD_NOT_ALLOWED, "405 Method Not Allowed"),
            Error::MergeConflict => Self::message(StatusCode::NOT_ACCEPTABLE, "Branch cannot be merged")
                .with_v4(Self::message(StatusCode::UNPROCESSABLE_ENTITY, "Branch cannot be merged")),
            error @ (Error::PrunedConcurrently | Error::TooManyUpdates) => {
                Self::message(StatusCode::CONFLICT, error.to_string())
            }
            Error::Rejected(text) => Self::message(StatusCode::BAD_REQUEST, text),
            Error::RejectedWith(text) => Self::message(StatusCode::BAD_REQUEST, json!({ "error": text })),
            // A list, as existing clients expect.
            Error::ProjectLimit(limit) => Self::error(StatusCode::FORBIDDEN, vec![project_limit_message(limit)]),
            Error::InvalidHookUrl => Self::error(StatusCode::UNPROCESSABLE_ENTITY, "Invalid url given"),
            Error::ObjectStore(cause) => {
                tracing::error!(%cause, "object store unavailable");
                Self {
                    retry_after: Some(5),
                    ..Self::message(StatusCode::SERVICE_UNAVAILABLE, "503 Service Unavailable")
                }
            }
            Error::Git(holdfast_git::Error::Protocol(text)) => Self::message(StatusCode::BAD_REQUEST, text),
            // The connection reports a client that disconnects or stalls during its request with these error kinds.
            Error::Git(holdfast_git::Error::Io(cause))
                if matches!(cause.kind(), ErrorKind::ConnectionAborted | ErrorKind::TimedOut) =>
            {
                tracing::debug!(%cause, "client disconnected during request");
                Self::message(StatusCode::BAD_REQUEST, "400 The request ended early")
            }
            Error::Git(cause) => {
                tracing::error!(%cause, "git failed");
                Self::message(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error")
            }
            Error::Throttled { retry_after } => Self {
                retry_after: Some(retry_after.as_secs_f64().ceil() as u64),
                ..Self::message(StatusCode::TOO_MANY_REQUESTS, "429 Too Many Requests")
            },
            Error::TemporarilyUnavailable(text) => {
                Self { retry_after: Some(10), ..Self::message(StatusCode::SERVICE_UNAVAILABLE, text) }
            }
            Error::DatabaseUnavailable(cause) => {
                tracing::error!(%cause, "database unavailable");
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

/// Responds to a request that the middleware rejects.
pub fn request_error_response(error: RequestError) -> Response {
    ApiError::from(error).into_response()
}

/// Responds 404 at once, without reading the body of the request.
pub async fn route_not_found() -> ApiError {
    ApiError::route_not_found()
}

pub fn panic_response(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("(no message)"), "request handler panicked");
    ApiError::message(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error").into_response()
}
