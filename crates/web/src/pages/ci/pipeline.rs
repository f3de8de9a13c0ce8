//! The list of pipelines, and the page of a pipeline.

use holdfast_app::ci::pipeline;
use holdfast_domain::ids::PipelineId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::pipeline::{pipeline_page, pipelines_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadBuilds);
    pages
        .get("/:namespace/:project/pipelines", read, Cost::Normal, "Pipelines", list)
        .api("GET /projects/:id/pipelines");
    pages
        .get("/:namespace/:project/pipelines/:pipeline_id", read, Cost::Normal, "Pipeline", show)
        .api("GET /projects/:id/pipelines/:pipeline_id");
}

params! {
    struct OnePipeline {
        flatten project: ProjectPathParams,
        required pipeline_id: PipelineId,
    }
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = pipeline::list_with_project(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let (project, now) = (&found.project, context.now());
    respond::html(&pipelines_page(layout, project, abilities, &found.pipelines, &found.refs, now))
}

async fn show(context: RequestContext, OnePipeline { project, pipeline_id }: OnePipeline) -> PageResult {
    let found = pipeline::show_with_builds(context.app(), &context.actor, &project.reference(), pipeline_id).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_record(found.project.id.get(), ":pipeline_id", pipeline_id);
    respond::html(&pipeline_page(layout, abilities, &found, context.now()))
}
