use axum::http::Method;
use holdfast_app::repository::transfer::import;
use holdfast_domain::policy::ProjectAction::Update;

use super::ApiResult;
use super::projects::OneProject;
use crate::present::import::{ImportBody, present_import};
use crate::response::Body;
use crate::{Access, RequestContext, Routes};

async fn show(context: RequestContext, params: OneProject) -> ApiResult<Body<ImportBody>> {
    Ok(Body(present_import(import::show(context.app(), &context.actor, &params.id).await?)))
}

async fn cancel(context: RequestContext, params: OneProject) -> ApiResult<Body<ImportBody>> {
    Ok(Body(present_import(import::cancel(context.app(), &context.actor, &params.id).await?)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/import";
    let update = Access::Project(Update);
    routes.add(Method::GET, PATH, update, "Get the progress of a repository import", show);
    routes.add(Method::DELETE, PATH, update, "Cancel a repository import", cancel);
}
