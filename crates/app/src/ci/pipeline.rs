//! Lists, shows, retries and cancels pipelines. [`super::creation`] creates them, and [`super::pipeline_state`] changes
//! their state.

use holdfast_domain::ci::{BuildEvent, Status};
use holdfast_domain::ids::{BuildId, PipelineId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::build_list::{self, Build};
use holdfast_store::ci::pipeline;
use holdfast_store::{Connection, Transaction, commit};

pub use holdfast_store::ci::pipeline::{CommitSummary, Pipeline};

use super::pipeline_state::LockedPipeline;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::refs::ref_address::RefAddresses;
use crate::{Actor, App, Error, Resource, Result, access};

/// Lists the pipelines of a project, newest first.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Pipeline>> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadBuilds).await?;
    Ok(pipeline::list(&app.database, project.id, page).await?)
}

/// The pipelines of a project, with what their page shows.
pub struct ProjectPipelines {
    pub project: Project,
    pub pipelines: Page<Pipeline>,
    pub refs: RefAddresses,
}

/// Like [`list`], but also returns the project and the addresses of its refs.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectPipelines> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadBuilds).await?;
    let pipelines = pipeline::list(&app.database, project.id, page).await?;
    let refs = RefAddresses::load(app, actor, &project).await?;
    Ok(ProjectPipelines { project, pipelines, refs })
}

/// A pipeline with what its page shows.
pub struct PipelineWithBuilds {
    pub project: Project,
    pub pipeline: Pipeline,
    /// The latest build of each name, and the external statuses, sorted by stage.
    pub builds: Vec<Build>,
    pub refs: RefAddresses,
}

#[crate::boxed]
pub async fn show_with_builds(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: PipelineId,
) -> Result<PipelineWithBuilds> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    let pipeline = find(&mut connection, &project, id).await?;
    let builds = build_list::list_latest(&mut connection, id, app.clock.now()).await?;
    drop(connection);
    let refs = RefAddresses::load(app, actor, &project).await?;
    Ok(PipelineWithBuilds { project, pipeline, builds, refs })
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<Pipeline> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    find(&mut connection, &project, id).await
}

async fn find(connection: &mut Connection, project: &Project, id: PipelineId) -> Result<Pipeline> {
    pipeline::find(connection, project.id, id).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Locks a pipeline that the actor may manage, in a new transaction.
async fn lock(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<(Transaction, LockedPipeline)> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::ManageBuilds).await?;
    find(&mut transaction, &project, id).await?;
    let locked = LockedPipeline::lock(&mut transaction, id).await?;
    Ok((transaction, locked))
}

/// Runs the failed and canceled builds of a pipeline again, stage by stage, with the rights of the pipeline's user. The
/// returned pipeline is always pending, as existing clients expect.
#[crate::boxed]
pub async fn retry(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<Pipeline> {
    let now = app.clock.now();
    let (mut transaction, mut locked) = lock(app, actor, project, id).await?;
    let is_retryable = |status| matches!(status, Status::Failed | Status::Canceled);
    let retried = locked.builds().iter().filter(|it| is_retryable(it.step.status) && !it.is_external);
    let retried: Vec<BuildId> = retried.map(|it| it.id).collect();
    if retried.is_empty() {
        return Ok(locked.pipeline);
    }
    locked.retry(&mut transaction, &retried, actor.user_id(), now).await?;
    let pipeline = locked.save(app, &mut transaction, now).await?;
    commit(transaction).await?;
    Ok(Pipeline { status: Status::Pending, ..pipeline })
}

/// Cancels all builds of a pipeline that have not finished.
#[crate::boxed]
pub async fn cancel(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<Pipeline> {
    let now = app.clock.now();
    let (mut transaction, mut locked) = lock(app, actor, project, id).await?;
    let ids: Vec<BuildId> = locked.builds().iter().map(|it| it.id).collect();
    for id in ids {
        locked.apply_event(id, BuildEvent::Cancel, now);
    }
    let pipeline = locked.save(app, &mut transaction, now).await?;
    commit(transaction).await?;
    Ok(pipeline)
}
