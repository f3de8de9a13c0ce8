//! The activity of a project.

use holdfast_app::activity::feed;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::Access;

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::projects::activity::activity_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::Read);
    pages.get("/:namespace/:project/activity", read, Cost::Normal, "Activity", list).api("GET /projects/:id/events");
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = feed::list_with_project(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&activity_page(layout, &found, abilities, context.now()))
}
