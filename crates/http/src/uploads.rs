//! Uploaded files, at the address their upload returned.

use std::sync::Arc;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::response::{IntoResponse, Response};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::upload;
use holdfast_domain::accounts::Scope;
use holdfast_domain::policy::ProjectAction;

use crate::door::identify;
use crate::error::ApiError;
use crate::params::RawParams;
use crate::stored::{BYTES, Stored};
use crate::{Access, Context, params};

params! {
    struct OneFile {
        required namespace: String,
        required project: String,
        required secret: String,
        required file: String,
    }
}

pub async fn serve(
    State(context): State<Arc<Context>>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let attempt = async {
        let path = path.map_err(|_| ApiError::no_route())?;
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
    let stored = Stored {
        content_type: BYTES,
        bytes: Some(found.bytes.unsigned_abs()),
        attachment: Some(found.file_name),
        cache_control: "private, max-age=3600",
    };
    stored.respond(found.content)
}
