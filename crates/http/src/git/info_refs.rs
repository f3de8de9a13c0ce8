//! The ref advertisement, with which every fetch and push over HTTP begins.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::NO_CACHE_HEADERS;
use super::auth::{self, PlainTextError, Service};
use super::ref_list::RefListResponse;
use crate::Context;
use crate::path::Path;

/// Serves the ref advertisement, with which every fetch and push begins. A former path of a project is redirected to
/// its current path.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path((namespace, project)): Path<(String, String)>,
    request: Request,
) -> Result<Response, PlainTextError> {
    let (parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let service = query.split('&').find_map(|pair| Service::from_name(pair.strip_prefix("service=")?));
    let Some(service) = service else {
        let text = "This server supports only the smart HTTP protocol. Use git 1.6.6 or later.";
        return Err(PlainTextError::new(StatusCode::FORBIDDEN, text));
    };
    let requested_path = format!("{namespace}/{}", project.strip_suffix(".git").unwrap_or(&project));
    let project = auth::project_ref(namespace, &project);
    let actor = auth::authenticate(&context, &parts, &project, service).await?;
    let repository = auth::open_project(&context, &actor, &project, service).await?;
    let full_path = repository.project.full_path();
    if !full_path.eq_ignore_ascii_case(&requested_path) {
        let address = format!("/{full_path}.git/info/refs?service={}", service.name());
        return Ok(Redirect::permanent(&address).into_response());
    }
    let version = auth::protocol_version(&parts);
    let list = match service {
        Service::UploadPack => RefListResponse::UploadPack(version),
        Service::ReceivePack => RefListResponse::ReceivePack,
    };
    let content_type = format!("application/x-{}-advertisement", service.name());
    let content_type = HeaderValue::from_str(&content_type).expect("service names are valid header values");
    let body = list.into_body(&context, repository).await;
    Ok((NO_CACHE_HEADERS, [(header::CONTENT_TYPE, content_type)], body).into_response())
}
