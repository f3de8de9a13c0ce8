//! Lists, shows and changes builds.

use holdfast_domain::ci::file::When;
use holdfast_domain::ci::{BuildEvent, Status};
use holdfast_domain::ids::{BuildId, PipelineId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::build_list::{self, BuildFilter};
use holdfast_store::ci::{artifact, build, trace};
use holdfast_store::{Connection, Transaction, commit};

pub use holdfast_store::ci::build_list::Build;

use super::pending_reason::{PendingExplanation, explain_created, explain_pending};
use super::pipeline;
use super::pipeline_state::LockedPipeline;
use super::trace_part::{TraceEnd, TracePart};
use crate::projects::project::{Project, ProjectRef};
use crate::repository::browse::revision;
use crate::repository::open_repository::open_repository;
use crate::repository::refs::ref_address::RefAddresses;
use crate::{Actor, App, Error, Resource, Result, access};

/// Lists the builds of a project, newest first. Unless `statuses` is empty, lists only builds with one of them.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    statuses: Vec<Status>,
    page: PageRequest,
) -> Result<Page<Build>> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadBuilds).await?;
    Ok(build_list::list(&app.database, project.id, &BuildFilter::Project(statuses), page, app.clock.now()).await?)
}

/// Like [`list`], but lists the builds of one commit.
#[crate::boxed]
pub async fn list_for_commit(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    statuses: Vec<Status>,
    page: PageRequest,
) -> Result<Page<Build>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadBuilds).await?;
    let sha = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let scope = BuildFilter::Commit(sha.to_string(), statuses);
    Ok(build_list::list(&app.database, repository.project.id, &scope, page, app.clock.now()).await?)
}

/// Which builds a list contains.
#[derive(Clone, Debug, Default)]
pub struct ListBuilds {
    /// Unless it is empty, only builds with one of these statuses.
    pub statuses: Vec<Status>,
    /// Also builds that a retry has superseded.
    pub include_superseded: bool,
}

impl ListBuilds {
    fn in_project(self) -> BuildFilter {
        match self.include_superseded {
            true => BuildFilter::Project(self.statuses),
            false => BuildFilter::Current(self.statuses),
        }
    }
}

/// Lists the builds of a project, newest first.
#[crate::boxed]
pub async fn list_selected(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListBuilds,
    page: PageRequest,
) -> Result<Page<Build>> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadBuilds).await?;
    Ok(build_list::list(&app.database, project.id, &input.in_project(), page, app.clock.now()).await?)
}

/// A part of a list of builds.
pub struct BuildsBefore {
    pub builds: Vec<Build>,
    /// Whether there are builds after these.
    pub has_next: bool,
}

/// Lists the newest builds of a project, or the newest of those that are older than `before`. Unlike that of a numbered
/// page, the cost does not depend on how far the list was read.
#[crate::boxed]
pub async fn list_before(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListBuilds,
    before: Option<BuildId>,
    page: PageRequest,
) -> Result<BuildsBefore> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    let (filter, size) = (input.in_project(), page.size());
    // One build more shows whether there are further ones.
    let mut builds =
        build_list::list_before(&mut connection, project.id, &filter, before, size + 1, app.clock.now()).await?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let has_next = builds.len() > size;
    builds.truncate(size);
    Ok(BuildsBefore { builds, has_next })
}

/// Lists the builds of a pipeline, newest first.
#[crate::boxed]
pub async fn list_for_pipeline(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: PipelineId,
    input: ListBuilds,
    page: PageRequest,
) -> Result<Page<Build>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    pipeline::find(&mut connection, &project, id).await?;
    drop(connection);
    let ListBuilds { statuses, include_superseded } = input;
    let filter = BuildFilter::Pipeline { id, statuses, include_superseded };
    Ok(build_list::list(&app.database, project.id, &filter, page, app.clock.now()).await?)
}

/// Returns the build that the actor is. Fails if the request was not authenticated with the token of a build.
#[crate::boxed]
pub async fn show_own(app: &App, actor: &Actor) -> Result<Build> {
    let current_user = actor.current_user()?;
    let own = current_user.job_token_scope.ok_or(Error::NotFound(Resource::Record))?;
    let mut connection = app.database.connection().await?;
    let project = ProjectRef::Id(own.project);
    let project = access::authorize_project(app, &mut connection, actor, &project, ProjectAction::ReadBuilds).await?;
    find(app, &mut connection, &project, own.build).await
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    find(app, &mut connection, &project, id).await
}

/// A build with what its page shows.
pub struct BuildWithTrace {
    pub project: Project,
    pub build: Build,
    /// The latest builds of the same stage.
    pub stage_builds: Vec<Build>,
    /// The builds of the same name that a retry has superseded, the newest first. At most ten.
    pub superseded: Vec<Build>,
    /// Why the build does not run yet.
    pub pending: Option<PendingExplanation>,
    pub trace: TracePart,
    pub refs: RefAddresses,
}

impl BuildWithTrace {
    /// Returns whether there is no newer build of this name in the pipeline.
    pub fn is_latest(&self) -> bool {
        self.stage_builds.iter().any(|it| it.id == self.build.id)
    }
}

/// Returns a build with the end of its trace.
#[crate::boxed]
pub async fn show_with_trace(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<BuildWithTrace> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    let build = find(app, &mut connection, &project, id).await?;
    let (pipeline, now) = (build.pipeline_id, app.clock.now());
    let builds = build_list::list_with_superseded(&mut connection, pipeline, &build.name, now).await?;
    let newest = builds.iter().filter(|it| it.name == build.name).map(|it| it.id).max();
    let is_superseded = |it: &Build| it.name == build.name && Some(it.id) != newest;
    let (mut superseded, mut builds): (Vec<Build>, Vec<Build>) = builds.into_iter().partition(is_superseded);
    superseded.retain(|it| it.id < build.id);
    superseded.reverse();
    let pending = explain_pending(app, &mut connection, &project, std::iter::once(&build)).await?.pop();
    let pending = pending.or_else(|| explain_created(&build, &builds));
    builds.retain(|it| it.stage == build.stage && !it.external);
    let bytes = build.trace_bytes.unwrap_or(0);
    let end = TraceEnd::find(&mut connection, &project, id, build.status, bytes).await?;
    drop(connection);
    let trace = end.read(app, &project).await?;
    let refs = RefAddresses::load(app, actor, &project).await?;
    Ok(BuildWithTrace { project, build, stage_builds: builds, superseded, pending, trace, refs })
}

/// Finds a build. An external commit status is not a build and is not found.
pub(super) async fn find(app: &App, connection: &mut Connection, project: &Project, id: BuildId) -> Result<Build> {
    let found = build_list::find(connection, project.id, id, app.clock.now()).await?.filter(|it| !it.external);
    found.ok_or(Error::NotFound(Resource::Record))
}

/// A build with its locked pipeline, which the actor may manage.
struct LockedBuild {
    transaction: Transaction,
    project: Project,
    pipeline: LockedPipeline,
    build: Build,
}

async fn lock(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<LockedBuild> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::ManageBuilds).await?;
    let found = build::find_pipeline_id(&mut transaction, project.id, id).await?;
    let pipeline_id = found.ok_or(Error::NotFound(Resource::Record))?;
    let pipeline = LockedPipeline::lock(&mut transaction, pipeline_id).await?;
    let build = find(app, &mut transaction, &project, id).await?;
    Ok(LockedBuild { transaction, project, pipeline, build })
}

impl LockedBuild {
    /// Saves and commits, and returns the build with this id as it is then.
    async fn save_and_reload(self, app: &App, id: BuildId) -> Result<Build> {
        let Self { mut transaction, project, pipeline, .. } = self;
        pipeline.save(app, &mut transaction, app.clock.now()).await?;
        let build = find(app, &mut transaction, &project, id).await?;
        commit(transaction).await?;
        Ok(build)
    }
}

/// Cancels a build. A finished build stays as it is.
#[crate::boxed]
pub async fn cancel(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let mut locked = lock(app, actor, project, id).await?;
    locked.pipeline.apply_event(id, BuildEvent::Cancel, app.clock.now());
    locked.save_and_reload(app, id).await
}

/// Runs a build again and returns the new build. It shows the current user as its user, but has the rights of the
/// pipeline's user.
#[crate::boxed]
pub async fn retry(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let now = app.clock.now();
    let mut locked = lock(app, actor, project, id).await?;
    let is_over = locked.pipeline.find(id).is_some_and(|it| it.step.status.is_complete());
    if !is_over {
        return Err(Error::Forbidden(Some("Build is not retryable")));
    }
    let new_build = locked.pipeline.retry(&mut locked.transaction, &[id], actor.user_id(), now).await?;
    locked.save_and_reload(app, new_build.unwrap_or(id)).await
}

/// Starts a manual build. It shows the current user as its user, but has the rights of the pipeline's user.
#[crate::boxed]
pub async fn play(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let now = app.clock.now();
    let mut locked = lock(app, actor, project, id).await?;
    let is_manual = locked.build.run_when == When::Manual;
    if !is_manual || !locked.pipeline.apply_event(id, BuildEvent::Enqueue, now) {
        return Err(Error::Rejected("400 (Bad request) \"Unplayable Job\" not given".into()));
    }
    locked.pipeline.set_user(id, actor.user_id());
    locked.save_and_reload(app, id).await
}

/// Erases a build: deletes its trace and artifacts, and keeps the record.
#[crate::boxed]
pub async fn erase(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let mut locked = lock(app, actor, project, id).await?;
    let build = &locked.build;
    let has_output = build.trace_bytes.unwrap_or(0) > 0 || build.artifacts_name.is_some();
    if !build.status.is_complete() || !has_output {
        return Err(Error::Forbidden(Some("Build is not erasable!")));
    }
    let now = app.clock.now();
    trace::lock(&mut locked.transaction, id, now).await?;
    trace::clear(&mut locked.transaction, id).await?;
    artifact::delete(&mut locked.transaction, id).await?;
    build::set_erased(&mut locked.transaction, id, now).await?;
    locked.save_and_reload(app, id).await
}

/// Deletes the artifacts of a build.
#[crate::boxed]
pub async fn delete_artifacts(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<()> {
    let mut locked = lock(app, actor, project, id).await?;
    let found = artifact::find(&mut locked.transaction, id, app.clock.now()).await?;
    found.ok_or(Error::NotFound(Resource::Record))?;
    artifact::delete(&mut locked.transaction, id).await?;
    Ok(commit(locked.transaction).await?)
}

/// Removes the expiry date of a build's artifacts.
#[crate::boxed]
pub async fn keep_artifacts(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let mut locked = lock(app, actor, project, id).await?;
    let found = artifact::find(&mut locked.transaction, id, app.clock.now()).await?;
    found.ok_or(Error::NotFound(Resource::Record))?;
    artifact::clear_expiry(&mut locked.transaction, id).await?;
    locked.save_and_reload(app, id).await
}
