//! Serves uploaded files at the URL that the upload returned. The endpoint that receives them is in `api::v3::uploads`.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::upload;
use holdfast_domain::accounts::Scope;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{OCTET_STREAM, UserContent};
use tower::ServiceExt as _;

use crate::api_version::ApiVersion;
use crate::dispatch::{RouteChecks, authenticate_request};
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

type PathParams = Result<RawPathParams, RawPathParamsRejection>;
type ResponseFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The path of an uploaded file.
pub const PATH: &str = "/{namespace}/{project}/uploads/{secret}/{file}";

/// Returns a handler that passes requests of browsers to the web interface. Such a request has cookies and no token. Here
/// a request with cookies is an anonymous one.
pub fn serve_with_pages(pages: Router) -> impl Fn(State<Arc<Context>>, PathParams, Request) -> ResponseFuture + Clone {
    move |context, path, request| {
        let pages = pages.clone();
        Box::pin(async move {
            match is_from_browser(&request) {
                true => pages.oneshot(request).await.into_response(),
                false => serve(context, path, request).await,
            }
        })
    }
}

fn is_from_browser(request: &Request) -> bool {
    let has_token = request.headers().contains_key("private-token")
        || request.uri().query().is_some_and(|query| query.contains("private_token"));
    request.headers().contains_key(header::COOKIE) && !has_token
}

pub async fn serve(State(context): State<Arc<Context>>, path: PathParams, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let attempt = async {
        let path = path.map_err(|_| ApiError::route_not_found())?;
        let raw = RawParams::from_path_and_query(&parts, &path)?;
        let access = Access::Project(ProjectAction::Read);
        let checks = RouteChecks { version: ApiVersion::V3, access, scope: Scope::Api, accepts_job_token: false };
        let actor = authenticate_request(&context, checks, None, &parts, &raw).await?;
        let OneFile { namespace, project, secret, file } = params::read(&raw)?;
        let project = ProjectRef::Path { namespace, project };
        Ok::<_, ApiError>(upload::show(&context.app, &actor, &project, &secret, &file).await?)
    };
    let found = match attempt.await {
        Ok(found) => found,
        Err(error) => return error.into_response(),
    };
    // The file name needs no escaping: it was sanitized when the upload was stored.
    let user_content = UserContent {
        content_type: OCTET_STREAM,
        bytes: Some(found.bytes.unsigned_abs()),
        attachment: Some(found.file_name),
        cache_control: "private, no-cache",
    };
    user_content.respond(found.content)
}
