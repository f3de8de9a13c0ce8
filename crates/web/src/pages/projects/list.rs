//! Lists of projects.

use holdfast_app::projects::list::{self, ListScope};
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::Access;

use super::filters::ProjectFilterParams;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::projects::list::{ListedProjects, project_list_page};

pub fn declare(pages: &mut Pages) {
    let explore = Access::Instance(InstanceAction::ExplorePublic);
    let own = Access::Instance(InstanceAction::ListProjects);
    pages.get("/projects", explore, Cost::Normal, "Projects", list_visible).api("GET /projects/visible");
    pages.get("/dashboard/projects", own, Cost::Normal, "Your projects", list_own).api("GET /projects");
    pages.get("/dashboard/starred", own, Cost::Normal, "Starred projects", list_starred).api("GET /projects/starred");
}

async fn list_visible(context: RequestContext, params: ProjectFilterParams) -> PageResult {
    let filters = params.to_view();
    let projects = list::explore(context.app(), &context.actor, params.into_input(), context.page).await?;
    let page = project_list_page(context.layout(), ListedProjects::Visible, &projects, filters, context.now());
    respond::html(&page)
}

async fn list_own(context: RequestContext, params: ProjectFilterParams) -> PageResult {
    list_scope(context, params, ListScope::Member, ListedProjects::Own).await
}

async fn list_starred(context: RequestContext, params: ProjectFilterParams) -> PageResult {
    list_scope(context, params, ListScope::Starred, ListedProjects::Starred).await
}

async fn list_scope(
    context: RequestContext,
    params: ProjectFilterParams,
    scope: ListScope,
    listed: ListedProjects,
) -> PageResult {
    let filters = params.to_view();
    let projects = list::list(context.app(), &context.actor, scope, params.into_input(), context.page).await?;
    respond::html(&project_list_page(context.layout(), listed, &projects, filters, context.now()))
}
