use axum::http::Method;
use holdfast_app::ci::job_token_allowlist;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use super::projects::OneProject;
use crate::present::job_token_allowlist::{AllowedProjectBody, AllowlistEntry, allowed_project, entry};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<AllowedProjectBody>> {
    let page = job_token_allowlist::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(allowed_project)))
}

params! {
    struct OneAllowedProject {
        required id: ProjectRef,
        /// Id of the project whose builds may read this project.
        required target_project_id: ProjectId,
    }
}

async fn create(context: RequestContext, params: OneAllowedProject) -> ApiResult<Created<AllowlistEntry>> {
    let target = params.target_project_id;
    let allowed = ProjectRef::Id(target);
    let source = job_token_allowlist::create(context.app(), &context.actor, &params.id, &allowed).await?;
    Ok(Created(entry(source, target)))
}

async fn delete(context: RequestContext, params: OneAllowedProject) -> ApiResult<Body<AllowlistEntry>> {
    let target = params.target_project_id;
    let source = job_token_allowlist::delete(context.app(), &context.actor, &params.id, target).await?;
    Ok(Body(entry(source, target)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/job_token_scope/allowlist";
    const ONE: &str = "/projects/:id/job_token_scope/allowlist/:target_project_id";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, PATH, manage, "List the projects on the job token allow list", list);
    routes.add(Method::POST, PATH, manage, "Add a project to the job token allow list", create);
    routes.add(Method::DELETE, ONE, manage, "Remove a project from the job token allow list", delete);
}
