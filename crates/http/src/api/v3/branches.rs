use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::branch;
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, Listed};
use crate::present::branch::{BranchBody, RemovedBranch, branch as present};
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

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/branches";
    const ONE: &str = "/projects/:id/repository/branches/:branch";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "Lists branches by name", list);
    routes.add(Method::GET, ONE, read, "Shows a branch", show);
    routes.add(Method::POST, PATH, write, "Creates a branch; the answer is 200", create);
    routes.add(Method::DELETE, ONE, write, "Removes a branch", delete);
}
