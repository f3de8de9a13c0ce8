use axum::http::{Method, StatusCode};
use holdfast_app::ci::trigger;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use super::projects::OneProject;
use crate::error::ApiError;
use crate::params::StringMap;
use crate::present::trigger::{TriggerBody, TriggeredPipelineBody, present_trigger};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<TriggerBody>> {
    let page = trigger::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(|it| present_trigger(it, context.site()))))
}

params! {
    struct OneTrigger {
        required id: ProjectRef,
        /// Token or id of the trigger.
        required token: String,
    }
}

async fn show(context: RequestContext, params: OneTrigger) -> ApiResult<Body<TriggerBody>> {
    Ok(Body(present_trigger(
        trigger::show(context.app(), &context.actor, &params.id, &params.token).await?,
        context.site(),
    )))
}

params! {
    struct CreateTrigger {
        required id: ProjectRef,
        /// Description of the trigger.
        optional description: String,
    }
}

async fn create(context: RequestContext, params: CreateTrigger) -> ApiResult<Created<TriggerBody>> {
    let trigger = trigger::create(context.app(), &context.actor, &params.id, params.description.as_deref()).await?;
    Ok(Created(present_trigger(trigger, context.site())))
}

async fn delete(context: RequestContext, params: OneTrigger) -> ApiResult<Body<TriggerBody>> {
    Ok(Body(present_trigger(
        trigger::delete(context.app(), &context.actor, &params.id, &params.token).await?,
        context.site(),
    )))
}

params! {
    struct Fire {
        required id: ProjectRef,
        /// Branch or tag.
        required r#ref: String,
        /// Token of the trigger.
        required token: String,
        /// Variables for the builds, as `variables[NAME]=value`. Names reserved for the server, git, shells, the
        /// dynamic loader and proxies are rejected.
        optional variables: StringMap,
    }
}

async fn fire(context: RequestContext, params: Fire) -> ApiResult<Created<TriggeredPipelineBody>> {
    let trigger_variables = match params.variables {
        None => Vec::new(),
        Some(StringMap(Some(given))) => given,
        Some(StringMap(None)) => {
            let text = "variables needs to be a map of key-valued strings";
            return Err(ApiError::message(StatusCode::BAD_REQUEST, text));
        }
    };
    let pipeline = trigger::fire(context.app(), &params.id, &params.token, &params.r#ref, &trigger_variables).await?;
    let variables = trigger_variables.into_iter().map(|(name, _)| name).collect();
    Ok(Created(TriggeredPipelineBody { id: pipeline.id.get(), variables }))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/triggers";
    const ONE: &str = "/projects/:id/triggers/:token";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, PATH, manage, "List pipeline triggers", list);
    routes.add(Method::GET, ONE, manage, "Get a pipeline trigger", show);
    routes.add(Method::POST, PATH, manage, "Create a pipeline trigger", create);
    routes.add(Method::DELETE, ONE, manage, "Delete a pipeline trigger", delete);
    const FIRE: &str = "/projects/:id/trigger/builds";
    let summary = "Start a pipeline with a trigger token";
    routes.add(Method::POST, FIRE, Access::Anyone, summary, fire);
    const FIRE_REF: &str = "/projects/:id/ref/:ref/trigger/builds";
    routes.add(Method::POST, FIRE_REF, Access::Anyone, summary, fire);
}
