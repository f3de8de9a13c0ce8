//! The pipelines of a merge request: those of the heads that it had, in the project of its source branch.

use holdfast_domain::ids::MergeRequestId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::merge_requests::pipeline;

pub use holdfast_store::merge_requests::pipeline::RequestPipeline;

use super::blocker::can_read_builds;
use super::merge_request::{self, MergeRequest};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// Lists the pipelines of a merge request, newest first. There are none for an actor who may not read the pipelines of
/// the source project.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
    page: PageRequest,
) -> Result<Page<RequestPipeline>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let request = merge_request::find(&mut connection, actor, &project, id).await?;
    drop(connection);
    list_of(app, actor, &project, &request, page).await
}

/// Like [`list`], for a merge request that the actor has been authorized to read.
pub(super) async fn list_of(
    app: &App,
    actor: &Actor,
    project: &Project,
    request: &MergeRequest,
    page: PageRequest,
) -> Result<Page<RequestPipeline>> {
    if !can_read_builds(app, actor, project, request).await? {
        return Ok(Page::with_total(Vec::new(), page, 0));
    }
    let source = request.source_project().unwrap_or(project.id);
    Ok(pipeline::list(&mut *app.database.connection().await?, request.id, source, page).await?)
}

/// Finds the newest pipeline of the head of a merge request, if the actor may read it.
pub(super) async fn find_newest(
    app: &App,
    actor: &Actor,
    project: &Project,
    request: &MergeRequest,
) -> Result<Option<RequestPipeline>> {
    if !can_read_builds(app, actor, project, request).await? {
        return Ok(None);
    }
    let source = request.source_project().unwrap_or(request.project_id);
    Ok(pipeline::find_newest(&mut *app.database.connection().await?, source, &request.head).await?)
}
