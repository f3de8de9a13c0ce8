use axum::http::Method;
use holdfast_app::ci::creation;
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiResult;
use crate::answer::Body;
use crate::{Access, Cx, Routes, params};

params! {
    struct Lint {
        /// The text of a `.gitlab-ci.yml`.
        required content: String,
    }
}

#[derive(Serialize, ToSchema)]
struct Linted {
    /// `valid` or `invalid`.
    status: &'static str,
    errors: Vec<String>,
}

async fn lint(cx: Cx, params: Lint) -> ApiResult<Body<Linted>> {
    let errors: Vec<String> = creation::lint(cx.app(), params.content).await?.into_iter().collect();
    Ok(Body(Linted { status: if errors.is_empty() { "valid" } else { "invalid" }, errors }))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::POST, "/ci/lint", Access::Anyone, "Tells what is wrong with a CI file; the answer is 200", lint);
}
