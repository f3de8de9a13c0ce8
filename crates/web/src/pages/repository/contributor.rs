//! The contributors to the default branch.

use holdfast_app::repository::browse::contributor;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::Access;

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::contributor::contributors_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages
        .get("/:namespace/:project/contributors", read, Cost::Heavy, "Contributors", list)
        .api("GET /projects/:id/repository/contributors");
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let page = context.long_page();
    let found = contributor::list_with_project(context.app(), &context.actor, &path.reference(), page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&contributors_page(layout, &found, abilities))
}
