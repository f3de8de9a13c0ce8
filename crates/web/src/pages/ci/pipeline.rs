//! The list of pipelines, the page of a pipeline, and the actions on pipelines.

use holdfast_app::ci::{creation, pipeline};
use holdfast_app::live::Watch;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Result};
use holdfast_domain::ids::PipelineId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::flash::FlashCode;
use crate::live::{self, Event, LiveSource, Update};
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::pipeline::{PipelinePage, RejectedRun, pipeline_page, pipelines_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadBuilds);
    let manage = Access::Project(ProjectAction::ManageBuilds);
    let path = "/:namespace/:project/pipelines";
    pages.get(path, read, Cost::Normal, "Pipelines", list).api("GET /projects/:id/pipelines");
    pages.post(path, manage, Cost::Normal, "Run a pipeline", create).api("POST /projects/:id/pipeline");
    let path = "/:namespace/:project/pipelines/:pipeline_id";
    pages.get(path, read, Cost::Normal, "Pipeline", show).api("GET /projects/:id/pipelines/:pipeline_id");
    let path = "/:namespace/:project/pipelines/:pipeline_id/live";
    pages.get(path, read, Cost::Normal, "Changes of a pipeline", follow);
    let path = "/:namespace/:project/pipelines/:pipeline_id/retry";
    pages
        .post(path, manage, Cost::Normal, "Retry a pipeline", retry)
        .api("POST /projects/:id/pipelines/:pipeline_id/retry");
    let path = "/:namespace/:project/pipelines/:pipeline_id/cancel";
    pages
        .post(path, manage, Cost::Normal, "Cancel a pipeline", cancel)
        .api("POST /projects/:id/pipelines/:pipeline_id/cancel");
}

params! {
    struct OnePipeline {
        flatten project: ProjectPathParams,
        required pipeline_id: PipelineId,
    }
}

params! {
    struct NewPipeline {
        flatten project: ProjectPathParams,
        optional r#ref: String,
    }
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = pipeline::list_with_project(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&pipelines_page(layout, abilities, &found, RejectedRun::default(), context.now()))
}

async fn create(context: RequestContext, params: NewPipeline) -> PageResult {
    let reference = params.project.reference();
    let ref_name = params.r#ref.unwrap_or_default();
    match creation::create_on_page(context.app(), &context.actor, &reference, &ref_name).await {
        Ok(pipeline) => {
            let url = params.project.links().pipeline(pipeline.id);
            Ok(respond::see_other(url).with_flash(FlashCode::PipelineCreated))
        }
        Err(Error::Invalid(violations)) => {
            let messages = violations.iter().flat_map(|(_, messages)| messages.iter().cloned());
            let error = Some(messages.collect::<Vec<_>>().join(", "));
            let found = pipeline::list_with_project(context.app(), &context.actor, &reference, context.page).await?;
            let abilities = Abilities::new(&found.project, &context.actor);
            let rejected = RejectedRun { ref_name, error };
            respond::rejected(&pipelines_page(context.layout(), abilities, &found, rejected, context.now()))
        }
        Err(error) => Err(error.into()),
    }
}

async fn show(context: RequestContext, OnePipeline { project, pipeline_id }: OnePipeline) -> PageResult {
    let found = pipeline::show_with_builds(context.app(), &context.actor, &project.reference(), pipeline_id).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_record(found.project.id.get(), ":pipeline_id", pipeline_id);
    respond::html(&pipeline_page(layout, abilities, &found, context.now()))
}

async fn retry(context: RequestContext, OnePipeline { project, pipeline_id }: OnePipeline) -> PageResult {
    let retried = pipeline::retry(context.app(), &context.actor, &project.reference(), pipeline_id).await;
    finish(&project, retried.map(|pipeline| pipeline.id), FlashCode::PipelineRetried)
}

async fn cancel(context: RequestContext, OnePipeline { project, pipeline_id }: OnePipeline) -> PageResult {
    let canceled = pipeline::cancel(context.app(), &context.actor, &project.reference(), pipeline_id).await;
    finish(&project, canceled.map(|pipeline| pipeline.id), FlashCode::PipelineCanceled)
}

fn finish(project: &ProjectPathParams, changed: Result<PipelineId>, flash: FlashCode) -> PageResult {
    Ok(respond::see_other(project.links().pipeline(changed?)).with_flash(flash))
}

async fn follow(context: RequestContext, OnePipeline { project, pipeline_id }: OnePipeline) -> PageResult {
    let page = project.links().pipeline(pipeline_id);
    let source = PipelineSource { project: project.reference(), id: pipeline_id, last: String::new() };
    live::respond(context, Watch::Pipeline(pipeline_id), page, source).await
}

/// The changes of a pipeline and its builds.
struct PipelineSource {
    project: ProjectRef,
    id: PipelineId,
    /// The part that was sent last.
    last: String,
}

impl LiveSource for PipelineSource {
    async fn update(&mut self, context: &RequestContext) -> std::result::Result<Update, PageError> {
        let found = pipeline::show_with_builds(context.app(), &context.actor, &self.project, self.id).await?;
        let abilities = Abilities::new(&found.project, &context.actor);
        let is_over = !found.pipeline.status.is_active();
        let part = live_part(&pipeline_page(context.layout(), abilities, &found, context.now()))?;
        let mut update = Update { is_over, ..Update::default() };
        if part != self.last {
            update.events.push(Event::new("part", part.clone()));
            self.last = part;
        }
        Ok(update)
    }
}

/// Renders what can change on the page of a pipeline.
fn live_part(page: &PipelinePage) -> std::result::Result<String, PageError> {
    Ok(format!("{}{}", respond::render(&page.as_live_head())?, respond::render(&page.as_live_body())?))
}
