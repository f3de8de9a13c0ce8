use axum::http::{Method, StatusCode};
use holdfast_app::ci::variable;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use crate::error::ApiError;
use crate::present::v4::variable::{ProjectVariableBody, present_variable};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

params! {
    struct VariablesOfProject {
        required id: ProjectRef,
    }
}

async fn list(context: RequestContext, params: VariablesOfProject) -> ApiResult<PageBody<ProjectVariableBody>> {
    let page = variable::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(present_variable)))
}

params! {
    struct OneVariable {
        required id: ProjectRef,
        /// Name of the variable.
        required key: String,
    }
}

async fn show(context: RequestContext, params: OneVariable) -> ApiResult<Body<ProjectVariableBody>> {
    Ok(Body(present_variable(variable::show(context.app(), &context.actor, &params.id, &params.key).await?)))
}

choice! {
    enum VariableType { EnvVar = "env_var" }
}

choice! {
    enum EnvironmentScope { All = "*" }
}

params! {
    /// Options that exist elsewhere. All jobs of a project receive its variables.
    struct Options {
        /// Only `env_var`.
        optional variable_type: VariableType,
        /// Only `*`.
        optional environment_scope: EnvironmentScope,
        /// Only `false`.
        optional protected: bool,
        /// Only `false`.
        optional masked_and_hidden: bool,
        /// Only `false`.
        optional raw: bool,
    }
}

impl Options {
    /// Fails if an option is set. If it were ignored, more jobs or users would get the value than its author expects.
    fn check(&self) -> Result<(), ApiError> {
        let options = [("protected", self.protected), ("masked_and_hidden", self.masked_and_hidden), ("raw", self.raw)];
        match options.into_iter().find(|(_, value)| *value == Some(true)) {
            None => Ok(()),
            Some((name, _)) => {
                Err(ApiError::error(StatusCode::BAD_REQUEST, format!("{name} does not have a valid value")))
            }
        }
    }
}

params! {
    struct CreateVariable {
        required id: ProjectRef,
        /// Name of the variable: letters, digits and `_`.
        required key: String,
        /// Value of the variable.
        required value: String,
        flatten options: Options,
    }
}

async fn create(context: RequestContext, params: CreateVariable) -> ApiResult<Created<ProjectVariableBody>> {
    params.options.check()?;
    let variable = variable::create(context.app(), &context.actor, &params.id, &params.key, &params.value).await?;
    Ok(Created(present_variable(variable)))
}

params! {
    struct UpdateVariable {
        flatten variable: OneVariable,
        /// New value of the variable.
        optional value: String,
        flatten options: Options,
    }
}

async fn update(context: RequestContext, params: UpdateVariable) -> ApiResult<Body<ProjectVariableBody>> {
    let UpdateVariable { variable: OneVariable { id, key }, value, options } = params;
    options.check()?;
    Ok(Body(present_variable(variable::update(context.app(), &context.actor, &id, &key, value.as_deref()).await?)))
}

async fn delete(context: RequestContext, params: OneVariable) -> ApiResult<NoContent> {
    variable::delete(context.app(), &context.actor, &params.id, &params.key).await?;
    Ok(NoContent)
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
