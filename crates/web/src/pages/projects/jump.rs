//! The suggestions of the command palette.

use holdfast_app::accounts::user::{self, Filter};
use holdfast_app::projects::list::{self, ListScope};
use holdfast_domain::page::PageRequest;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use super::filters::ProjectFilterParams;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::projects::jump::{JumpPart, Suggestion};

/// Maximum number of projects or users. With the search for the text, there are at most ten suggestions.
const MAX_SUGGESTIONS: i64 = 9;

pub fn declare(pages: &mut Pages) {
    let explore = Access::Instance(InstanceAction::ExplorePublic);
    pages.get("/search/jump", explore, Cost::Normal, "Suggestions", show).api("GET /projects");
}

params! {
    struct JumpParams {
        /// A part of the name of a project, or `@` with a part of a username.
        optional q: String,
    }
}

/// Responds with a part of a page: the own projects or, after `@`, the users that match the text, and the search for it.
/// Anonymous viewers get public projects.
async fn show(context: RequestContext, JumpParams { q }: JumpParams) -> PageResult {
    let text = q.unwrap_or_default().trim().to_owned();
    let page = PageRequest::new(None, Some(MAX_SUGGESTIONS));
    let (app, actor) = (context.app(), &context.actor);
    let mut suggestions = match text.strip_prefix('@').filter(|_| context.is_signed_in()) {
        Some(name) => {
            let search = Some(name.to_owned()).filter(|name| !name.is_empty());
            let filter = Filter { search, active: true, ..Filter::default() };
            let users = user::list(app, actor, filter, page).await?;
            users.items.iter().map(Suggestion::from_user).collect::<Vec<_>>()
        }
        None => {
            let search = Some(text.clone()).filter(|text| !text.is_empty());
            let input = ProjectFilterParams { search, ..ProjectFilterParams::default() }.into_input();
            let projects = match context.is_signed_in() {
                true => list::list(app, actor, ListScope::Member, input, page).await?,
                false => list::explore(app, actor, input, page).await?,
            };
            projects.items.iter().map(Suggestion::from_project).collect()
        }
    };
    if !text.is_empty() {
        suggestions.push(Suggestion::search(&text));
    }
    respond::html(&JumpPart { suggestions })
}
