use axum::http::Method;
use holdfast_app::namespaces::group::{self, GroupChanges, GroupRef, ListGroups, Order};
use holdfast_app::projects::group::{list as list_projects, show as show_group};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::transfer;
use holdfast_domain::policy::GroupAction::{Delete, Read, Update};
use holdfast_domain::policy::InstanceAction::{CreateGroup, ListGroups as BrowseGroups, TransferProject};
use holdfast_domain::{Field, Visibility};

use super::ApiResult;
use super::project_lists::{ProjectFilter, Sort, present_page};
use crate::error::ApiError;
use crate::present::group::{GroupBody, GroupDetail, GroupSummary, detail, group_body, summary};
use crate::present::project::{ListedProject, ProjectView};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum OrderBy { Name = "name", Path = "path" }
}

params! {
    struct ListGroupsParams {
        /// Ids of groups to leave out.
        list skip_groups: i64,
        /// Whether to list all visible groups instead of those with the current user as a member.
        optional all_available: bool,
        /// Part of the name or path.
        optional search: String,
        /// Sort key, `name` by default.
        optional order_by: OrderBy,
        /// Sort direction, `asc` by default.
        optional sort: Sort,
    }
}

async fn list(context: RequestContext, params: ListGroupsParams) -> ApiResult<PageBody<GroupSummary>> {
    let descending = params.sort == Some(Sort::Descending);
    let input = ListGroups {
        all_available: params.all_available.unwrap_or(false),
        search: params.search.filter(|term| !term.is_empty()),
        skip: params.skip_groups,
        order: match params.order_by.unwrap_or(OrderBy::Name) {
            OrderBy::Name => Order::Name { descending },
            OrderBy::Path => Order::Path { descending },
        },
    };
    Ok(PageBody(group::list(context.app(), &context.actor, input, context.page).await?.map(summary)))
}

async fn list_owned(context: RequestContext, (): ()) -> ApiResult<PageBody<GroupSummary>> {
    Ok(PageBody(group::list_owned(context.app(), &context.actor, context.page).await?.map(summary)))
}

params! {
    pub struct OneGroup {
        required id: GroupRef,
    }
}

async fn show(context: RequestContext, params: OneGroup) -> ApiResult<Body<GroupDetail>> {
    let group = show_group(context.app(), &context.actor, &params.id).await?;
    Ok(Body(detail(group, context.actor.role(), context.site())))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        nullable description: String,
        /// 0 private, 10 internal, 20 public (default).
        optional visibility_level: Visibility,
        /// Stored and returned for existing clients, without effect.
        optional lfs_enabled: bool,
        /// Whether users may request access, false by default.
        optional request_access_enabled: bool,
    }
}

impl Attributes {
    fn into_changes(self, name: Field<String>, path: Field<String>) -> GroupChanges {
        GroupChanges {
            name,
            path,
            description: self.description,
            visibility: self.visibility_level,
            lfs_enabled: self.lfs_enabled,
            request_access_enabled: self.request_access_enabled,
        }
    }
}

params! {
    struct CreateGroupParams {
        /// Display name of the group.
        required name: String,
        /// Path of the group in URLs.
        required path: String,
        flatten attributes: Attributes,
    }
}

async fn create(context: RequestContext, params: CreateGroupParams) -> ApiResult<Created<GroupBody>> {
    let changes = params.attributes.into_changes(Field::Value(params.name), Field::Value(params.path));
    let group = group::create(context.app(), &context.actor, changes).await?;
    Ok(Created(group_body(group, context.site())))
}

params! {
    struct UpdateGroup {
        required id: GroupRef,
        nullable name: String,
        nullable path: String,
        flatten attributes: Attributes,
    }
}

async fn update(context: RequestContext, params: UpdateGroup) -> ApiResult<Body<GroupDetail>> {
    let changes = params.attributes.into_changes(params.name, params.path);
    if changes == GroupChanges::default() {
        let names = ["name", "path", "description", "visibility_level", "lfs_enabled", "request_access_enabled"];
        return Err(ApiError::at_least_one_required(&names));
    }
    let group = group::update(context.app(), &context.actor, &params.id, changes).await?;
    let group = show_group(context.app(), &context.actor, &GroupRef::Id(group.id)).await?;
    Ok(Body(detail(group, context.actor.role(), context.site())))
}

async fn delete(context: RequestContext, params: OneGroup) -> ApiResult<Body<GroupBody>> {
    let group = group::delete(context.app(), &context.actor, &params.id).await?;
    Ok(Body(group_body(group, context.site())))
}

params! {
    struct GroupProjects {
        required id: GroupRef,
        flatten filter: ProjectFilter,
        /// Whether to list projects with enabled builds first.
        optional ci_enabled_first: bool,
        /// Whether to return only the id, URLs, name and path of each project.
        optional simple: bool,
    }
}

async fn list_group_projects(context: RequestContext, params: GroupProjects) -> ApiResult<PageBody<ListedProject>> {
    let mut input = params.filter.into_input();
    input.order.builds_first = params.ci_enabled_first.unwrap_or(false);
    let page = list_projects(context.app(), &context.actor, &params.id, input, context.page).await?;
    Ok(PageBody(present_page(page, params.simple, ProjectView::Plain, &context)))
}

params! {
    struct Transfer {
        required id: GroupRef,
        required project_id: ProjectRef,
    }
}

async fn transfer(context: RequestContext, params: Transfer) -> ApiResult<Created<GroupDetail>> {
    let group = transfer::transfer(context.app(), &context.actor, &params.id, &params.project_id).await?;
    let group = show_group(context.app(), &context.actor, &GroupRef::Id(group.id)).await?;
    Ok(Created(detail(group, context.actor.role(), context.site())))
}

pub fn routes(routes: &mut Routes) {
    let browse = Access::Instance(BrowseGroups);
    routes.add(Method::GET, "/groups", browse, "List groups", list);
    routes.add(Method::GET, "/groups/owned", browse, "List the groups owned by the current user", list_owned);
    routes.add(Method::GET, "/groups/:id", Access::Group(Read), "Get a group", show);
    routes.add(
        Method::GET,
        "/groups/:id/projects",
        Access::Group(Read),
        "List the projects of a group",
        list_group_projects,
    );
    let (into_group, move_into) = ("/groups/:id/projects/:project_id", Access::Instance(TransferProject));
    routes.add(Method::POST, into_group, move_into, "Move a project into a group", transfer);
    routes.add(Method::POST, "/groups", Access::Instance(CreateGroup), "Create a group", create);
    routes.add(Method::PUT, "/groups/:id", Access::Group(Update), "Update a group", update);
    routes.add(Method::DELETE, "/groups/:id", Access::Group(Delete), "Delete a group and its projects", delete);
}
