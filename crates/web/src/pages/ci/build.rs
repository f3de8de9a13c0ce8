//! The page of a build, its trace as text, and the actions on builds.

use holdfast_app::ci::{build, trace};
use holdfast_app::{Error, Resource, Result};
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, TEXT_PLAIN, UserContent, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::build::build_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadBuilds);
    let manage = Access::Project(ProjectAction::ManageBuilds);
    pages
        .get("/:namespace/:project/builds/:build_id", read, Cost::Normal, "Build", show)
        .api("GET /projects/:id/builds/:build_id");
    pages
        .get("/:namespace/:project/builds/:build_id/raw", read, Cost::Normal, "Trace", show_raw)
        .api("GET /projects/:id/builds/:build_id/trace");
    pages
        .post("/:namespace/:project/builds/:build_id/retry", manage, Cost::Normal, "Retry a build", retry)
        .api("POST /projects/:id/builds/:build_id/retry");
    pages
        .post("/:namespace/:project/builds/:build_id/cancel", manage, Cost::Normal, "Cancel a build", cancel)
        .api("POST /projects/:id/builds/:build_id/cancel");
    pages
        .post("/:namespace/:project/builds/:build_id/play", manage, Cost::Normal, "Start a build", play)
        .api("POST /projects/:id/builds/:build_id/play");
    pages
        .post("/:namespace/:project/builds/:build_id/erase", manage, Cost::Normal, "Erase a build", erase)
        .api("POST /projects/:id/builds/:build_id/erase");
    pages
        .post("/:namespace/:project/builds/:build_id/keep", manage, Cost::Normal, "Keep artifacts", keep)
        .api("POST /projects/:id/builds/:build_id/artifacts/keep");
}

params! {
    /// The build that a path names.
    pub struct OneBuild {
        flatten project: ProjectPathParams,
        required build_id: BuildId,
    }
}

async fn show(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let found = build::show_with_trace(context.app(), &context.actor, &project.reference(), build_id).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_record(found.project.id.get(), ":build_id", build_id);
    respond::html(&build_page(layout, abilities, &found, context.now()))
}

async fn show_raw(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let found = trace::show_with_project(context.app(), &context.actor, &project.reference(), build_id).await?;
    ensure_address(&context, &found.project)?;
    let user_content = UserContent {
        content_type: TEXT_PLAIN,
        bytes: Some(found.trace.bytes.unsigned_abs()),
        attachment: None,
        cache_control: "private, no-cache",
    };
    Ok(respond::complete(user_content.respond(found.trace.content)))
}

async fn retry(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let changed = build::retry(context.app(), &context.actor, &project.reference(), build_id).await;
    let refusal = "A build can be retried after it has ended, unless it was retried already.";
    finish(&project, changed.map(|build| build.id), FlashCode::BuildRetried, refusal)
}

async fn cancel(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let changed = build::cancel(context.app(), &context.actor, &project.reference(), build_id).await;
    finish(&project, changed.map(|build| build.id), FlashCode::BuildCanceled, "The build cannot be canceled.")
}

async fn play(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let changed = build::play(context.app(), &context.actor, &project.reference(), build_id).await;
    let refusal = "Only a manual build that has not started can be started.";
    finish(&project, changed.map(|build| build.id), FlashCode::BuildStarted, refusal)
}

async fn erase(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let changed = build::erase(context.app(), &context.actor, &project.reference(), build_id).await;
    let refusal = "A build can be erased after it has ended, if it has a trace or artifacts.";
    finish(&project, changed.map(|build| build.id), FlashCode::BuildErased, refusal)
}

async fn keep(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let reference = project.reference();
    let mut changed = build::keep_artifacts(context.app(), &context.actor, &reference, build_id).await;
    if matches!(changed, Err(Error::NotFound(Resource::Record))) {
        // Either the build or its artifacts do not exist.
        build::show(context.app(), &context.actor, &reference, build_id).await?;
        changed = Err(Error::Rejected("The build has no artifacts, or they have expired.".to_owned()));
    }
    finish(&project, changed.map(|build| build.id), FlashCode::ArtifactsKept, "The artifacts cannot be kept.")
}

/// Redirects to the page of the changed build. What the state of the build does not permit is rejected with `refusal`,
/// because the texts of the use cases are those of the API.
fn finish(project: &ProjectPathParams, changed: Result<BuildId>, flash: FlashCode, refusal: &str) -> PageResult {
    match changed {
        Ok(id) => Ok(respond::see_other(project.links().build(id)).with_flash(flash)),
        Err(Error::Forbidden(Some(_))) => Err(PageError::App(Error::Rejected(refusal.to_owned()))),
        Err(Error::Rejected(text)) if text.starts_with("400") => {
            Err(PageError::App(Error::Rejected(refusal.to_owned())))
        }
        Err(error) => Err(error.into()),
    }
}
