use axum::http::Method;
use holdfast_app::ci::lint;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::{ReadBuilds, ReadCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiResult;
use crate::response::Body;
use crate::{Access, RequestContext, Routes, params};

#[derive(Serialize, ToSchema)]
struct CiLintBody {
    valid: bool,
    /// The checked text if it is valid: there are no files to merge it with.
    merged_yaml: Option<String>,
    /// Errors in the file, empty if it is valid.
    errors: Vec<String>,
    /// Always empty.
    warnings: Vec<String>,
    /// Always empty: a CI file cannot include others.
    includes: Vec<String>,
}

fn present(text: Option<String>, error: Option<String>) -> CiLintBody {
    CiLintBody {
        valid: error.is_none(),
        merged_yaml: text.filter(|_| error.is_none()),
        errors: error.into_iter().collect(),
        warnings: Vec::new(),
        includes: Vec::new(),
    }
}

params! {
    struct LintText {
        required id: ProjectRef,
        /// Content of a `.gitlab-ci.yml`.
        required content: String,
    }
}

async fn check(context: RequestContext, params: LintText) -> ApiResult<Body<CiLintBody>> {
    let LintText { id, content } = params;
    let linted = lint::check(context.app(), &context.actor, &id, Some(content.clone())).await?;
    Ok(Body(present(Some(content), linted.result.and_then(Result::err))))
}

params! {
    struct LintCommit {
        required id: ProjectRef,
        /// Commit, branch or tag, by default the default branch.
        optional content_ref: String,
    }
}

async fn check_commit(context: RequestContext, params: LintCommit) -> ApiResult<Body<CiLintBody>> {
    let revision = params.content_ref.as_deref();
    let linted = lint::check_commit(context.app(), &context.actor, &params.id, revision).await?;
    Ok(Body(present(linted.text, linted.error)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/ci/lint";
    routes.add(Method::GET, PATH, Access::Project(ReadCode), "Validate the CI file of a commit", check_commit);
    routes.add(Method::POST, PATH, Access::Project(ReadBuilds), "Validate a CI file", check);
}
