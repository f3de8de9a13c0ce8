use axum::http::Method;
use holdfast_app::projects::list::{self, ListProjects, ListScope, Order, SortKey};
use holdfast_app::projects::project::Project;
use holdfast_domain::Visibility;
use holdfast_domain::page::Page;
use holdfast_domain::policy::InstanceAction::{ListAllProjects, ListProjects as BrowseProjects};

use super::ApiResult;
use crate::present::project::{ListedProject, ProjectView, present_project, simple};
use crate::response::PageBody;
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    pub enum OrderBy {
        Id = "id",
        Name = "name",
        Path = "path",
        CreatedAt = "created_at",
        UpdatedAt = "updated_at",
        LastActivityAt = "last_activity_at",
    }
}

choice! {
    pub enum VisibilityWord { Public = "public", Internal = "internal", Private = "private" }
}

choice! {
    pub enum Sort { Ascending = "asc", Descending = "desc" }
}

params! {
    /// What all lists of projects have in common.
    pub struct ProjectFilter {
        /// Only archived projects if true, only other projects if false.
        optional archived: bool,
        /// Only projects with this visibility.
        optional visibility: VisibilityWord,
        /// Sort key, `created_at` by default.
        optional order_by: OrderBy,
        /// Sort direction, `desc` by default.
        optional sort: Sort,
        /// Part of the name, path or description.
        optional search: String,
    }
}

impl ProjectFilter {
    pub fn into_input(self) -> ListProjects {
        ListProjects {
            archived: self.archived,
            visibility: self.visibility.map(|word| match word {
                VisibilityWord::Public => Visibility::Public,
                VisibilityWord::Internal => Visibility::Internal,
                VisibilityWord::Private => Visibility::Private,
            }),
            search: self.search.filter(|term| !term.is_empty()),
            order: Order {
                sort_key: match self.order_by.unwrap_or(OrderBy::CreatedAt) {
                    OrderBy::Id => SortKey::Id,
                    OrderBy::Name => SortKey::Name,
                    OrderBy::Path => SortKey::Path,
                    OrderBy::CreatedAt => SortKey::CreatedAt,
                    OrderBy::UpdatedAt => SortKey::UpdatedAt,
                    OrderBy::LastActivityAt => SortKey::LastActivityAt,
                },
                descending: self.sort.unwrap_or(Sort::Descending) == Sort::Descending,
                builds_first: false,
            },
        }
    }
}

params! {
    struct ListParams {
        flatten filter: ProjectFilter,
        /// Whether to return only the id, URLs, name and path of each project.
        optional simple: bool,
    }
}

pub fn present_page(
    page: Page<Project>,
    is_simple: Option<bool>,
    view: ProjectView,
    context: &RequestContext,
) -> Page<ListedProject> {
    page.map(|it| match is_simple {
        Some(true) => ListedProject::Simple(simple(&it, context.site())),
        _ => ListedProject::Full(Box::new(present_project(&it, view, context.actor.role(), context.site()))),
    })
}

async fn list_in_scope(
    context: RequestContext,
    scope: ListScope,
    params: ListParams,
) -> ApiResult<PageBody<ListedProject>> {
    let page = list::list(context.app(), &context.actor, scope, params.filter.into_input(), context.page).await?;
    let view = if scope == ListScope::Starred { ProjectView::Plain } else { ProjectView::Own };
    Ok(PageBody(present_page(page, params.simple, view, &context)))
}

async fn list_member(context: RequestContext, params: ListParams) -> ApiResult<PageBody<ListedProject>> {
    list_in_scope(context, ListScope::Member, params).await
}

async fn list_visible(context: RequestContext, params: ListParams) -> ApiResult<PageBody<ListedProject>> {
    list_in_scope(context, ListScope::Visible, params).await
}

async fn list_owned(context: RequestContext, params: ListParams) -> ApiResult<PageBody<ListedProject>> {
    list_in_scope(context, ListScope::Owned, params).await
}

async fn list_starred(context: RequestContext, params: ListParams) -> ApiResult<PageBody<ListedProject>> {
    list_in_scope(context, ListScope::Starred, params).await
}

async fn list_all(context: RequestContext, params: ListParams) -> ApiResult<PageBody<ListedProject>> {
    list_in_scope(context, ListScope::All, params).await
}

params! {
    struct Search {
        /// Part of the name, path or description.
        required query: String,
        /// Sort key, `created_at` by default.
        optional order_by: OrderBy,
        /// Sort direction, `desc` by default.
        optional sort: Sort,
    }
}

/// Searches the visible projects, at an older path that clients still use.
async fn search(context: RequestContext, params: Search) -> ApiResult<PageBody<ListedProject>> {
    let filter = ProjectFilter {
        archived: None,
        visibility: None,
        order_by: params.order_by,
        sort: params.sort,
        search: Some(params.query),
    };
    list_in_scope(context, ListScope::Visible, ListParams { filter, simple: None }).await
}

pub fn routes(routes: &mut Routes) {
    let browse = Access::Instance(BrowseProjects);
    routes.add(
        Method::GET,
        "/projects",
        browse,
        "List the projects of which the current user is a member",
        list_member,
    );
    routes.add(Method::GET, "/projects/visible", browse, "List the projects visible to the current user", list_visible);
    routes.add(Method::GET, "/projects/owned", browse, "List the projects owned by the current user", list_owned);
    routes.add(Method::GET, "/projects/starred", browse, "List the projects starred by the current user", list_starred);
    routes.add(Method::GET, "/projects/all", Access::Instance(ListAllProjects), "List all projects", list_all);
    routes.add(
        Method::GET,
        "/projects/search/:query",
        browse,
        "Search the projects visible to the current user",
        search,
    );
}
