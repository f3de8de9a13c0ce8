//! Uploaded files, at the address their upload returned.
//!
//! A file comes from a user and is served from the instance's own host, so a browser must never take it for a page:
//! it is always bytes to be saved, never guessed at, and shown in a sandbox if it is shown at all.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::upload;
use holdfast_domain::accounts::Scope;
use holdfast_domain::policy::ProjectAction;

use crate::door::identify;
use crate::error::ApiError;
use crate::params::RawParams;
use crate::{Access, Context, params};

params! {
    struct OneFile {
        required namespace: String,
        required project: String,
        required secret: String,
        required file: String,
    }
}

pub async fn serve(State(context): State<Arc<Context>>, path: RawPathParams, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let attempt = async {
        let raw = RawParams::of_address(&parts, &path)?;
        let actor = identify(&context, Access::Project(ProjectAction::Read), Scope::Api, &parts, &raw).await?;
        let OneFile { namespace, project, secret, file } = params::read(&raw)?;
        let project = ProjectRef::Path { namespace, project };
        Ok::<_, ApiError>(upload::show(&context.app, &actor, &project, &secret, &file).await?)
    };
    let found = match attempt.await {
        Ok(found) => found,
        Err(error) => return error.into_response(),
    };
    // The name was made of safe characters when it was stored.
    let disposition = format!("attachment; filename=\"{}\"", found.file_name);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(found.bytes)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'")),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600")),
    ];
    let mut response = (StatusCode::OK, headers, Body::from_stream(found.content)).into_response();
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
