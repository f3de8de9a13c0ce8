//! All runners of the instance, as the pages of administrators manage them.

use holdfast_domain::ids::{ProjectId, RunnerId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::ci::runner as store_runner;
use holdfast_store::ci::runner_details;
use holdfast_store::projects::project;

use super::project_runner::{CurrentBuild, MAX_CURRENT_BUILDS};
use super::runner::{self, Runner, RunnerChanges, RunnerFilter};
use crate::projects::project::Project;
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of projects that are listed with a runner. Arbitrary.
pub const MAX_LISTED_PROJECTS: i64 = 50;

/// A page of runners, with the builds that they execute.
#[derive(Debug)]
pub struct RunnersWithBuilds {
    pub runners: Page<Runner>,
    pub builds: Vec<CurrentBuild>,
    /// The projects of the builds.
    pub projects: Vec<Project>,
}

/// Lists the runners of the instance with their builds.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    filter: Option<RunnerFilter>,
    page: PageRequest,
) -> Result<RunnersWithBuilds> {
    let runners = runner::list_all(app, actor, filter, page).await?;
    let ids: Vec<RunnerId> = runners.items.iter().map(|runner| runner.id).collect();
    let mut connection = app.database.connection().await?;
    let builds = runner_details::list_current_builds(&mut connection, &ids, None, MAX_CURRENT_BUILDS).await?;
    let projects: Vec<ProjectId> = builds.iter().map(|build| build.project_id).collect();
    let projects = project::find_many(&mut connection, &projects).await?;
    Ok(RunnersWithBuilds { runners, builds, projects })
}

/// A runner with its builds, and the projects of both.
#[derive(Debug)]
pub struct RunnerDetails {
    pub runner: Runner,
    /// The projects that the runner is assigned to, up to [`MAX_LISTED_PROJECTS`].
    pub assigned: Vec<ProjectId>,
    pub builds: Vec<CurrentBuild>,
    pub projects: Vec<Project>,
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, id: RunnerId) -> Result<RunnerDetails> {
    access::authorize_instance(actor, InstanceAction::ManageRunners)?;
    let mut connection = app.database.connection().await?;
    let runner = store_runner::find(&mut connection, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    let assigned = store_runner::list_project_ids(&mut connection, id, MAX_LISTED_PROJECTS).await?;
    let builds = runner_details::list_current_builds(&mut connection, &[id], None, MAX_CURRENT_BUILDS).await?;
    let ids: Vec<ProjectId> = assigned.iter().copied().chain(builds.iter().map(|build| build.project_id)).collect();
    let projects = project::find_many(&mut connection, &ids).await?;
    Ok(RunnerDetails { runner, assigned, builds, projects })
}

#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, id: RunnerId, changes: RunnerChanges) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageRunners)?;
    runner::update(app, actor, id, changes).await.map(drop)
}

#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, id: RunnerId) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageRunners)?;
    runner::delete(app, actor, id).await.map(drop)
}
