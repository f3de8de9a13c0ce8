//! What can be wrong with a request before a use case is called.

use axum::http::StatusCode;

/// A request that is rejected before a use case is called, or whose time is over. The crate that serves it chooses the
/// format of the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The path has a parameter of another type, so no route has this path.
    UnknownPath,
    /// The `Host` header is missing, repeated or malformed.
    InvalidHost,
    /// Parameters are missing or invalid; the texts name each of them.
    InvalidParams(Vec<String>),
    TooManyParams,
    /// The body does not have the format that its content type declares.
    MalformedBody,
    /// The body has this content type, which is not supported.
    UnsupportedContentType(String),
    /// The body is too long, or it ended early.
    TooLarge,
    /// The client stopped sending the body.
    BodyTimedOut,
    /// The request took longer than [`Limits::request_timeout`](crate::Limits::request_timeout).
    TimedOut,
}

impl RequestError {
    pub fn status(&self) -> StatusCode {
        match self {
            Self::UnknownPath => StatusCode::NOT_FOUND,
            Self::InvalidHost | Self::InvalidParams(_) | Self::TooManyParams | Self::MalformedBody => {
                StatusCode::BAD_REQUEST
            }
            Self::UnsupportedContentType(_) => StatusCode::NOT_ACCEPTABLE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimedOut => StatusCode::REQUEST_TIMEOUT,
            Self::TimedOut => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
