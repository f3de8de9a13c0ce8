use axum::http::Method;
use holdfast_app::namespaces::group::{self, GroupChanges, GroupRef, ListGroups, Order};
use holdfast_app::projects::group::{list as list_projects, show as show_group};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::transfer;
use holdfast_domain::policy::GroupAction::{Delete, Read, Update};
use holdfast_domain::policy::InstanceAction::{CreateGroup, ListGroups as BrowseGroups, TransferProject};
use holdfast_domain::{Field, Visibility};

use super::ApiResult;
use super::project_lists::{ProjectFilter, Sort, listed};
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::present::group::{GroupBody, GroupDetail, GroupSummary, created, detail, summary};
use crate::present::project::{Form, ListedProject};
use crate::{Access, Cx, Routes, choice, params};

choice! {
    enum OrderBy { Name = "name", Path = "path" }
}

params! {
    struct ListGroupsParams {
        /// Ids of groups to leave out.
        list skip_groups: i64,
        /// All groups the caller can see, not only the own ones.
        optional all_available: bool,
        /// Part of the name or of the path.
        optional search: String,
        optional order_by: OrderBy,
        optional sort: Sort,
    }
}

async fn list(cx: Cx, params: ListGroupsParams) -> ApiResult<Listed<GroupSummary>> {
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
    Ok(Listed(group::list(cx.app(), &cx.actor, input, cx.page).await?.map(summary)))
}

async fn list_owned(cx: Cx, (): ()) -> ApiResult<Listed<GroupSummary>> {
    Ok(Listed(group::list_owned(cx.app(), &cx.actor, cx.page).await?.map(summary)))
}

params! {
    struct OneGroup {
        /// Number or path.
        required id: GroupRef,
    }
}

async fn show(cx: Cx, params: OneGroup) -> ApiResult<Body<GroupDetail>> {
    let group = show_group(cx.app(), &cx.actor, &params.id).await?;
    Ok(Body(detail(group, cx.actor.standing(), cx.site())))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        changed description: String,
        /// 0 private, 10 internal, 20 public (default).
        optional visibility_level: Visibility,
        optional lfs_enabled: bool,
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
        required name: String,
        required path: String,
        including attributes: Attributes,
    }
}

async fn create(cx: Cx, params: CreateGroupParams) -> ApiResult<Created<GroupBody>> {
    let changes = params.attributes.into_changes(Field::Value(params.name), Field::Value(params.path));
    let group = group::create(cx.app(), &cx.actor, changes).await?;
    Ok(Created(created(group, cx.site())))
}

params! {
    struct UpdateGroup {
        /// Number or path.
        required id: GroupRef,
        changed name: String,
        changed path: String,
        including attributes: Attributes,
    }
}

async fn update(cx: Cx, params: UpdateGroup) -> ApiResult<Body<GroupDetail>> {
    let changes = params.attributes.into_changes(params.name, params.path);
    if changes == GroupChanges::default() {
        let names = ["name", "path", "description", "visibility_level", "lfs_enabled", "request_access_enabled"];
        return Err(ApiError::at_least_one(&names));
    }
    let group = group::update(cx.app(), &cx.actor, &params.id, changes).await?;
    let group = show_group(cx.app(), &cx.actor, &GroupRef::Id(group.id)).await?;
    Ok(Body(detail(group, cx.actor.standing(), cx.site())))
}

async fn delete(cx: Cx, params: OneGroup) -> ApiResult<Body<GroupBody>> {
    let group = group::delete(cx.app(), &cx.actor, &params.id).await?;
    Ok(Body(created(group, cx.site())))
}

params! {
    struct GroupProjects {
        /// Number or path.
        required id: GroupRef,
        including filter: ProjectFilter,
        /// Projects with continuous integration come first.
        optional ci_enabled_first: bool,
        /// Only id, addresses, name and path of each.
        optional simple: bool,
    }
}

async fn projects(cx: Cx, params: GroupProjects) -> ApiResult<Listed<ListedProject>> {
    let mut input = params.filter.into_input();
    input.order.builds_first = params.ci_enabled_first.unwrap_or(false);
    let page = list_projects(cx.app(), &cx.actor, &params.id, input, cx.page).await?;
    Ok(Listed(listed(page, params.simple, Form::Plain, &cx)))
}

params! {
    struct Transfer {
        /// Number or path of the group.
        required id: GroupRef,
        /// Number or path of the project.
        required project_id: ProjectRef,
    }
}

async fn transfer(cx: Cx, params: Transfer) -> ApiResult<Created<GroupDetail>> {
    let group = transfer::transfer(cx.app(), &cx.actor, &params.id, &params.project_id).await?;
    let group = show_group(cx.app(), &cx.actor, &GroupRef::Id(group.id)).await?;
    Ok(Created(detail(group, cx.actor.standing(), cx.site())))
}

pub fn routes(routes: &mut Routes) {
    let browse = Access::Instance(BrowseGroups);
    routes.add(Method::GET, "/groups", browse, "Lists groups", list);
    routes.add(Method::GET, "/groups/owned", browse, "Lists the groups the caller owns", list_owned);
    routes.add(Method::GET, "/groups/:id", Access::Group(Read), "Shows a group", show);
    routes.add(Method::GET, "/groups/:id/projects", Access::Group(Read), "Lists the projects of a group", projects);
    let (into_group, move_into) = ("/groups/:id/projects/:project_id", Access::Instance(TransferProject));
    routes.add(Method::POST, into_group, move_into, "Moves a project into a group", transfer);
    routes.add(Method::POST, "/groups", Access::Instance(CreateGroup), "Creates a group", create);
    routes.add(Method::PUT, "/groups/:id", Access::Group(Update), "Changes a group", update);
    routes.add(Method::DELETE, "/groups/:id", Access::Group(Delete), "Deletes a group and what is in it", delete);
}
