//! Finds the revision that a viewer enters to see a page at another branch or tag.

use holdfast_domain::policy::ProjectAction;
use holdfast_store::projects::project::{Project, ProjectRef};

use super::revision;
use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Resource, Result};

/// Returns the project of a revision. Fails if no branch, tag or commit has this name. An empty name is not looked up.
#[crate::boxed]
pub async fn find_project(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<Project> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    if !name.is_empty() {
        revision::resolve(app, &repository, name).await?.ok_or(Error::NotFound(Resource::Commit))?;
    }
    Ok(repository.project)
}
