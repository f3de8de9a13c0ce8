//! Responses of the API with content that users stored. [`UserContent`] has the headers that make them safe.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use holdfast_app::ci::artifact::ArtifactDownload;
use holdfast_app::ci::artifact_files::ArtifactFile;
use holdfast_app::ci::trace::Trace;
use holdfast_app::repository::browse::archive::{Archive, ArchiveFormat};
use holdfast_app::repository::browse::blob::Blob;
use holdfast_domain::ids::BuildId;
use holdfast_http_core::{OCTET_STREAM, TEXT_PLAIN, UserContent};
use utoipa::openapi::schema::{ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, RefOr, Schema};

use crate::response::{ApiResponse, ResponseContext};

const ZIP: &str = "application/zip";

fn binary_schema() -> RefOr<Schema> {
    let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
    ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
}

/// A response with the content of a file.
pub struct RawFile(pub Blob);

impl ApiResponse for RawFile {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[TEXT_PLAIN];

    fn schema() -> RefOr<Schema> {
        binary_schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        let user_content = UserContent {
            content_type: TEXT_PLAIN,
            bytes: Some(self.0.bytes),
            attachment: None,
            cache_control: "private",
        };
        user_content.respond(self.0.content)
    }
}

/// A response with a build's trace.
pub struct TraceResponse {
    pub build: BuildId,
    pub trace: Trace,
}

impl ApiResponse for TraceResponse {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[TEXT_PLAIN];

    fn schema() -> RefOr<Schema> {
        binary_schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        let bytes = Some(self.trace.bytes.unsigned_abs());
        let user_content =
            UserContent { content_type: TEXT_PLAIN, bytes, attachment: None, cache_control: "private, no-cache" };
        let mut response = user_content.respond(self.trace.content);
        // `infile` is no standard disposition, but the one that existing clients expect.
        if let Ok(name) = HeaderValue::from_str(&format!("infile; filename=\"{}.log\"", self.build)) {
            response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
        }
        response
    }
}

/// A response with the artifacts of a build, as an attachment.
pub struct ArtifactResponse(pub ArtifactDownload);

impl ApiResponse for ArtifactResponse {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[OCTET_STREAM];

    fn schema() -> RefOr<Schema> {
        binary_schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        let user_content = UserContent {
            content_type: OCTET_STREAM,
            bytes: Some(self.0.bytes.unsigned_abs()),
            attachment: Some(self.0.file_name),
            cache_control: "private",
        };
        let mut response = user_content.respond(self.0.content);
        response.headers_mut().insert("content-transfer-encoding", HeaderValue::from_static("binary"));
        response
    }
}

/// A response with a file in the artifacts of a build, as an attachment. Browsers save it and do not show it.
pub struct ArtifactFileResponse(pub ArtifactFile);

impl ApiResponse for ArtifactFileResponse {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[OCTET_STREAM];

    fn schema() -> RefOr<Schema> {
        binary_schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        let user_content = UserContent {
            content_type: OCTET_STREAM,
            bytes: Some(self.0.bytes),
            attachment: Some(self.0.file_name),
            cache_control: "private",
        };
        user_content.respond(self.0.content)
    }
}

/// A response with an archive, as an attachment.
pub struct ArchiveResponse {
    pub archive: Archive,
    pub format: ArchiveFormat,
}

impl ApiResponse for ArchiveResponse {
    const STATUS: StatusCode = StatusCode::OK;
    const CONTENT_TYPES: &'static [&'static str] = &[OCTET_STREAM, ZIP];

    fn schema() -> RefOr<Schema> {
        binary_schema()
    }

    fn schemas(_: &mut Vec<(String, RefOr<Schema>)>) {}

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        let content_type = if self.format == ArchiveFormat::Zip { ZIP } else { OCTET_STREAM };
        let attachment = Some(self.archive.file_name);
        let mut response = UserContent { content_type, bytes: None, attachment, cache_control: "private" }
            .respond(self.archive.content);
        response.headers_mut().insert("content-transfer-encoding", HeaderValue::from_static("binary"));
        response
    }
}
