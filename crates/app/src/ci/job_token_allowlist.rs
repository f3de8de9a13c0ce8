//! The job token allow list of a project: the projects whose builds may read it. Masters of the project that is read
//! manage the list. `access.rs` enforces it, in `is_build_allowed`.

use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::job_token_allowlist;
use holdfast_store::commit;
use holdfast_store::projects::project;

pub use holdfast_store::ci::job_token_allowlist::AllowedProject;

use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of projects on one list. Arbitrary; more are better served by an internal mirror or a public project.
const MAX_PROJECTS: i64 = 200;

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, target: &ProjectRef, page: PageRequest) -> Result<Page<AllowedProject>> {
    let mut connection = app.database.connection().await?;
    let target = access::authorize_project(app, &mut connection, actor, target, ProjectAction::ManageCi).await?;
    drop(connection);
    Ok(job_token_allowlist::list(&app.database, target.id, page).await?)
}

/// The job token allow list of a project, with what its page shows.
#[derive(Debug)]
pub struct ProjectAllowlist {
    pub project: Project,
    pub allowed: Page<AllowedProject>,
    /// Those of the listed projects that the current user may see.
    pub visible: Vec<Project>,
}

/// Like [`list`], but returns the project, and those of the listed projects that the current user may see.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    target: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectAllowlist> {
    let target = access::read_project(app, actor, target, ProjectAction::ManageCi).await?;
    let allowed = job_token_allowlist::list(&app.database, target.id, page).await?;
    let ids: Vec<ProjectId> = allowed.items.iter().map(|entry| entry.id).collect();
    let mut connection = app.database.connection().await?;
    let mut visible = project::find_many_for_viewer(&mut connection, &ids, actor.user_id(), app.today()).await?;
    visible.retain(|project| access::can(actor, project, ProjectAction::Read));
    Ok(ProjectAllowlist { project: target, allowed, visible })
}

/// Allows builds of `source`, which the current user must be able to see, to read `target`. Returns the id of `target`.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, target: &ProjectRef, source: &ProjectRef) -> Result<ProjectId> {
    let mut transaction = app.database.begin().await?;
    let target = access::lock_project(app, &mut transaction, actor, target, ProjectAction::ManageCi).await?;
    let source = access::authorize_project(app, &mut transaction, actor, source, ProjectAction::Read).await?;
    if source.id == target.id {
        return Err(Error::Rejected("Builds always read their own project".into()));
    }
    if job_token_allowlist::count(&mut transaction, target.id, MAX_PROJECTS).await? >= MAX_PROJECTS {
        return Err(Error::Rejected(format!("The job token allow list can have at most {MAX_PROJECTS} projects")));
    }
    if !job_token_allowlist::insert(&mut transaction, target.id, source.id, app.clock.now()).await? {
        return Err(Error::Conflict("The project is on the allow list already".into()));
    }
    commit(transaction).await?;
    Ok(target.id)
}

/// Removes `source` from the list, even if the current user cannot see it. Returns the id of `target`.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, target: &ProjectRef, source: ProjectId) -> Result<ProjectId> {
    let mut transaction = app.database.begin().await?;
    let target = access::lock_project(app, &mut transaction, actor, target, ProjectAction::ManageCi).await?;
    if !job_token_allowlist::delete(&mut transaction, target.id, source).await? {
        return Err(Error::NotFound(Resource::Record));
    }
    commit(transaction).await?;
    Ok(target.id)
}
