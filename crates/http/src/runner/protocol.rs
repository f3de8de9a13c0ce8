//! The names in which the versions of the runner protocol differ.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use holdfast_domain::ci::Status;

/// A version of the runner protocol.
pub struct Protocol {
    /// The request header with the token of a build.
    pub token_header: &'static str,
    /// The response header with the status of a build.
    pub status_header: &'static str,
}

impl Protocol {
    /// Returns the token of a build from the header if it is present, otherwise `field`.
    pub fn build_token<'a>(&self, headers: &'a HeaderMap, field: Option<&'a str>) -> Option<&'a str> {
        headers.get(self.token_header).and_then(|value| value.to_str().ok()).or(field)
    }

    /// Adds the status of a build to a response, so that the runner stops working on a canceled build.
    pub fn with_status(&self, mut response: Response, status: Status) -> Response {
        let name = HeaderName::from_static(self.status_header);
        response.headers_mut().insert(name, HeaderValue::from_static(status.as_str()));
        response
    }
}
