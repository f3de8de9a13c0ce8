use axum::http::Method;
use holdfast_app::projects::list::{self, Key, ListProjects, Order, Scope};
use holdfast_app::projects::project::Project;
use holdfast_domain::Visibility;
use holdfast_domain::page::Page;
use holdfast_domain::policy::InstanceAction::{ListAllProjects, ListProjects as BrowseProjects};

use super::ApiResult;
use crate::answer::Listed;
use crate::present::project::{Form, ListedProject, project, simple};
use crate::{Access, Cx, Routes, choice, params};

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
        optional archived: bool,
        optional visibility: VisibilityWord,
        /// `created_at` by default.
        optional order_by: OrderBy,
        /// `desc` by default.
        optional sort: Sort,
        /// Part of the name, the path or the description.
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
                key: match self.order_by.unwrap_or(OrderBy::CreatedAt) {
                    OrderBy::Id => Key::Id,
                    OrderBy::Name => Key::Name,
                    OrderBy::Path => Key::Path,
                    OrderBy::CreatedAt => Key::CreatedAt,
                    OrderBy::UpdatedAt => Key::UpdatedAt,
                    OrderBy::LastActivityAt => Key::LastActivityAt,
                },
                descending: self.sort.unwrap_or(Sort::Descending) == Sort::Descending,
                builds_first: false,
            },
        }
    }
}

params! {
    struct ListParams {
        including filter: ProjectFilter,
        /// Only id, addresses, name and path of each.
        optional simple: bool,
    }
}

pub fn listed(page: Page<Project>, is_simple: Option<bool>, form: Form, cx: &Cx) -> Page<ListedProject> {
    page.map(|it| match is_simple {
        Some(true) => ListedProject::Simple(simple(&it, cx.site())),
        _ => ListedProject::Full(Box::new(project(&it, form, cx.actor.standing(), cx.site()))),
    })
}

async fn answer(cx: Cx, scope: Scope, params: ListParams) -> ApiResult<Listed<ListedProject>> {
    let page = list::list(cx.app(), &cx.actor, scope, params.filter.into_input(), cx.page).await?;
    let form = if scope == Scope::Starred { Form::Plain } else { Form::Own };
    Ok(Listed(listed(page, params.simple, form, &cx)))
}

async fn member(cx: Cx, params: ListParams) -> ApiResult<Listed<ListedProject>> {
    answer(cx, Scope::Member, params).await
}

async fn visible(cx: Cx, params: ListParams) -> ApiResult<Listed<ListedProject>> {
    answer(cx, Scope::Visible, params).await
}

async fn owned(cx: Cx, params: ListParams) -> ApiResult<Listed<ListedProject>> {
    answer(cx, Scope::Owned, params).await
}

async fn starred(cx: Cx, params: ListParams) -> ApiResult<Listed<ListedProject>> {
    answer(cx, Scope::Starred, params).await
}

async fn all(cx: Cx, params: ListParams) -> ApiResult<Listed<ListedProject>> {
    answer(cx, Scope::All, params).await
}

params! {
    struct Search {
        /// Part of the name, the path or the description.
        required query: String,
        optional order_by: OrderBy,
        optional sort: Sort,
    }
}

/// The visible ones, as an older address that clients still use.
async fn search(cx: Cx, params: Search) -> ApiResult<Listed<ListedProject>> {
    let filter = ProjectFilter {
        archived: None,
        visibility: None,
        order_by: params.order_by,
        sort: params.sort,
        search: Some(params.query),
    };
    answer(cx, Scope::Visible, ListParams { filter, simple: None }).await
}

pub fn routes(routes: &mut Routes) {
    let browse = Access::Instance(BrowseProjects);
    routes.add(Method::GET, "/projects", browse, "Lists the projects the caller is a member of", member);
    routes.add(Method::GET, "/projects/visible", browse, "Lists the projects the caller can see", visible);
    routes.add(Method::GET, "/projects/owned", browse, "Lists the projects the caller owns", owned);
    routes.add(Method::GET, "/projects/starred", browse, "Lists the projects the caller has starred", starred);
    routes.add(Method::GET, "/projects/all", Access::Instance(ListAllProjects), "Lists all projects", all);
    routes.add(Method::GET, "/projects/search/:query", browse, "Searches the projects the caller can see", search);
}
