//! The search for projects and groups.

use holdfast_app::Error;
use holdfast_app::namespaces::group::{self, Order};
use holdfast_app::projects::list;
use holdfast_app::projects::project;
use holdfast_domain::page::PageRequest;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use super::filters::ProjectFilterParams;
use crate::addresses::project_ref;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::projects::search::{SearchPage, search_page};

/// Number of groups that are shown beside a page of projects.
const MAX_GROUPS: i64 = 10;

pub fn declare(pages: &mut Pages) {
    let explore = Access::Instance(InstanceAction::ExplorePublic);
    pages.get("/search", explore, Cost::Normal, "Search", show).api("GET /projects/visible");
}

params! {
    struct SearchParams {
        /// A part of a name, or the path of a project.
        optional q: String,
    }
}

/// Shows the projects and groups whose names contain the text. The path of a project leads to the project.
async fn show(context: RequestContext, SearchParams { q }: SearchParams) -> PageResult {
    let text = q.unwrap_or_default().trim().to_owned();
    if text.is_empty() {
        return respond::html(&SearchPage::empty(context.layout()));
    }
    if let Some(home) = find_exact(&context, &text).await? {
        return Ok(respond::see_other(home));
    }
    let input = ProjectFilterParams { search: Some(text.clone()), ..ProjectFilterParams::default() }.into_input();
    let projects = list::explore(context.app(), &context.actor, input, context.page).await?;
    let (order, page) = (Order::Name { descending: false }, PageRequest::new(None, Some(MAX_GROUPS)));
    let groups = group::explore(context.app(), &context.actor, Some(text.clone()), order, page).await?;
    respond::html(&search_page(context.layout(), &text, &projects, &groups, context.now()))
}

/// Returns the address of the project with this path. Returns None if there is none that the viewer may see.
async fn find_exact(context: &RequestContext, text: &str) -> Result<Option<String>, Error> {
    let Some((namespace, name)) = text.trim_start_matches('/').split_once('/') else { return Ok(None) };
    match project::show(context.app(), &context.actor, &project_ref(namespace, name)).await {
        Ok(project) => Ok(Some(ProjectLinks::new(&project.full_path()).home().to_owned())),
        Err(Error::NotFound(_) | Error::Forbidden(_) | Error::Unauthenticated) => Ok(None),
        Err(error) => Err(error),
    }
}
