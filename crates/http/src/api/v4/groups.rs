use axum::http::Method;
use holdfast_app::namespaces::group::{self, BrowseGroups, GroupChanges, GroupRef, Order};
use holdfast_app::projects::group::{GroupProjects, ListGroupProjects, list_selected, show as show_group};
use holdfast_app::projects::list::Narrowing;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::transfer;
use holdfast_domain::page::Page;
use holdfast_domain::policy::GroupAction::{Delete, Read, Update};
use holdfast_domain::policy::InstanceAction::{CreateGroup, ExplorePublic, TransferProject};
use holdfast_domain::{AccessLevel, Field, Violations, Visibility};

use super::ApiResult;
use super::projects::{ProjectFilter, Sort, VisibilityWord};
use crate::error::ApiError;
use crate::present::v4::group::{
    GroupFields, GroupWithProjects, present_detail, present_group, present_new, present_without_projects,
};
use crate::present::v4::project::{ProjectInList, present_in_list};
use crate::response::{Accepted, Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum OrderBy { Name = "name", Path = "path", Id = "id" }
}

/// Returns the lowest access level that is at least this number. Levels in between do not exist here.
fn to_min_level(number: i64) -> AccessLevel {
    let level = AccessLevel::ALL.into_iter().find(|level| i64::from(level.as_i16()) >= number);
    level.unwrap_or(AccessLevel::Owner)
}

params! {
    struct ListGroups {
        /// Ids of groups to leave out.
        list skip_groups: i64,
        /// Whether to list all visible groups instead of those with the current user as a member. Administrators and
        /// anonymous users always list all that they can see.
        optional all_available: bool,
        /// Only groups that the current user owns.
        optional owned: bool,
        /// Only groups in which the current user has at least this access level.
        optional min_access_level: i64,
        /// Only groups with this visibility.
        optional visibility: VisibilityWord,
        /// Part of the name or path.
        optional search: String,
        /// Sort key, `name` by default.
        optional order_by: OrderBy,
        /// Sort direction, `asc` by default.
        optional sort: Sort,
    }
}

async fn list(context: RequestContext, params: ListGroups) -> ApiResult<PageBody<GroupFields>> {
    let descending = params.sort == Some(Sort::Descending);
    let min_level = match params.owned {
        Some(true) => Some(AccessLevel::Owner),
        _ => params.min_access_level.map(to_min_level),
    };
    let input = BrowseGroups {
        all_available: params.all_available.unwrap_or(false),
        min_level,
        visibility: params.visibility.map(Into::into),
        search: params.search.filter(|term| !term.is_empty()),
        skip: params.skip_groups,
        order: match params.order_by.unwrap_or(OrderBy::Name) {
            OrderBy::Name => Order::Name { descending },
            OrderBy::Path => Order::Path { descending },
            OrderBy::Id if descending => Order::NewestFirst,
            OrderBy::Id => Order::OldestFirst,
        },
    };
    let page = group::browse(context.app(), &context.actor, input, context.page).await?;
    Ok(PageBody(page.map(|group| present_group(group, context.site()))))
}

params! {
    struct ShowGroup {
        required id: GroupRef,
        /// Whether to return the projects of the group, true by default.
        optional with_projects: bool,
    }
}

async fn show(context: RequestContext, params: ShowGroup) -> ApiResult<Body<GroupWithProjects>> {
    if params.with_projects == Some(false) {
        let group = group::show(context.app(), &context.actor, &params.id).await?;
        return Ok(Body(present_without_projects(group, context.site())));
    }
    Ok(Body(load_detail(&context, &params.id).await?))
}

async fn load_detail(context: &RequestContext, group: &GroupRef) -> ApiResult<GroupWithProjects> {
    let group = show_group(context.app(), &context.actor, group).await?;
    Ok(present_detail(group, context.actor.role(), context.site()))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        nullable description: String,
        /// `private` (default), `internal` or `public`.
        optional visibility: VisibilityWord,
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
            visibility: self.visibility.map(Into::into),
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
        /// Not supported: a group cannot be inside another one.
        optional parent_id: i64,
        flatten attributes: Attributes,
    }
}

async fn create(context: RequestContext, params: CreateGroupParams) -> ApiResult<Created<GroupWithProjects>> {
    if params.parent_id.is_some() {
        let error = Violations::single("parent_id", "is not supported: a group cannot be inside another one");
        return Err(holdfast_app::Error::from(error).into());
    }
    let mut changes = params.attributes.into_changes(Field::Value(params.name), Field::Value(params.path));
    changes.visibility = changes.visibility.or(Some(Visibility::Private));
    let group = group::create(context.app(), &context.actor, changes).await?;
    Ok(Created(present_new(group, context.site())))
}

params! {
    struct UpdateGroup {
        required id: GroupRef,
        nullable name: String,
        nullable path: String,
        flatten attributes: Attributes,
    }
}

async fn update(context: RequestContext, params: UpdateGroup) -> ApiResult<Body<GroupWithProjects>> {
    let changes = params.attributes.into_changes(params.name, params.path);
    if changes == GroupChanges::default() {
        let names = ["name", "path", "description", "visibility", "lfs_enabled", "request_access_enabled"];
        return Err(ApiError::at_least_one_required(&names));
    }
    let group = group::update(context.app(), &context.actor, &params.id, changes).await?;
    Ok(Body(load_detail(&context, &GroupRef::Id(group.id)).await?))
}

params! {
    struct OneGroup {
        required id: GroupRef,
    }
}

async fn delete(context: RequestContext, params: OneGroup) -> ApiResult<Accepted> {
    group::delete(context.app(), &context.actor, &params.id).await?;
    Ok(Accepted)
}

params! {
    struct GroupProjectFilter {
        flatten filter: ProjectFilter,
        /// Only projects in which the current user has at least this access level.
        optional min_access_level: i64,
        /// Only projects in which issues are enabled, if true.
        optional with_issues_enabled: bool,
        /// Only projects in which merge requests are enabled, if true.
        optional with_merge_requests_enabled: bool,
    }
}

async fn list_selected_projects(
    context: RequestContext,
    group: &GroupRef,
    selected: GroupProjects,
    params: GroupProjectFilter,
) -> ApiResult<PageBody<ProjectInList>> {
    let (is_simple, role) = (params.filter.simple, context.actor.role());
    let narrowing = Narrowing {
        min_level: params.min_access_level.map(to_min_level),
        needs_issues: params.with_issues_enabled.unwrap_or(false),
        needs_merge_requests: params.with_merge_requests_enabled.unwrap_or(false),
        ..Narrowing::default()
    };
    let input = ListGroupProjects { selected, list: params.filter.into_input(), narrowing };
    let page = list_selected(context.app(), &context.actor, group, input, context.page).await?;
    Ok(PageBody(page.map(|project| present_in_list(&project, is_simple, role, context.site()))))
}

params! {
    struct ListGroupProjectsParams {
        required id: GroupRef,
        /// Whether to include projects that are shared with the group, true by default.
        optional with_shared: bool,
        flatten filter: GroupProjectFilter,
    }
}

async fn list_projects(context: RequestContext, params: ListGroupProjectsParams) -> ApiResult<PageBody<ProjectInList>> {
    let with_shared = params.with_shared.unwrap_or(true);
    let selected = if with_shared { GroupProjects::OwnAndShared } else { GroupProjects::Own };
    list_selected_projects(context, &params.id, selected, params.filter).await
}

params! {
    struct ListSharedProjects {
        required id: GroupRef,
        flatten filter: GroupProjectFilter,
    }
}

async fn list_shared_projects(
    context: RequestContext,
    params: ListSharedProjects,
) -> ApiResult<PageBody<ProjectInList>> {
    list_selected_projects(context, &params.id, GroupProjects::Shared, params.filter).await
}

/// Lists the groups inside a group: there are none.
async fn list_subgroups(context: RequestContext, params: OneGroup) -> ApiResult<PageBody<GroupFields>> {
    group::show(context.app(), &context.actor, &params.id).await?;
    Ok(PageBody(Page::with_total(Vec::new(), context.page, 0)))
}

params! {
    struct Transfer {
        required id: GroupRef,
        required project_id: ProjectRef,
    }
}

async fn transfer(context: RequestContext, params: Transfer) -> ApiResult<Created<GroupWithProjects>> {
    let group = transfer::transfer(context.app(), &context.actor, &params.id, &params.project_id).await?;
    Ok(Created(load_detail(&context, &GroupRef::Id(group.id)).await?))
}

pub fn routes(routes: &mut Routes) {
    const ONE: &str = "/groups/:id";
    const PROJECTS: &str = "/groups/:id/projects";
    const SHARED: &str = "/groups/:id/projects/shared";
    let read = Access::Group(Read);
    routes.add(Method::GET, "/groups", Access::Instance(ExplorePublic), "List groups", list);
    routes.add(Method::GET, ONE, read, "Get a group", show);
    routes.add(Method::POST, "/groups", Access::Instance(CreateGroup), "Create a group", create);
    routes.add(Method::PUT, ONE, Access::Group(Update), "Update a group", update);
    routes.add(Method::DELETE, ONE, Access::Group(Delete), "Delete a group and its projects", delete);
    routes.add(Method::GET, PROJECTS, read, "List the projects of a group", list_projects);
    routes.add(Method::GET, SHARED, read, "List the projects that are shared with a group", list_shared_projects);
    routes.add(Method::GET, "/groups/:id/subgroups", read, "List the groups inside a group", list_subgroups);
    let (descendants, summary) = ("/groups/:id/descendant_groups", "List the groups inside a group, at any depth");
    routes.add(Method::GET, descendants, read, summary, list_subgroups);
    let (into_group, move_into) = ("/groups/:id/projects/:project_id", Access::Instance(TransferProject));
    routes.add(Method::POST, into_group, move_into, "Move a project into a group", transfer);
}
