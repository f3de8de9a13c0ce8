//! Finds the revision that a viewer enters to see a page at another branch or tag.

use holdfast_domain::policy::ProjectAction;
use holdfast_store::projects::project::{Project, ProjectRef};

use super::revision;
use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Resource, Result};

/// Returns the project of a revision and the text that names the revision in addresses. Fails if no branch, tag or commit
/// has this name. An empty name is not looked up.
#[crate::boxed]
pub async fn find(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<(Project, String)> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let mut address = name.to_owned();
    if !name.is_empty() {
        let commit = revision::resolve(app, &repository, name).await?.ok_or(Error::NotFound(Resource::Commit))?;
        address = revision::address(&repository, name, commit);
    }
    Ok((repository.project, address))
}
