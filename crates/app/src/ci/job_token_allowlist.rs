//! Which projects' builds may read a project. Masters of the project that is read keep the list.

use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::job_token_allowlist;
use holdfast_store::commit;

pub use holdfast_store::ci::job_token_allowlist::AllowedProject;

use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Result, Thing, access};

/// Maximum number of projects on one list. Arbitrary; more are better served by an internal mirror or a public project.
const MAX_PROJECTS: i64 = 200;

pub async fn list(app: &App, actor: &Actor, target: &ProjectRef, page: PageRequest) -> Result<Page<AllowedProject>> {
    let mut connection = app.database.connection().await?;
    let target = access::project(app, &mut connection, actor, target, ProjectAction::ManageCi).await?;
    drop(connection);
    Ok(job_token_allowlist::list(&app.database, target.id, page).await?)
}

/// Lets builds of `source`, which the caller must be able to see, read `target`. Returns the id of `target`.
pub async fn create(app: &App, actor: &Actor, target: &ProjectRef, source: ProjectId) -> Result<ProjectId> {
    let mut transaction = app.database.begin().await?;
    let target = access::locked_project(app, &mut transaction, actor, target, ProjectAction::ManageCi).await?;
    let source = access::project(app, &mut transaction, actor, &ProjectRef::Id(source), ProjectAction::Read).await?;
    if source.id == target.id {
        return Err(Error::Refused("Builds always read their own project".into()));
    }
    if job_token_allowlist::count(&mut transaction, target.id, MAX_PROJECTS).await? >= MAX_PROJECTS {
        return Err(Error::Refused(format!("A project lets builds of at most {MAX_PROJECTS} others read it")));
    }
    if !job_token_allowlist::insert(&mut transaction, target.id, source.id, app.clock.now()).await? {
        return Err(Error::Conflict("The project is on the allow list already".into()));
    }
    commit(transaction).await?;
    Ok(target.id)
}

/// Removes `source` from the list, whether the caller can see it or not. Returns the id of `target`.
pub async fn delete(app: &App, actor: &Actor, target: &ProjectRef, source: ProjectId) -> Result<ProjectId> {
    let mut transaction = app.database.begin().await?;
    let target = access::locked_project(app, &mut transaction, actor, target, ProjectAction::ManageCi).await?;
    if !job_token_allowlist::delete(&mut transaction, target.id, source).await? {
        return Err(Error::NotFound(Thing::Record));
    }
    commit(transaction).await?;
    Ok(target.id)
}
