use axum::http::Method;
use holdfast_app::namespaces::group::{self, GroupChanges, GroupRef, ListGroups, Order};
use holdfast_domain::page::Page;
use holdfast_domain::policy::GroupAction::{Delete, Read, Update};
use holdfast_domain::policy::InstanceAction::{CreateGroup, ListGroups as BrowseGroups};
use holdfast_domain::{Field, Visibility};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::present::group::{GroupBody, GroupDetail, GroupSummary, created, detail, summary};
use crate::{Access, Cx, Routes, choice, params};

choice! {
    enum OrderBy { Name = "name", Path = "path" }
}

choice! {
    enum ProjectOrder {
        Id = "id",
        Name = "name",
        Path = "path",
        CreatedAt = "created_at",
        UpdatedAt = "updated_at",
        LastActivityAt = "last_activity_at",
    }
}

choice! {
    enum VisibilityWord { Public = "public", Internal = "internal", Private = "private" }
}

choice! {
    enum Sort { Ascending = "asc", Descending = "desc" }
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
    let group = group::show(cx.app(), &cx.actor, &params.id).await?;
    Ok(Body(detail(group, cx.site())))
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
    Ok(Body(detail(group, cx.site())))
}

async fn delete(cx: Cx, params: OneGroup) -> ApiResult<Body<GroupBody>> {
    let group = group::delete(cx.app(), &cx.actor, &params.id).await?;
    Ok(Body(created(group, cx.site())))
}

params! {
    struct GroupProjects {
        /// Number or path.
        required id: GroupRef,
        optional archived: bool,
        optional visibility: VisibilityWord,
        optional order_by: ProjectOrder,
        optional sort: Sort,
        optional search: String,
        /// Projects with continuous integration come first.
        optional ci_enabled_first: bool,
    }
}

/// No group has projects yet: there are none.
async fn projects(cx: Cx, params: GroupProjects) -> ApiResult<Listed<serde_json::Value>> {
    group::show(cx.app(), &cx.actor, &params.id).await?;
    let _ = (params.archived, params.visibility, params.order_by, params.sort, params.search, params.ci_enabled_first);
    Ok(Listed(Page::empty(cx.page)))
}

pub fn routes(routes: &mut Routes) {
    let browse = Access::Instance(BrowseGroups);
    routes.add(Method::GET, "/groups", browse, "Lists groups", list);
    routes.add(Method::GET, "/groups/owned", browse, "Lists the groups the caller owns", list_owned);
    routes.add(Method::GET, "/groups/:id", Access::Group(Read), "Shows a group", show);
    routes.add(Method::GET, "/groups/:id/projects", Access::Group(Read), "Lists the projects of a group", projects);
    routes.add(Method::POST, "/groups", Access::Instance(CreateGroup), "Creates a group", create);
    routes.add(Method::PUT, "/groups/:id", Access::Group(Update), "Changes a group", update);
    routes.add(Method::DELETE, "/groups/:id", Access::Group(Delete), "Deletes a group and what is in it", delete);
}
