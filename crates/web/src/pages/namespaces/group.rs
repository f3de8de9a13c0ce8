//! The list of groups, and the page of a group.

use holdfast_app::namespaces::group::{self, Order};
use holdfast_app::projects::group as group_projects;
use holdfast_domain::policy::{GroupAction, InstanceAction};
use holdfast_http_core::{Access, params};

use crate::abilities::GroupAbilities;
use crate::addresses::group_ref;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::pages::Pages;
use crate::pages::projects::filters::ProjectFilterParams;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::links;
use crate::views::namespaces::group::{group_list_page, group_page};

pub fn declare(pages: &mut Pages) {
    let explore = Access::Instance(InstanceAction::ExplorePublic);
    pages.get("/groups", explore, Cost::Normal, "Groups", list).api("GET /groups");
    pages.get("/groups/:group", Access::Group(GroupAction::Read), Cost::Normal, "Group", show).api("GET /groups/:id");
}

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
    let view_filters = filters.to_view();
    let (reference, input) = (group_ref(&group), filters.into_input());
    let home = group_projects::show_home(context.app(), &context.actor, &reference, input, context.page).await?;
    if home.group.path != group {
        return Err(PageError::Moved(links::group(&home.group.path)));
    }
    let abilities = GroupAbilities::new(&home.group, home.level, &context.actor);
    let layout = context.layout_with_id(home.group.id.get());
    respond::html(&group_page(layout, &home, abilities, view_filters, context.now()))
}
