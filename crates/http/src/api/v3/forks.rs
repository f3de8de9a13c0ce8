use axum::http::Method;
use holdfast_app::projects::fork;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::Fork;

use super::ApiResult;
use super::projects::present_single;
use crate::error::ApiError;
use crate::present::project::ProjectBody;
use crate::response::Created;
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ForkProject {
        required id: ProjectRef,
        /// Id or path of the namespace for the fork.
        required namespace: String,
    }
}

async fn create(context: RequestContext, params: ForkProject) -> ApiResult<Created<ProjectBody>> {
    let result = fork::create(context.app(), &context.actor, &params.id, &params.namespace).await;
    Ok(Created(present_single(&result.map_err(|error| ApiError::from(error).invalid_as_conflict())?, &context)))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::POST, "/projects/fork/:id", Access::Project(Fork), "Fork a project", create);
}
