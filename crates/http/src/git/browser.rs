//! What browsers get for the URL of a project on a node without the web interface.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::auth::{self, PlainTextError, Service};
use crate::Context;
use crate::path::Path;

/// Serves the URL of a project to browsers: a text with the commands to clone it.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path((namespace, project)): Path<(String, String)>,
    request: Request,
) -> Result<Response, PlainTextError> {
    let (parts, _) = request.into_parts();
    let project = auth::project_ref(namespace, &project);
    let actor = auth::authenticate(&context, &parts, &project, Service::UploadPack).await?;
    let repository = auth::open_project(&context, &actor, &project, Service::UploadPack).await?;
    let path = repository.project.full_path();
    let text = format!(
        "{path} is a git repository. Clone it with one of these commands:\n\n  git clone {}\n  git clone {}\n",
        context.site.url(&format!("/{path}.git")),
        context.site.ssh_url(&path),
    );
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}
