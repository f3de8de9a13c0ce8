use axum::http::Method;
use holdfast_app::ci::{creation, pipeline};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::PipelineId;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};

use super::ApiResult;
use super::projects::OneProject;
use crate::present::pipeline::{PipelineBody, present_pipeline};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<PipelineBody>> {
    let page = pipeline::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(|it| present_pipeline(it, context.site()))))
}

params! {
    struct OnePipeline {
        required id: ProjectRef,
        required pipeline_id: PipelineId,
    }
}

async fn show(context: RequestContext, params: OnePipeline) -> ApiResult<Body<PipelineBody>> {
    let pipeline = pipeline::show(context.app(), &context.actor, &params.id, params.pipeline_id).await?;
    Ok(Body(present_pipeline(pipeline, context.site())))
}

params! {
    struct CreatePipeline {
        required id: ProjectRef,
        /// Branch or tag.
        required r#ref: String,
    }
}

async fn create(context: RequestContext, params: CreatePipeline) -> ApiResult<Created<PipelineBody>> {
    let pipeline = creation::create(context.app(), &context.actor, &params.id, &params.r#ref).await?;
    Ok(Created(present_pipeline(pipeline, context.site())))
}

async fn retry(context: RequestContext, params: OnePipeline) -> ApiResult<Created<PipelineBody>> {
    let retried = pipeline::retry(context.app(), &context.actor, &params.id, params.pipeline_id).await?;
    Ok(Created(present_pipeline(retried, context.site())))
}

async fn cancel(context: RequestContext, params: OnePipeline) -> ApiResult<Body<PipelineBody>> {
    let canceled = pipeline::cancel(context.app(), &context.actor, &params.id, params.pipeline_id).await?;
    Ok(Body(present_pipeline(canceled, context.site())))
}

pub fn routes(routes: &mut Routes) {
    let (read, manage) = (Access::Project(ReadBuilds), Access::Project(ManageBuilds));
    routes.add(Method::GET, "/projects/:id/pipelines", read, "List the pipelines of a project", list);
    const ONE: &str = "/projects/:id/pipelines/:pipeline_id";
    routes.add(Method::GET, ONE, read, "Get a pipeline", show);
    routes.add(Method::POST, "/projects/:id/pipeline", manage, "Create a pipeline for a branch or tag", create);
    const RETRY: &str = "/projects/:id/pipelines/:pipeline_id/retry";
    routes.add(Method::POST, RETRY, manage, "Retry the failed and canceled builds of a pipeline", retry);
    const CANCEL: &str = "/projects/:id/pipelines/:pipeline_id/cancel";
    routes.add(Method::POST, CANCEL, manage, "Cancel the unfinished builds of a pipeline", cancel);
}
