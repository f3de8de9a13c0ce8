use axum::http::Method;
use holdfast_app::ci::variable;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use super::projects::OneProject;
use crate::present::variable::{VariableBody, present_variable};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<VariableBody>> {
    Ok(PageBody(variable::list(context.app(), &context.actor, &params.id, context.page).await?.map(present_variable)))
}

params! {
    struct OneVariable {
        required id: ProjectRef,
        /// Name of the variable.
        required key: String,
    }
}

async fn show(context: RequestContext, params: OneVariable) -> ApiResult<Body<VariableBody>> {
    Ok(Body(present_variable(variable::show(context.app(), &context.actor, &params.id, &params.key).await?)))
}

params! {
    struct CreateVariable {
        required id: ProjectRef,
        /// Name of the variable: letters, digits and `_`.
        required key: String,
        /// Value of the variable.
        required value: String,
    }
}

async fn create(context: RequestContext, params: CreateVariable) -> ApiResult<Created<VariableBody>> {
    let variable = variable::create(context.app(), &context.actor, &params.id, &params.key, &params.value).await?;
    Ok(Created(present_variable(variable)))
}

params! {
    struct UpdateVariable {
        flatten variable: OneVariable,
        /// New value of the variable.
        optional value: String,
    }
}

async fn update(context: RequestContext, params: UpdateVariable) -> ApiResult<Body<VariableBody>> {
    let UpdateVariable { variable: OneVariable { id, key }, value } = params;
    Ok(Body(present_variable(variable::update(context.app(), &context.actor, &id, &key, value.as_deref()).await?)))
}

async fn delete(context: RequestContext, params: OneVariable) -> ApiResult<Body<VariableBody>> {
    Ok(Body(present_variable(variable::delete(context.app(), &context.actor, &params.id, &params.key).await?)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/variables";
    const ONE: &str = "/projects/:id/variables/:key";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, PATH, manage, "List project variables", list);
    routes.add(Method::GET, ONE, manage, "Get a project variable", show);
    routes.add(Method::POST, PATH, manage, "Create a project variable", create);
    routes.add(Method::PUT, ONE, manage, "Update a project variable", update);
    routes.add(Method::DELETE, ONE, manage, "Delete a project variable", delete);
}
