use axum::http::Method;
use holdfast_app::ci::job_token_allowlist;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, Created, Listed};
use crate::present::job_token_allowlist::{AllowedProjectBody, AllowlistEntry, allowed_project, entry};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<AllowedProjectBody>> {
    let page = job_token_allowlist::list(cx.app(), &cx.actor, &params.id, cx.page).await?;
    Ok(Listed(page.map(allowed_project)))
}

params! {
    struct OneAllowedProject {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// The number of the project whose builds may read this one.
        required target_project_id: ProjectId,
    }
}

async fn create(cx: Cx, params: OneAllowedProject) -> ApiResult<Created<AllowlistEntry>> {
    let reading = params.target_project_id;
    let read = job_token_allowlist::create(cx.app(), &cx.actor, &params.id, reading).await?;
    Ok(Created(entry(read, reading)))
}

async fn delete(cx: Cx, params: OneAllowedProject) -> ApiResult<Body<AllowlistEntry>> {
    let reading = params.target_project_id;
    let read = job_token_allowlist::delete(cx.app(), &cx.actor, &params.id, reading).await?;
    Ok(Body(entry(read, reading)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/job_token_scope/allowlist";
    const ONE: &str = "/projects/:id/job_token_scope/allowlist/:target_project_id";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, PATH, manage, "List the projects whose builds may read this one", list);
    routes.add(Method::POST, PATH, manage, "Let the builds of a project read this one", create);
    routes.add(Method::DELETE, ONE, manage, "Remove a project from the job token allow list", delete);
}
