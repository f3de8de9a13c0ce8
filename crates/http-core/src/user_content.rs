//! Responses with content that users stored: files, traces, artifacts, archives and uploads.
//!
//! The content is served from the host of the instance, so browsers must never interpret it as a page: the content type
//! is one of a few that are never executable, and a sandbox applies if the browser displays the content.

use axum::body::Body;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use holdfast_app::repository::transfer::fetch::ResponseStream as Content;

/// The headers of a response with content that users stored.
pub struct UserContent {
    pub content_type: &'static str,
    pub bytes: Option<u64>,
    /// File name under which the browser saves the content. It must need no escaping in a header; callers pass
    /// sanitized names.
    pub attachment: Option<String>,
    pub cache_control: &'static str,
}

pub const TEXT_PLAIN: &str = "text/plain";
pub const OCTET_STREAM: &str = "application/octet-stream";

impl UserContent {
    /// Responds to a client that has the content (304). A client replaces the headers that it has stored by these.
    pub fn not_modified(&self) -> Response {
        (StatusCode::NOT_MODIFIED, self.headers()).into_response()
    }

    fn headers(&self) -> [(HeaderName, HeaderValue); 4] {
        [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'")),
            (header::CACHE_CONTROL, HeaderValue::from_static(self.cache_control)),
        ]
    }

    pub fn respond(self, content: Content) -> Response {
        // The compression of pages polls a body again after its end.
        let mut response = (StatusCode::OK, self.headers(), Body::from_stream(content.fuse())).into_response();
        if let Some(bytes) = self.bytes {
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
        }
        let disposition =
            self.attachment.map(|name| HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")));
        if let Some(Ok(disposition)) = disposition {
            response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
        }
        response
    }
}
