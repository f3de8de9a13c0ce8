use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::{branch, merged_branches};
use holdfast_domain::policy::ProjectAction::{ProtectBranches, ReadCode, WriteCode};

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, Listed};
use crate::present::branch::{Begun, BranchBody, RemovedBranch, branch as present};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<BranchBody>> {
    Ok(Listed(branch::list(cx.app(), &cx.actor, &params.id, cx.page).await?.map(present)))
}

params! {
    struct OneBranch {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Its slashes as %2F.
        required branch: String,
    }
}

async fn show(cx: Cx, params: OneBranch) -> ApiResult<Body<BranchBody>> {
    Ok(Body(present(branch::show(cx.app(), &cx.actor, &params.id, &params.branch).await?)))
}

params! {
    struct CreateBranch {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required branch_name: String,
        /// A branch, a tag or the id of a commit.
        required r#ref: String,
    }
}

async fn create(cx: Cx, params: CreateBranch) -> ApiResult<Body<BranchBody>> {
    let made = branch::create(cx.app(), &cx.actor, &params.id, &params.branch_name, &params.r#ref).await?;
    Ok(Body(present(made)))
}

async fn delete(cx: Cx, params: OneBranch) -> ApiResult<Body<RemovedBranch>> {
    let branch_name = branch::delete(cx.app(), &cx.actor, &params.id, &params.branch).await?;
    Ok(Body(RemovedBranch { branch_name }))
}

params! {
    struct ProtectBranch {
        including branch: OneBranch,
        /// False if it is left out, as is the other.
        optional developers_can_push: bool,
        optional developers_can_merge: bool,
    }
}

async fn protect(cx: Cx, params: ProtectBranch) -> ApiResult<Body<BranchBody>> {
    let ProtectBranch { branch: OneBranch { id, branch }, developers_can_push: push, developers_can_merge: merge } =
        params;
    let (push, merge) = (push.unwrap_or(false), merge.unwrap_or(false));
    Ok(Body(present(branch::protect(cx.app(), &cx.actor, &id, &branch, push, merge).await?)))
}

async fn unprotect(cx: Cx, params: OneBranch) -> ApiResult<Body<BranchBody>> {
    Ok(Body(present(branch::unprotect(cx.app(), &cx.actor, &params.id, &params.branch).await?)))
}

async fn delete_merged(cx: Cx, params: OneProject) -> ApiResult<Body<Begun>> {
    merged_branches::delete(cx.app(), &cx.actor, &params.id).await?;
    Ok(Body(Begun { message: "The branches that are merged are being deleted" }))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/branches";
    const ONE: &str = "/projects/:id/repository/branches/:branch";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "Lists branches by name", list);
    routes.add(Method::GET, ONE, read, "Shows a branch", show);
    routes.add(Method::POST, PATH, write, "Creates a branch; the answer is 200", create);
    routes.add(Method::DELETE, ONE, write, "Removes a branch", delete);
    let protects = Access::Project(ProtectBranches);
    const PROTECT: &str = "/projects/:id/repository/branches/:branch/protect";
    routes.add(Method::PUT, PROTECT, protects, "Protects a branch", protect);
    const UNPROTECT: &str = "/projects/:id/repository/branches/:branch/unprotect";
    routes.add(Method::PUT, UNPROTECT, protects, "Ends the protection of a branch", unprotect);
    const MERGED: &str = "/projects/:id/repository/merged_branches";
    routes.add(
        Method::DELETE,
        MERGED,
        write,
        "Begins to remove the branches merged into the default one",
        delete_merged,
    );
}
