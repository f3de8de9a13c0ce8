//! Stars of projects.

use holdfast_app::projects::star;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::Access;

use super::address::ProjectPathParams;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};

pub fn declare(pages: &mut Pages) {
    let star = Access::Project(ProjectAction::Star);
    pages.post("/:namespace/:project/star", star, Cost::Cheap, "Star a project", create).api("POST /projects/:id/star");
    pages
        .post("/:namespace/:project/unstar", star, Cost::Cheap, "Remove a star", delete)
        .api("DELETE /projects/:id/star");
}

/// Stars a project. The button on its page shows the result, so there is no message.
async fn create(context: RequestContext, path: ProjectPathParams) -> PageResult {
    star::create(context.app(), &context.actor, &path.reference()).await?;
    Ok(respond::see_other(path.links().home()))
}

async fn delete(context: RequestContext, path: ProjectPathParams) -> PageResult {
    star::delete(context.app(), &context.actor, &path.reference()).await?;
    Ok(respond::see_other(path.links().home()))
}
