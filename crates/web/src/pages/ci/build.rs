//! The page of a build, and its trace as text.

use holdfast_app::ci::trace;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, TEXT_PLAIN, UserContent, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::build::build_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadBuilds);
    pages
        .get("/:namespace/:project/builds/:build_id", read, Cost::Heavy, "Build", show)
        .api("GET /projects/:id/builds/:build_id");
    pages
        .get("/:namespace/:project/builds/:build_id/raw", read, Cost::Normal, "Trace", show_raw)
        .api("GET /projects/:id/builds/:build_id/trace");
}

params! {
    struct OneBuild {
        flatten project: ProjectPathParams,
        required build_id: BuildId,
    }
}

async fn show(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let found = trace::show_with_build(context.app(), &context.actor, &project.reference(), build_id).await?;
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
