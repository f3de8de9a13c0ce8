use axum::http::Method;
use holdfast_app::repository::import;
use holdfast_domain::policy::ProjectAction::Update;

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::Body;
use crate::present::import::{ImportBody, import as present};
use crate::{Access, Cx, Routes};

async fn show(cx: Cx, params: OneProject) -> ApiResult<Body<ImportBody>> {
    Ok(Body(present(import::show(cx.app(), &cx.actor, &params.id).await?)))
}

async fn cancel(cx: Cx, params: OneProject) -> ApiResult<Body<ImportBody>> {
    Ok(Body(present(import::cancel(cx.app(), &cx.actor, &params.id).await?)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/import";
    let update = Access::Project(Update);
    routes.add(Method::GET, PATH, update, "Tells how far the import of a repository has come", show);
    routes.add(Method::DELETE, PATH, update, "Stops the import of a repository", cancel);
}
