use axum::http::Method;
use holdfast_app::ci::creation;
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiResult;
use crate::response::Body;
use crate::{Access, RequestContext, Routes, params};

params! {
    struct Lint {
        /// Content of a `.gitlab-ci.yml`.
        required content: String,
    }
}

#[derive(Serialize, ToSchema)]
struct LintBody {
    /// `valid` or `invalid`.
    status: &'static str,
    /// Errors in the file, empty if it is valid.
    errors: Vec<String>,
}

async fn lint(context: RequestContext, params: Lint) -> ApiResult<Body<LintBody>> {
    let errors: Vec<String> = creation::lint(context.app(), params.content).await?.into_iter().collect();
    Ok(Body(LintBody { status: if errors.is_empty() { "valid" } else { "invalid" }, errors }))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::POST, "/ci/lint", Access::Anyone, "Validate a CI file", lint);
}
