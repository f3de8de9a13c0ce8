//! The list of groups, and the page of a group.

use holdfast_app::Error;
use holdfast_app::namespaces::group::{self, Order};
use holdfast_app::namespaces::member;
use holdfast_app::projects::group as group_projects;
use holdfast_domain::page::PageRequest;
use holdfast_domain::policy::{GroupAction, InstanceAction};
use holdfast_http_core::{Access, params};

use crate::addresses::group_ref;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::pages::Pages;
use crate::pages::projects::filters::ProjectFilterParams;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::namespaces::group::{group_list_page, group_page};
use crate::views::{Person, links};

pub fn declare(pages: &mut Pages) {
    let explore = Access::Instance(InstanceAction::ExplorePublic);
    pages.get("/groups", explore, Cost::Normal, "Groups", list).api("GET /groups");
    pages.get("/groups/:group", Access::Group(GroupAction::Read), Cost::Normal, "Group", show).api("GET /groups/:id");
}

/// Number of members whose avatars the page shows.
const SHOWN_MEMBERS: i64 = 20;

params! {
    struct ListGroups {
        /// A part of the name or path.
        optional search: String,
    }
}

params! {
    struct OneGroup {
        required group: String,
        flatten filters: ProjectFilterParams,
    }
}

async fn list(context: RequestContext, ListGroups { search }: ListGroups) -> PageResult {
    let shown = search.clone().unwrap_or_default();
    let search = search.filter(|search| !search.is_empty());
    let order = Order::Name { descending: false };
    let groups = group::explore(context.app(), &context.actor, search, order, context.page).await?;
    respond::html(&group_list_page(context.layout(), &groups, &shown, context.now()))
}

async fn show(context: RequestContext, OneGroup { group, filters }: OneGroup) -> PageResult {
    let reference = group_ref(&group);
    let found = group_projects::show(context.app(), &context.actor, &reference).await?.group;
    if found.path != group {
        return Err(PageError::Moved(links::group(&found.path)));
    }
    let view_filters = filters.to_view();
    let input = filters.into_input();
    let projects = group_projects::list(context.app(), &context.actor, &reference, input, context.page).await?;
    let page_of_members = PageRequest::new(None, Some(SHOWN_MEMBERS));
    let members = match member::list(context.app(), &context.actor, &reference, None, page_of_members).await {
        Ok(members) => members.items.iter().map(|member| Person::from_user(&member.user)).collect(),
        // Not everybody who may see a group may see its members.
        Err(Error::Forbidden(_) | Error::Unauthenticated) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let layout = context.layout_with_id(found.id.get());
    respond::html(&group_page(layout, &found, &projects, members, view_filters, context.now()))
}
