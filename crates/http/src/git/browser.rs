use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::door::{self, Refusal, Service};
use crate::Context;
use crate::path::Path;

/// The address of a project in a browser: what to do with it.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path((namespace, project)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, _) = request.into_parts();
    let actor = door::identify(&context, &parts).await?;
    let opened = door::open(&context, &actor, &door::named(namespace, &project), Service::UploadPack).await?;
    let path = opened.project.full_path();
    let text = format!(
        "{path} is a git repository. Get a copy of it with one of these:\n\n  git clone {}\n  git clone {}\n",
        context.site.url(&format!("/{path}.git")),
        context.site.ssh_url(&path),
    );
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}
