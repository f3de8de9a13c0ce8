//! The page that checks a CI file.

use holdfast_app::ci::lint;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::lint::lint_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadBuilds);
    pages.get("/:namespace/:project/ci/lint", read, Cost::Cheap, "Check a CI file", show).api("POST /ci/lint");
    pages.post("/:namespace/:project/ci/lint", read, Cost::Normal, "Check a CI file", check).api("POST /ci/lint");
}

params! {
    struct CheckFile {
        flatten project: ProjectPathParams,
        optional content: String,
    }
}

async fn show(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = lint::check(context.app(), &context.actor, &path.reference(), None).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    respond::html(&lint_page(context.layout(), abilities, &found, String::new()))
}

/// Shows the result on the same page. Nothing is stored, so there is no page to redirect to.
async fn check(context: RequestContext, CheckFile { project, content }: CheckFile) -> PageResult {
    let content = content.unwrap_or_default();
    let found = lint::check(context.app(), &context.actor, &project.reference(), Some(content.clone())).await?;
    let abilities = Abilities::new(&found.project, &context.actor);
    respond::html(&lint_page(context.layout(), abilities, &found, content))
}
