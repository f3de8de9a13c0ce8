//! The artifacts of a build: the archive, its directories and its files.

use holdfast_app::ci::{artifact, artifact_files, build};
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, OCTET_STREAM, UserContent, params};

use super::build::OneBuild;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ci::artifact::artifacts_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadBuilds);
    pages
        .get("/:namespace/:project/builds/:build_id/artifacts", read, Cost::Normal, "Artifacts", download)
        .api("GET /projects/:id/builds/:build_id/artifacts");
    let root = "/:namespace/:project/builds/:build_id/artifacts/browse";
    pages.get(root, read, Cost::Normal, "Files of artifacts", browse_root);
    let directory = "/:namespace/:project/builds/:build_id/artifacts/browse/*rest";
    pages.get(directory, read, Cost::Normal, "Files of artifacts", browse);
    let file = "/:namespace/:project/builds/:build_id/artifacts/file/*rest";
    pages.get(file, read, Cost::Normal, "File of artifacts", show_file);
}

params! {
    struct BuildPath {
        flatten build: OneBuild,
        required rest: String,
    }
}

/// Sends the whole archive. If there is none, the page that says so is shown.
async fn download(context: RequestContext, OneBuild { project, build_id }: OneBuild) -> PageResult {
    let reference = project.reference();
    match artifact::show(context.app(), &context.actor, &reference, build_id).await {
        Ok(found) => {
            let bytes = Some(found.bytes.unsigned_abs());
            Ok(respond::complete(attachment(found.file_name, bytes).respond(found.content)))
        }
        Err(Error::NotFound(Resource::Record)) => {
            build::show(context.app(), &context.actor, &reference, build_id).await?;
            Ok(respond::see_other(project.links().artifact_directory(build_id, "")))
        }
        Err(error) => Err(error.into()),
    }
}

async fn browse_root(context: RequestContext, build: OneBuild) -> PageResult {
    browse(context, BuildPath { build, rest: String::new() }).await
}

async fn browse(context: RequestContext, BuildPath { build, rest }: BuildPath) -> PageResult {
    let OneBuild { project, build_id } = build;
    let found = artifact_files::list(context.app(), &context.actor, &project.reference(), build_id, &rest).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    respond::html(&artifacts_page(context.layout(), abilities, &found, &rest))
}

async fn show_file(context: RequestContext, BuildPath { build, rest }: BuildPath) -> PageResult {
    let OneBuild { project, build_id } = build;
    let found = artifact_files::open(context.app(), &context.actor, &project.reference(), build_id, &rest).await?;
    match found {
        Some(file) => Ok(respond::complete(attachment(file.file_name, Some(file.bytes)).respond(file.content))),
        None => Ok(respond::see_other(project.links().artifact_directory(build_id, ""))),
    }
}

/// Returns the headers of a file that the browser saves and does not show. Builds have written it.
fn attachment(file_name: String, bytes: Option<u64>) -> UserContent {
    let cache_control = "private, no-cache";
    UserContent { content_type: OCTET_STREAM, bytes, attachment: Some(file_name), cache_control }
}
