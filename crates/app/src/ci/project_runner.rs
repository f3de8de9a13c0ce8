//! The runners of a project, as the pages of its settings manage them. A runner is changed through a project that it is
//! assigned to.

use std::collections::HashMap;

use holdfast_domain::ids::{ProjectId, RunnerId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::runner::{self as store_runner, RunnerFilter, RunnerScope};
use holdfast_store::ci::runner_details;
use holdfast_store::{Connection, commit};

pub use holdfast_store::ci::runner_details::CurrentBuild;

use super::runner::{Runner, RunnerChanges, SEVERAL_PROJECTS, apply_changes};
use crate::projects::project::{Project, ProjectRef, can_see_runners_token};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of shared runners, and of runners that can be enabled, that are listed with the runners of a
/// project. The number is arbitrary.
pub const MAX_OTHER_RUNNERS: i64 = 20;
/// Maximum number of builds that are listed with runners. Arbitrary.
pub(super) const MAX_CURRENT_BUILDS: i64 = 200;
/// Up to this number the projects of a runner are counted. Arbitrary.
pub const MAX_COUNTED_PROJECTS: i64 = 1_000;

/// The runners that execute the builds of a project, and those that could.
#[derive(Debug)]
pub struct ProjectRunners {
    pub project: Project,
    pub assigned: Page<Runner>,
    /// Runners that the current user can enable for the project, up to [`MAX_OTHER_RUNNERS`].
    pub available: Page<Runner>,
    /// Shared runners, up to [`MAX_OTHER_RUNNERS`]. Empty if the project does not use them.
    pub shared: Vec<Runner>,
    /// The number of projects of each assigned runner.
    pub project_counts: HashMap<RunnerId, i64>,
    /// The builds of this project that the runners execute.
    pub builds: Vec<CurrentBuild>,
    pub can_see_token: bool,
}

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<ProjectRunners> {
    let project = access::read_project(app, actor, project, ProjectAction::ManageCi).await?;
    let is_shared = |value| RunnerFilter { is_shared: Some(value), ..RunnerFilter::default() };
    let others = PageRequest::new(None, Some(MAX_OTHER_RUNNERS));
    let scope = RunnerScope::Project(project.id);
    let assigned = store_runner::list(&app.database, scope, &is_shared(false), page).await?;
    let shared = if project.features.shared_runners_enabled {
        store_runner::list(&app.database, RunnerScope::All, &is_shared(true), others).await?.items
    } else {
        Vec::new()
    };
    let available = list_available(app, actor, project.id, others).await?;
    let mut connection = app.database.connection().await?;
    let ids: Vec<RunnerId> = assigned.items.iter().map(|runner| runner.id).collect();
    let project_counts = runner_details::count_projects(&mut connection, &ids, MAX_COUNTED_PROJECTS).await?;
    let all: Vec<RunnerId> = ids.into_iter().chain(shared.iter().map(|runner| runner.id)).collect();
    let builds =
        runner_details::list_current_builds(&mut connection, &all, Some(project.id), MAX_CURRENT_BUILDS).await?;
    let can_see_token = can_see_runners_token(&project, actor.role());
    Ok(ProjectRunners { project, assigned, available, shared, project_counts, builds, can_see_token })
}

/// Lists the runners that the current user can enable for a project: those of the projects that the user manages, or all
/// for administrators.
async fn list_available(app: &App, actor: &Actor, project: ProjectId, page: PageRequest) -> Result<Page<Runner>> {
    let scope = match actor.user_id() {
        Some(user) if !actor.is_administrator() => RunnerScope::ManagedBy { user, today: app.today() },
        _ => RunnerScope::All,
    };
    let filter = RunnerFilter { can_be_enabled_for: Some(project), ..RunnerFilter::default() };
    Ok(store_runner::list(&app.database, scope, &filter, page).await?)
}

/// A runner that is assigned to a project.
#[derive(Debug)]
pub struct AssignedRunner {
    pub project: Project,
    pub runner: Runner,
    /// The number of its projects, up to [`MAX_COUNTED_PROJECTS`].
    pub project_count: i64,
    /// The builds of this project that the runner executes.
    pub builds: Vec<CurrentBuild>,
    pub can_delete: bool,
}

/// Returns a runner that is assigned to a project.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: RunnerId) -> Result<AssignedRunner> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    ensure_assigned(&mut connection, id, project.id).await?;
    let runner = store_runner::find(&mut connection, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    let counts = runner_details::count_projects(&mut connection, &[id], MAX_COUNTED_PROJECTS).await?;
    let project_count = counts.get(&id).copied().unwrap_or_default();
    let builds =
        runner_details::list_current_builds(&mut connection, &[id], Some(project.id), MAX_CURRENT_BUILDS).await?;
    let can_delete = project_count <= 1 || actor.is_administrator();
    Ok(AssignedRunner { project, runner, project_count, builds, can_delete })
}

async fn ensure_assigned(connection: &mut Connection, id: RunnerId, project: ProjectId) -> Result<()> {
    let is_assigned = runner_details::is_assigned(connection, id, project).await?;
    if is_assigned { Ok(()) } else { Err(Error::NotFound(Resource::Record)) }
}

/// Locks a runner that is assigned to a project whose CI the actor manages.
async fn lock(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    id: RunnerId,
) -> Result<Runner> {
    let project = access::authorize_project(app, connection, actor, project, ProjectAction::ManageCi).await?;
    let found = store_runner::lock(connection, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    ensure_assigned(connection, id, project.id).await?;
    Ok(found)
}

#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: RunnerId,
    changes: RunnerChanges,
) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let current = lock(app, &mut transaction, actor, project, id).await?;
    apply_changes(&mut transaction, current, changes).await?;
    Ok(commit(transaction).await?)
}

/// Deletes a runner. Only administrators delete a runner of several projects.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, id: RunnerId) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    lock(app, &mut transaction, actor, project, id).await?;
    if !actor.is_administrator() && store_runner::list_project_ids(&mut transaction, id, 2).await?.len() > 1 {
        return Err(SEVERAL_PROJECTS);
    }
    store_runner::delete(&mut transaction, id).await?;
    Ok(commit(transaction).await?)
}

/// Returns a project, whose attributes contain the token with which its runners are registered.
#[crate::boxed]
pub async fn show_registration(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    let project = access::read_project(app, actor, project, ProjectAction::ManageCi).await?;
    if !can_see_runners_token(&project, actor.role()) {
        return Err(Error::Forbidden(None));
    }
    Ok(project)
}
