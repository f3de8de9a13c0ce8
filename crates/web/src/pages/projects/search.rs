//! The search for projects, issues, merge requests, users and groups.

use holdfast_app::Error;
use holdfast_app::accounts::user::{self, Filter};
use holdfast_app::namespaces::group::{self, Order};
use holdfast_app::planning::title_search::{self, SearchWords};
use holdfast_app::projects::{list, project};
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use super::filters::ProjectFilterParams;
use crate::addresses::project_ref;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::projects::search::{Found, SearchTab, search_page};
use crate::views::{ProjectLinks, links};

pub fn declare(pages: &mut Pages) {
    let explore = Access::Instance(InstanceAction::ExplorePublic);
    pages.get("/search", explore, Cost::Normal, "Search", show).api("GET /projects/visible");
}

params! {
    struct SearchParams {
        /// A part of a name or title, the path of a project, or `@` with a username.
        optional q: String,
        /// What is searched: `projects`, `issues`, `merge_requests`, `users` or `groups`.
        optional r#in: String,
    }
}

/// Shows what matches the text. Without a choice of what is searched, the path of a project and the name of a user with
/// `@` lead to their pages.
async fn show(context: RequestContext, params: SearchParams) -> PageResult {
    let text = params.q.unwrap_or_default().trim().to_owned();
    let tab = SearchTab::new(params.r#in.as_deref(), context.is_signed_in());
    if params.r#in.is_none()
        && let Some(page) = find_exact(&context, &text).await?
    {
        return Ok(respond::see_other(page));
    }
    let found = if text.is_empty() { Found::Nothing } else { find(&context, tab, &text).await? };
    respond::html(&search_page(context.layout(), &text, tab, found, context.now()))
}

async fn find(context: &RequestContext, tab: SearchTab, text: &str) -> Result<Found, PageError> {
    let (app, actor, page) = (context.app(), &context.actor, context.page);
    let words = match tab {
        SearchTab::Issues | SearchTab::MergeRequests => SearchWords::parse(text),
        SearchTab::Projects | SearchTab::Users | SearchTab::Groups => None,
    };
    Ok(match (tab, words) {
        (SearchTab::Projects, _) => {
            let filter = ProjectFilterParams { search: Some(text.to_owned()), ..ProjectFilterParams::default() };
            Found::Projects(list::explore(app, actor, filter.into_input(), page).await?)
        }
        (SearchTab::Users, _) => {
            let filter = Filter { search: Some(text.trim_start_matches('@').to_owned()), ..Filter::default() };
            Found::Users(user::list(app, actor, filter, page).await?)
        }
        (SearchTab::Groups, _) => {
            let order = Order::Name { descending: false };
            Found::Groups(group::explore(app, actor, Some(text.to_owned()), order, page).await?)
        }
        (SearchTab::Issues | SearchTab::MergeRequests, None) => Found::TooShort,
        (SearchTab::Issues, Some(words)) => {
            let _permit = context.acquire_heavy_permit().await?;
            Found::Issues(title_search::list_issues(app, actor, &words, page).await?)
        }
        (SearchTab::MergeRequests, Some(words)) => {
            let _permit = context.acquire_heavy_permit().await?;
            Found::MergeRequests(title_search::list_merge_requests(app, actor, &words, page).await?)
        }
    })
}

/// Returns the address of the project with this path, or of the user with this name after `@`. Returns None if there is
/// none that the viewer may see.
async fn find_exact(context: &RequestContext, text: &str) -> Result<Option<String>, Error> {
    let found = if let Some(username) = text.strip_prefix('@') {
        let user = user::show_by_username(context.app(), &context.actor, username).await;
        user.map(|user| links::user(&user.username))
    } else if let Some((namespace, name)) = text.trim_start_matches('/').split_once('/') {
        let project = project::show(context.app(), &context.actor, &project_ref(namespace, name)).await;
        project.map(|project| ProjectLinks::new(&project.full_path()).home().to_owned())
    } else {
        return Ok(None);
    };
    match found {
        Ok(page) => Ok(Some(page)),
        Err(Error::NotFound(_) | Error::Forbidden(_) | Error::Unauthenticated) => Ok(None),
        Err(error) => Err(error),
    }
}
