//! Maps errors of use cases and requests to a status and a text. `error_page.rs` shows them.

use axum::http::StatusCode;
use holdfast_app::Error;
use holdfast_domain::Violations;
use holdfast_http_core::RequestError;

/// Why a page could not be shown.
#[derive(Debug)]
pub enum PageError {
    App(Error),
    Request(RequestError),
    /// The page has another address, to which the browser is redirected.
    Moved(String),
    /// A form was sent by another site, or by a browser that does not tell.
    CrossSite,
    /// The page has no action of this kind.
    MethodNotAllowed,
    /// All permits for expensive pages are in use.
    Busy,
}

impl From<Error> for PageError {
    fn from(error: Error) -> Self {
        Self::App(error)
    }
}

impl From<RequestError> for PageError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

/// What the page of an error shows.
pub struct Description {
    pub status: StatusCode,
    /// The text of the use case, if it says more than the status.
    pub reason: Option<String>,
    /// Seconds until the request may succeed.
    pub retry_after: Option<u32>,
}

impl Description {
    fn new(status: StatusCode) -> Self {
        Self { status, reason: None, retry_after: None }
    }

    fn with_reason(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: Some(reason.into()), retry_after: None }
    }

    fn with_retry(status: StatusCode, reason: Option<&str>, seconds: u32) -> Self {
        Self { status, reason: reason.map(str::to_owned), retry_after: Some(seconds) }
    }
}

/// The text for a client that gets no permit in time.
const BUSY: &str = "The server is busy. Sign in for priority, or try again.";
const CROSS_SITE: &str = "The form was not sent by a page of this site. Go back, reload the page and try again.";

/// Returns what the page of an error shows, and logs the errors of the server.
pub fn describe(error: PageError) -> Description {
    match error {
        PageError::App(error) => describe_app_error(error),
        PageError::Request(error) => describe_request_error(&error),
        PageError::Moved(_) => Description::new(StatusCode::NOT_FOUND),
        PageError::MethodNotAllowed => Description::new(StatusCode::METHOD_NOT_ALLOWED),
        PageError::CrossSite => Description::with_reason(StatusCode::FORBIDDEN, CROSS_SITE),
        PageError::Busy => Description::with_retry(StatusCode::SERVICE_UNAVAILABLE, Some(BUSY), 5),
    }
}

fn describe_app_error(error: Error) -> Description {
    match error {
        Error::Unauthenticated => Description::new(StatusCode::UNAUTHORIZED),
        Error::InsufficientScope { .. } | Error::Forbidden(None) => Description::new(StatusCode::FORBIDDEN),
        Error::Forbidden(Some(reason)) => Description::with_reason(StatusCode::FORBIDDEN, reason),
        Error::NotFound(_) => Description::new(StatusCode::NOT_FOUND),
        Error::Invalid(violations) => {
            Description::with_reason(StatusCode::UNPROCESSABLE_ENTITY, violations_text(&violations))
        }
        Error::Unprocessable(text) | Error::RejectedWith(text) => {
            Description::with_reason(StatusCode::UNPROCESSABLE_ENTITY, text)
        }
        Error::Rejected(text) => Description::with_reason(StatusCode::UNPROCESSABLE_ENTITY, text),
        Error::Conflict(text) => Description::with_reason(StatusCode::CONFLICT, text),
        refused @ (Error::NotMergeable | Error::MergeConflict) => {
            Description::with_reason(StatusCode::CONFLICT, sentence(&refused.to_string()))
        }
        error @ (Error::PrunedConcurrently | Error::TooManyUpdates) => {
            Description::with_reason(StatusCode::CONFLICT, error.to_string())
        }
        limit @ Error::ProjectLimit(_) => Description::with_reason(StatusCode::FORBIDDEN, sentence(&limit.to_string())),
        invalid @ Error::InvalidHookUrl => {
            Description::with_reason(StatusCode::UNPROCESSABLE_ENTITY, sentence(&invalid.to_string()))
        }
        Error::Throttled { retry_after } => {
            let seconds = retry_after.as_secs_f64().ceil() as u32;
            Description::with_retry(StatusCode::TOO_MANY_REQUESTS, None, seconds)
        }
        Error::TemporarilyUnavailable(text) => Description::with_retry(StatusCode::SERVICE_UNAVAILABLE, Some(text), 10),
        Error::ObjectStore(cause) => {
            tracing::error!(%cause, "object store unavailable");
            Description::with_retry(StatusCode::SERVICE_UNAVAILABLE, None, 5)
        }
        Error::DatabaseUnavailable(cause) => {
            tracing::error!(%cause, "database unavailable");
            Description::with_retry(StatusCode::SERVICE_UNAVAILABLE, None, 5)
        }
        Error::Git(cause) => {
            tracing::error!(%cause, "git failed");
            Description::new(StatusCode::INTERNAL_SERVER_ERROR)
        }
        Error::Internal(cause) => {
            tracing::error!(%cause, "request failed");
            Description::new(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

fn describe_request_error(error: &RequestError) -> Description {
    match error {
        // A malformed form is reported as a rejected one.
        RequestError::InvalidParams(texts) => {
            Description::with_reason(StatusCode::UNPROCESSABLE_ENTITY, sentence(&texts.join(", ")))
        }
        RequestError::TimedOut => {
            let text = "The request took too long and was canceled.";
            Description::with_retry(StatusCode::SERVICE_UNAVAILABLE, Some(text), 10)
        }
        other => Description::new(other.status()),
    }
}

/// Returns the messages of a rejected form as one sentence.
pub fn violations_text(violations: &Violations) -> String {
    let texts = violations.iter().flat_map(|(field, messages)| {
        messages.iter().map(move |message| format!("{} {message}", field.replace('_', " ")))
    });
    sentence(&texts.collect::<Vec<_>>().join(", "))
}

/// Returns a text with a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_sentences() {
        assert_eq!(sentence("name can't be blank"), "Name can't be blank.");
        assert_eq!(sentence("Try again!"), "Try again!");
        assert_eq!(sentence(""), "");
    }
}
