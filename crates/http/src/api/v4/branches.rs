use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::branch::{self, DetailedBranch, ListRefs, RefOrder};
use holdfast_app::repository::refs::merged_branches;
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};

use super::ApiResult;
use crate::present::v4::branch::{ProjectBranch, present_branch};
use crate::response::{Accepted, Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    /// The name, or the date of the last commit.
    enum BranchSort {
        Name = "name_asc",
        OldestUpdate = "updated_asc",
        NewestUpdate = "updated_desc",
    }
}

params! {
    struct ListBranches {
        required id: ProjectRef,
        /// Only branches whose names contain this text, in any letter case. `^` before it stands for the beginning of a
        /// name, and `$` after it for the end.
        optional search: String,
        /// Order, by name by default. More than 10,000 branches are always sorted by name.
        optional sort: BranchSort,
    }
}

async fn list(context: RequestContext, params: ListBranches) -> ApiResult<PageBody<ProjectBranch>> {
    let (order, descending) = match params.sort {
        None | Some(BranchSort::Name) => (RefOrder::Name, false),
        Some(BranchSort::OldestUpdate) => (RefOrder::Date, false),
        Some(BranchSort::NewestUpdate) => (RefOrder::Date, true),
    };
    let input = ListRefs { search: params.search, order, descending };
    let found = branch::search(context.app(), &context.actor, &params.id, &input, context.page).await?;
    let path = found.project.full_path();
    Ok(PageBody(found.branches.map(|branch| present_branch(branch, &path, context.site()))))
}

params! {
    struct OneBranch {
        required id: ProjectRef,
        /// Name of the branch, with slashes as %2F.
        required branch: String,
    }
}

fn present(found: DetailedBranch, context: &RequestContext) -> ProjectBranch {
    present_branch(found.branch, &found.project.full_path(), context.site())
}

async fn show(context: RequestContext, params: OneBranch) -> ApiResult<Body<ProjectBranch>> {
    let found = branch::show_details(context.app(), &context.actor, &params.id, &params.branch).await?;
    Ok(Body(present(found, &context)))
}

params! {
    struct CreateBranch {
        required id: ProjectRef,
        /// Name of the new branch.
        required branch: String,
        /// Branch, tag or commit that the new branch starts at.
        required r#ref: String,
    }
}

async fn create(context: RequestContext, params: CreateBranch) -> ApiResult<Created<ProjectBranch>> {
    let (app, actor) = (context.app(), &context.actor);
    let created = branch::create_with_details(app, actor, &params.id, &params.branch, &params.r#ref).await?;
    Ok(Created(present(created, &context)))
}

async fn delete(context: RequestContext, params: OneBranch) -> ApiResult<NoContent> {
    branch::delete(context.app(), &context.actor, &params.id, &params.branch).await?;
    Ok(NoContent)
}

params! {
    struct OneProject {
        required id: ProjectRef,
    }
}

async fn delete_merged(context: RequestContext, params: OneProject) -> ApiResult<Accepted> {
    merged_branches::delete(context.app(), &context.actor, &params.id).await?;
    Ok(Accepted)
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/branches";
    const ONE: &str = "/projects/:id/repository/branches/:branch";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "List branches", list);
    routes.add(Method::GET, ONE, read, "Get a branch", show);
    routes.add(Method::POST, PATH, write, "Create a branch", create);
    routes.add(Method::DELETE, ONE, write, "Delete a branch", delete);
    const MERGED: &str = "/projects/:id/repository/merged_branches";
    routes.add(Method::DELETE, MERGED, write, "Delete the branches merged into the default branch", delete_merged);
}
