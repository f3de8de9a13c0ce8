//! All groups, for administrators.

use holdfast_app::instance::group;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::instance::group_list::admin_groups_page;

pub fn declare(pages: &mut Pages) {
    let operate = Access::Instance(InstanceAction::OperateInstance);
    pages.get("/admin/groups", operate, Cost::Normal, "Groups", list).api("GET /groups").confirmed();
}

params! {
    struct ListGroups {
        /// A part of the name or path.
        optional search: String,
    }
}

async fn list(context: RequestContext, ListGroups { search }: ListGroups) -> PageResult {
    let shown = search.clone().unwrap_or_default();
    let search = search.filter(|search| !search.is_empty());
    let found = group::list(context.app(), &context.actor, search, context.page).await?;
    respond::html(&admin_groups_page(context.layout(), &found, &shown, context.now()))
}
