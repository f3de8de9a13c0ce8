use axum::http::Method;
use holdfast_app::projects::star;
use holdfast_domain::policy::ProjectAction::Star;

use super::ApiResult;
use super::projects::{OneProject, alone};
use crate::answer::{BodyIfChanged, CreatedIfChanged};
use crate::present::project::ProjectBody;
use crate::{Access, Cx, Routes};

async fn create(cx: Cx, params: OneProject) -> ApiResult<CreatedIfChanged<ProjectBody>> {
    let project = star::create(cx.app(), &cx.actor, &params.id).await?;
    Ok(CreatedIfChanged(project.map(|project| alone(&project, &cx))))
}

async fn delete(cx: Cx, params: OneProject) -> ApiResult<BodyIfChanged<ProjectBody>> {
    let project = star::delete(cx.app(), &cx.actor, &params.id).await?;
    Ok(BodyIfChanged(project.map(|project| alone(&project, &cx))))
}

pub fn routes(routes: &mut Routes) {
    let star = Access::Project(Star);
    routes.add(Method::POST, "/projects/:id/star", star, "Stars a project; 304 if it is", create);
    routes.add(Method::DELETE, "/projects/:id/star", star, "Unstars a project; 304 if it is not starred", delete);
}
