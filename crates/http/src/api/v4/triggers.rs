use axum::http::{Method, StatusCode};
use holdfast_app::ci::trigger;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use crate::error::ApiError;
use crate::params::StringMap;
use crate::present::v4::pipeline::{PipelineDetailBody, present_pipeline};
use crate::present::v4::trigger::{PipelineTriggerBody, present_trigger};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct TriggersOfProject {
        required id: ProjectRef,
    }
}

async fn list(context: RequestContext, params: TriggersOfProject) -> ApiResult<PageBody<PipelineTriggerBody>> {
    let page = trigger::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(|it| present_trigger(it, context.site()))))
}

params! {
    struct OneTrigger {
        required id: ProjectRef,
        /// Id of the trigger.
        required trigger_id: i64,
    }
}

async fn show(context: RequestContext, params: OneTrigger) -> ApiResult<Body<PipelineTriggerBody>> {
    let name = params.trigger_id.to_string();
    let trigger = trigger::show(context.app(), &context.actor, &params.id, &name).await?;
    Ok(Body(present_trigger(trigger, context.site())))
}

params! {
    struct CreateTrigger {
        required id: ProjectRef,
        /// Description of the trigger.
        required description: String,
    }
}

async fn create(context: RequestContext, params: CreateTrigger) -> ApiResult<Created<PipelineTriggerBody>> {
    let trigger = trigger::create(context.app(), &context.actor, &params.id, Some(&params.description)).await?;
    Ok(Created(present_trigger(trigger, context.site())))
}

params! {
    struct UpdateTrigger {
        flatten trigger: OneTrigger,
        /// New description of the trigger.
        optional description: String,
    }
}

async fn update(context: RequestContext, params: UpdateTrigger) -> ApiResult<Body<PipelineTriggerBody>> {
    let UpdateTrigger { trigger: OneTrigger { id, trigger_id }, description } = params;
    let (name, description) = (trigger_id.to_string(), description.as_deref());
    let trigger = trigger::update(context.app(), &context.actor, &id, &name, description).await?;
    Ok(Body(present_trigger(trigger, context.site())))
}

async fn delete(context: RequestContext, params: OneTrigger) -> ApiResult<NoContent> {
    let name = params.trigger_id.to_string();
    trigger::delete(context.app(), &context.actor, &params.id, &name).await?;
    Ok(NoContent)
}

params! {
    struct Fire {
        required id: ProjectRef,
        /// Branch or tag.
        required r#ref: String,
        /// Token of the trigger.
        required token: String,
        /// Variables for the jobs, as `variables[NAME]=value`. Names reserved for the server, git, shells, the
        /// dynamic loader and proxies are rejected.
        optional variables: StringMap,
    }
}

async fn fire(context: RequestContext, params: Fire) -> ApiResult<Created<PipelineDetailBody>> {
    let variables = match params.variables {
        None => Vec::new(),
        Some(StringMap(Some(given))) => given,
        Some(StringMap(None)) => {
            let text = "variables needs to be a map of key-valued strings";
            return Err(ApiError::message(StatusCode::BAD_REQUEST, text));
        }
    };
    let fired = trigger::fire(context.app(), &params.id, &params.token, &params.r#ref, &variables).await;
    let pipeline = fired.map_err(|error| match error {
        // Clients of version 4 expect that a trigger of another project is not found.
        Error::Unauthenticated => Error::NotFound(Resource::Record),
        other => other,
    })?;
    Ok(Created(present_pipeline(pipeline, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/triggers";
    const ONE: &str = "/projects/:id/triggers/:trigger_id";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, PATH, manage, "List pipeline triggers", list);
    routes.add(Method::GET, ONE, manage, "Get a pipeline trigger", show);
    routes.add(Method::POST, PATH, manage, "Create a pipeline trigger", create);
    routes.add(Method::PUT, ONE, manage, "Update a pipeline trigger", update);
    routes.add(Method::DELETE, ONE, manage, "Delete a pipeline trigger", delete);
    const FIRE: &str = "/projects/:id/trigger/pipeline";
    let summary = "Start a pipeline with a trigger token";
    routes.add(Method::POST, FIRE, Access::Anyone, summary, fire);
    const FIRE_REF: &str = "/projects/:id/ref/:ref/trigger/pipeline";
    routes.add(Method::POST, FIRE_REF, Access::Anyone, summary, fire);
}
