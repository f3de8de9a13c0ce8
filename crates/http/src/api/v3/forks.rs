use axum::http::Method;
use holdfast_app::projects::fork;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::Fork;

use super::ApiResult;
use super::projects::alone;
use crate::answer::Created;
use crate::error::ApiError;
use crate::present::project::ProjectBody;
use crate::{Access, Cx, Routes, params};

params! {
    struct ForkProject {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Where the fork goes: the number or the path of a namespace.
        required namespace: String,
    }
}

async fn create(cx: Cx, params: ForkProject) -> ApiResult<Created<ProjectBody>> {
    let made = fork::create(cx.app(), &cx.actor, &params.id, &params.namespace).await;
    Ok(Created(alone(&made.map_err(|error| ApiError::from(error).or_conflict())?, &cx)))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::POST, "/projects/fork/:id", Access::Project(Fork), "Forks a project", create);
}
