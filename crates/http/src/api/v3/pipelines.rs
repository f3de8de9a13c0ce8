use axum::http::Method;
use holdfast_app::ci::{creation, pipeline};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::PipelineId;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, Created, Listed};
use crate::present::pipeline::{PipelineBody, pipeline as present};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<PipelineBody>> {
    let page = pipeline::list(cx.app(), &cx.actor, &params.id, cx.page).await?;
    Ok(Listed(page.map(|it| present(it, cx.site()))))
}

params! {
    struct OnePipeline {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required pipeline_id: PipelineId,
    }
}

async fn show(cx: Cx, params: OnePipeline) -> ApiResult<Body<PipelineBody>> {
    let found = pipeline::show(cx.app(), &cx.actor, &params.id, params.pipeline_id).await?;
    Ok(Body(present(found, cx.site())))
}

params! {
    struct CreatePipeline {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A branch or a tag.
        required r#ref: String,
    }
}

async fn create(cx: Cx, params: CreatePipeline) -> ApiResult<Created<PipelineBody>> {
    let made = creation::create(cx.app(), &cx.actor, &params.id, &params.r#ref).await?;
    Ok(Created(present(made, cx.site())))
}

async fn retry(cx: Cx, params: OnePipeline) -> ApiResult<Created<PipelineBody>> {
    let retried = pipeline::retry(cx.app(), &cx.actor, &params.id, params.pipeline_id).await?;
    Ok(Created(present(retried, cx.site())))
}

async fn cancel(cx: Cx, params: OnePipeline) -> ApiResult<Body<PipelineBody>> {
    let canceled = pipeline::cancel(cx.app(), &cx.actor, &params.id, params.pipeline_id).await?;
    Ok(Body(present(canceled, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    let (read, manage) = (Access::Project(ReadBuilds), Access::Project(ManageBuilds));
    routes.add(Method::GET, "/projects/:id/pipelines", read, "Lists pipelines, newest first", list);
    const ONE: &str = "/projects/:id/pipelines/:pipeline_id";
    routes.add(Method::GET, ONE, read, "Shows a pipeline", show);
    routes.add(Method::POST, "/projects/:id/pipeline", manage, "Starts a pipeline for a branch or a tag", create);
    const RETRY: &str = "/projects/:id/pipelines/:pipeline_id/retry";
    routes.add(Method::POST, RETRY, manage, "Builds anew what failed or was canceled", retry);
    const CANCEL: &str = "/projects/:id/pipelines/:pipeline_id/cancel";
    routes.add(Method::POST, CANCEL, manage, "Cancels what is not over; the answer is 200", cancel);
}
