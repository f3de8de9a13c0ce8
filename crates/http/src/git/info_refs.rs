use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::NOT_KEPT;
use super::door::{self, Refusal, Service};
use super::ref_list::RefList;
use crate::Context;
use crate::path::Path;

/// What git asks first. From a path that a project once had it is sent on to where the project is now.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path((namespace, project)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let service = query.split('&').find_map(|pair| Service::named(pair.strip_prefix("service=")?));
    let Some(service) = service else {
        let text = "Only git's smart protocol is spoken here: use git 1.6.6 or later.";
        return Err(Refusal::text(StatusCode::FORBIDDEN, text));
    };
    let actor = door::identify(&context, &parts).await?;
    let asked = format!("{namespace}/{}", project.strip_suffix(".git").unwrap_or(&project));
    let opened = door::open(&context, &actor, &door::named(namespace, &project), service).await?;
    let is = opened.project.full_path();
    if !is.eq_ignore_ascii_case(&asked) {
        let address = format!("/{is}.git/info/refs?service={}", service.name());
        return Ok(Redirect::permanent(&address).into_response());
    }
    let version = door::version(&parts);
    let list = match service {
        Service::UploadPack => RefList::UploadPack(version),
        Service::ReceivePack => RefList::ReceivePack,
    };
    let content_type = format!("application/x-{}-advertisement", service.name());
    let content_type = HeaderValue::from_str(&content_type).expect("the names of services are plain");
    let body = list.into_body(&context, opened).await;
    Ok((NOT_KEPT, [(header::CONTENT_TYPE, content_type)], body).into_response())
}
