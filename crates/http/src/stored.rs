//! What users have stored and get back as it is: files, archives, uploads.
//!
//! It is served from the instance's own host, so a browser must never take it for a page: its kind is never guessed at,
//! no kind is one that a browser runs, and if it is shown at all, then in a sandbox.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::ci::artifact::Download;
use holdfast_app::ci::trace::Trace;
use holdfast_app::repository::archive::{Archive, Format};
use holdfast_app::repository::blob::Blob;
use holdfast_app::repository::fetch::Answer as Content;
use holdfast_domain::ids::BuildId;
use utoipa::openapi::schema::{ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, RefOr, Schema};

use crate::answer::{Answer, Facts};

pub struct Stored {
    pub content_type: &'static str,
    pub bytes: Option<u64>,
    /// To be saved under this name: of letters, digits, dots, dashes and lines.
    pub attachment: Option<String>,
    pub cache_control: &'static str,
}

const PLAIN: &str = "text/plain";
pub const BYTES: &str = "application/octet-stream";
const ZIP: &str = "application/zip";

impl Stored {
    pub fn respond(self, content: Content) -> Response {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'")),
            (header::CACHE_CONTROL, HeaderValue::from_static(self.cache_control)),
        ];
        let mut response = (StatusCode::OK, headers, Body::from_stream(content)).into_response();
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

fn schema() -> RefOr<Schema> {
    let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
    ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
}

/// 200 with the bytes of a file.
pub struct File(pub Blob);

impl Answer for File {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[PLAIN];

    fn schema() -> RefOr<Schema> {
        schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &Facts<'_>) -> Response {
        let stored =
            Stored { content_type: PLAIN, bytes: Some(self.0.bytes), attachment: None, cache_control: "private" };
        stored.respond(self.0.content)
    }
}

/// 200 with what a build said.
pub struct Said {
    pub build: BuildId,
    pub trace: Trace,
}

impl Answer for Said {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[PLAIN];

    fn schema() -> RefOr<Schema> {
        schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &Facts<'_>) -> Response {
        let bytes = Some(self.trace.bytes.unsigned_abs());
        let stored = Stored { content_type: PLAIN, bytes, attachment: None, cache_control: "private, no-cache" };
        let mut response = stored.respond(self.trace.content);
        // The word is the reference's own.
        if let Ok(name) = HeaderValue::from_str(&format!("infile; filename=\"{}.log\"", self.build)) {
            response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
        }
        response
    }
}

/// 200 with the files that a build left, to be saved.
pub struct Left(pub Download);

impl Answer for Left {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[BYTES];

    fn schema() -> RefOr<Schema> {
        schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &Facts<'_>) -> Response {
        let stored = Stored {
            content_type: BYTES,
            bytes: Some(self.0.bytes.unsigned_abs()),
            attachment: Some(self.0.file_name),
            cache_control: "private",
        };
        let mut response = stored.respond(self.0.content);
        response.headers_mut().insert("content-transfer-encoding", HeaderValue::from_static("binary"));
        response
    }
}

/// 200 with an archive, to be saved.
pub struct Packed {
    pub archive: Archive,
    pub format: Format,
}

impl Answer for Packed {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[BYTES, ZIP];

    fn schema() -> RefOr<Schema> {
        schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &Facts<'_>) -> Response {
        let content_type = if self.format == Format::Zip { ZIP } else { BYTES };
        let attachment = Some(self.archive.file_name);
        let mut response =
            Stored { content_type, bytes: None, attachment, cache_control: "private" }.respond(self.archive.content);
        response.headers_mut().insert("content-transfer-encoding", HeaderValue::from_static("binary"));
        response
    }
}
