use axum::http::Method;
use holdfast_app::ci::variable;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, Created, Listed};
use crate::present::variable::{VariableBody, variable as present};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<VariableBody>> {
    Ok(Listed(variable::list(cx.app(), &cx.actor, &params.id, cx.page).await?.map(present)))
}

params! {
    struct OneVariable {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required key: String,
    }
}

async fn show(cx: Cx, params: OneVariable) -> ApiResult<Body<VariableBody>> {
    Ok(Body(present(variable::show(cx.app(), &cx.actor, &params.id, &params.key).await?)))
}

params! {
    struct CreateVariable {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Letters, digits and `_`.
        required key: String,
        required value: String,
    }
}

async fn create(cx: Cx, params: CreateVariable) -> ApiResult<Created<VariableBody>> {
    let made = variable::create(cx.app(), &cx.actor, &params.id, &params.key, &params.value).await?;
    Ok(Created(present(made)))
}

params! {
    struct UpdateVariable {
        including variable: OneVariable,
        optional value: String,
    }
}

async fn update(cx: Cx, params: UpdateVariable) -> ApiResult<Body<VariableBody>> {
    let UpdateVariable { variable: OneVariable { id, key }, value } = params;
    Ok(Body(present(variable::update(cx.app(), &cx.actor, &id, &key, value.as_deref()).await?)))
}

async fn delete(cx: Cx, params: OneVariable) -> ApiResult<Body<VariableBody>> {
    Ok(Body(present(variable::delete(cx.app(), &cx.actor, &params.id, &params.key).await?)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/variables";
    const ONE: &str = "/projects/:id/variables/:key";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, PATH, manage, "Lists what a project gives to its builds", list);
    routes.add(Method::GET, ONE, manage, "Shows a variable", show);
    routes.add(Method::POST, PATH, manage, "Creates a variable", create);
    routes.add(Method::PUT, ONE, manage, "Changes a variable", update);
    routes.add(Method::DELETE, ONE, manage, "Removes a variable", delete);
}
