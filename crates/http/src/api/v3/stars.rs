use axum::http::Method;
use holdfast_app::projects::star;
use holdfast_domain::policy::ProjectAction::Star;

use super::ApiResult;
use super::projects::{OneProject, present_single};
use crate::present::project::ProjectBody;
use crate::response::{BodyIfChanged, CreatedIfChanged};
use crate::{Access, RequestContext, Routes};

async fn create(context: RequestContext, params: OneProject) -> ApiResult<CreatedIfChanged<ProjectBody>> {
    let project = star::create(context.app(), &context.actor, &params.id).await?;
    Ok(CreatedIfChanged(project.map(|project| present_single(&project, &context))))
}

async fn delete(context: RequestContext, params: OneProject) -> ApiResult<BodyIfChanged<ProjectBody>> {
    let project = star::delete(context.app(), &context.actor, &params.id).await?;
    Ok(BodyIfChanged(project.map(|project| present_single(&project, &context))))
}

pub fn routes(routes: &mut Routes) {
    let star = Access::Project(Star);
    routes.add(Method::POST, "/projects/:id/star", star, "Star a project", create);
    routes.add(Method::DELETE, "/projects/:id/star", star, "Unstar a project", delete);
}
