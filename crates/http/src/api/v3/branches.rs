use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::{branch, merged_branches};
use holdfast_domain::policy::ProjectAction::{ProtectBranches, ReadCode, WriteCode};

use super::ApiResult;
use super::projects::OneProject;
use crate::present::branch::{BackgroundWorkBody, BranchBody, RemovedBranch, present_branch};
use crate::response::{Body, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<BranchBody>> {
    Ok(PageBody(branch::list(context.app(), &context.actor, &params.id, context.page).await?.map(present_branch)))
}

params! {
    struct OneBranch {
        required id: ProjectRef,
        /// Name of the branch, with slashes as %2F.
        required branch: String,
    }
}

async fn show(context: RequestContext, params: OneBranch) -> ApiResult<Body<BranchBody>> {
    Ok(Body(present_branch(branch::show(context.app(), &context.actor, &params.id, &params.branch).await?)))
}

params! {
    struct CreateBranch {
        required id: ProjectRef,
        /// Name of the new branch.
        required branch_name: String,
        /// Branch, tag or commit that the new branch starts at.
        required r#ref: String,
    }
}

async fn create(context: RequestContext, params: CreateBranch) -> ApiResult<Body<BranchBody>> {
    let branch = branch::create(context.app(), &context.actor, &params.id, &params.branch_name, &params.r#ref).await?;
    Ok(Body(present_branch(branch)))
}

async fn delete(context: RequestContext, params: OneBranch) -> ApiResult<Body<RemovedBranch>> {
    let branch_name = branch::delete(context.app(), &context.actor, &params.id, &params.branch).await?;
    Ok(Body(RemovedBranch { branch_name }))
}

params! {
    struct ProtectBranch {
        flatten branch: OneBranch,
        /// Whether developers may push to the branch, false by default.
        optional developers_can_push: bool,
        /// Whether developers may merge into the branch, false by default.
        optional developers_can_merge: bool,
    }
}

async fn protect(context: RequestContext, params: ProtectBranch) -> ApiResult<Body<BranchBody>> {
    let ProtectBranch { branch: OneBranch { id, branch }, developers_can_push: push, developers_can_merge: merge } =
        params;
    let (push, merge) = (push.unwrap_or(false), merge.unwrap_or(false));
    Ok(Body(present_branch(branch::protect(context.app(), &context.actor, &id, &branch, push, merge).await?)))
}

async fn unprotect(context: RequestContext, params: OneBranch) -> ApiResult<Body<BranchBody>> {
    Ok(Body(present_branch(branch::unprotect(context.app(), &context.actor, &params.id, &params.branch).await?)))
}

async fn delete_merged(context: RequestContext, params: OneProject) -> ApiResult<Body<BackgroundWorkBody>> {
    merged_branches::delete(context.app(), &context.actor, &params.id).await?;
    Ok(Body(BackgroundWorkBody { message: "The branches that are merged are being deleted" }))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/branches";
    const ONE: &str = "/projects/:id/repository/branches/:branch";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "List branches", list);
    routes.add(Method::GET, ONE, read, "Get a branch", show);
    routes.add(Method::POST, PATH, write, "Create a branch", create);
    routes.add(Method::DELETE, ONE, write, "Delete a branch", delete);
    let protects = Access::Project(ProtectBranches);
    const PROTECT: &str = "/projects/:id/repository/branches/:branch/protect";
    routes.add(Method::PUT, PROTECT, protects, "Protect a branch", protect);
    const UNPROTECT: &str = "/projects/:id/repository/branches/:branch/unprotect";
    routes.add(Method::PUT, UNPROTECT, protects, "Unprotect a branch", unprotect);
    const MERGED: &str = "/projects/:id/repository/merged_branches";
    routes.add(Method::DELETE, MERGED, write, "Delete the branches merged into the default branch", delete_merged);
}
