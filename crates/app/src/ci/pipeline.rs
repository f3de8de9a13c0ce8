//! Lists, shows, retries and cancels pipelines. [`super::creation`] creates them, and [`super::pipeline_state`] changes
//! their state.

use holdfast_domain::ci::transitions::pipeline_status;
use holdfast_domain::ci::{BuildEvent, Status};
use holdfast_domain::ids::{BuildId, PipelineId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::ci::build_list::{self, Build};
use holdfast_store::ci::pipeline;
use holdfast_store::ci::stage_step::{self, StageStep};
use holdfast_store::{Connection, Transaction, commit};

pub use holdfast_store::ci::pipeline::{CommitSummary, Pipeline, PipelineFilter};

use super::pending_reason::{PendingExplanation, explain_pending};
use super::pipeline_state::LockedPipeline;
use super::variable::decrypt_request_variables;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::open_repository::open_repository;
use crate::repository::refs::containing_refs;
use crate::repository::refs::ref_address::RefAddresses;
use crate::{Actor, App, Error, Resource, Result, access};

/// Lists the pipelines of a project, newest first.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Pipeline>> {
    list_filtered(app, actor, project, PipelineFilter::default(), page).await
}

/// Lists the pipelines of a project that match a filter. A status needs a commit, or the status is success and needs a
/// ref: no index finds the others among many pipelines.
#[crate::boxed]
pub async fn list_filtered(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    filter: PipelineFilter,
    page: PageRequest,
) -> Result<Page<Pipeline>> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadBuilds).await?;
    let is_indexed = match filter.status {
        None => true,
        Some(Status::Success) => filter.sha.is_some() || filter.ref_name.is_some(),
        Some(_) => filter.sha.is_some(),
    };
    if !is_indexed {
        let text = "A status needs the parameter sha; the status success needs sha or ref";
        return Err(Error::Rejected(text.to_owned()));
    }
    Ok(pipeline::list(&app.database, project.id, &filter, page).await?)
}

/// The pipelines of a project, with what their page shows.
pub struct ProjectPipelines {
    pub project: Project,
    pub pipelines: Page<Pipeline>,
    /// The stages of all these pipelines, in their order.
    pub stages: Vec<PipelineStage>,
    pub refs: RefAddresses,
}

/// A stage of a pipeline with the status that follows from its builds.
#[derive(Clone, Debug)]
pub struct PipelineStage {
    pub pipeline: PipelineId,
    pub name: String,
    pub status: Status,
}

/// Like [`list`], but also returns the project, the stages, and the addresses of the refs.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectPipelines> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadBuilds).await?;
    let pipelines = pipeline::list(&app.database, project.id, &PipelineFilter::default(), page).await?;
    let ids: Vec<PipelineId> = pipelines.items.iter().map(|it| it.id).collect();
    let steps = stage_step::list(&mut *app.database.connection().await?, &ids).await?;
    let refs = RefAddresses::load(app, actor, &project).await?;
    Ok(ProjectPipelines { project, pipelines, stages: stages(&steps), refs })
}

/// Returns the stages of pipelines, whose steps are sorted by pipeline and stage.
fn stages(steps: &[StageStep]) -> Vec<PipelineStage> {
    let of_same_stage = |a: &StageStep, b: &StageStep| (a.pipeline, &a.stage) == (b.pipeline, &b.stage);
    let stage = |steps: &[StageStep]| {
        let first = steps.first()?;
        // Skipped manual builds do not count for a pipeline, but a stage of nothing else has not passed.
        let is_skipped = steps.iter().all(|it| it.step.status == Status::Skipped);
        let status = if is_skipped { Status::Skipped } else { pipeline_status(steps.iter().map(|it| &it.step)) };
        Some(PipelineStage { pipeline: first.pipeline, name: first.stage.clone(), status })
    };
    steps.chunk_by(of_same_stage).filter_map(stage).collect()
}

/// A pipeline with what its page shows.
pub struct PipelineWithBuilds {
    pub project: Project,
    pub pipeline: Pipeline,
    /// The latest build of each name, and the external statuses, sorted by stage.
    pub builds: Vec<Build>,
    /// Why the pending builds do not run yet.
    pub pending: Vec<PendingExplanation>,
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
    let pending = explain_pending(app, &mut connection, &project, builds.iter()).await?;
    drop(connection);
    let refs = RefAddresses::load(app, actor, &project).await?;
    Ok(PipelineWithBuilds { project, pipeline, builds, pending, refs })
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<Pipeline> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    find(&mut connection, &project, id).await
}

/// Returns the newest pipeline of the tip of a branch or a tag, by default of the default branch.
#[crate::boxed]
pub async fn show_latest(app: &App, actor: &Actor, project: &ProjectRef, ref_name: Option<&str>) -> Result<Pipeline> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadBuilds).await?;
    let not_found = || Error::NotFound(Resource::Record);
    let given = ref_name.or_else(|| repository.project.repository.default_branch()).ok_or_else(not_found)?;
    let (name, is_tag) = containing_refs::resolve_short_name(&repository, given).ok_or_else(not_found)?;
    let full_name = format!("{}/{name}", if is_tag { "refs/tags" } else { "refs/heads" });
    let tip = repository.refs.find(&full_name).ok_or_else(not_found)?.peeled_or_self().to_string();
    let mut connection = app.database.connection().await?;
    let project = &repository.project;
    let newest = pipeline::find_newest_for_commit(&mut connection, project.id, &tip, Some(&name)).await?;
    find(&mut connection, project, newest.ok_or_else(not_found)?).await
}

/// Returns the variables of the request that created a pipeline, by name and value. They may be secret, so that only
/// users who may start pipelines see them.
#[crate::boxed]
pub async fn list_variables(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: PipelineId,
) -> Result<Vec<(String, String)>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageBuilds).await?;
    let found = pipeline::find_variables(&mut connection, project.id, id).await?;
    match found.ok_or(Error::NotFound(Resource::Record))? {
        Some(encrypted) => decrypt_request_variables(app, project.id, &encrypted),
        None => Ok(Vec::new()),
    }
}

pub(super) async fn find(connection: &mut Connection, project: &Project, id: PipelineId) -> Result<Pipeline> {
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
