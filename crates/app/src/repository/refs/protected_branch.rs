//! Reads and changes the rules of protected branches. [`super::branch::protect`] creates a rule or replaces it.

use holdfast_domain::AccessLevel;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::Rule;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::commit;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::protection;

pub use holdfast_store::repository::protection::StoredRule;

use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Resource, Result, access};

const WILDCARD: &str = "The name of a protected branch must be that of one branch, without the wildcard *";

/// Lists the rules of a project by name, or those whose names contain a text.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    search: Option<&str>,
    page: PageRequest,
) -> Result<Page<StoredRule>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    Ok(protection::list_stored(&mut connection, project.id, search, page).await?)
}

/// Returns the rule with exactly this name.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<StoredRule> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    protection::find(&mut connection, project.id, name).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Protects a branch that has no rule of its own.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, rule: Rule) -> Result<StoredRule> {
    let repository = open_repository(app, actor, project, ProjectAction::ProtectBranches).await?;
    if rule.name.contains('*') {
        return Err(Error::Rejected(WILDCARD.into()));
    }
    repository.refs.find(&format!("refs/heads/{}", rule.name)).ok_or(Error::NotFound(Resource::Branch))?;
    let mut connection = app.database.connection().await?;
    let created = protection::insert(&mut connection, repository.project.id, &rule, app.clock.now()).await?;
    created.ok_or_else(|| Error::Conflict(format!("Protected branch '{}' already exists", rule.name)))
}

/// Changes the levels of the rule with exactly this name. None leaves a level as it is.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: &str,
    push: Option<AccessLevel>,
    merge: Option<AccessLevel>,
) -> Result<StoredRule> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let updated = protection::update(&mut connection, project.id, name, push, merge).await?;
    updated.ok_or(Error::NotFound(Resource::Record))
}

/// Deletes the rule with exactly this name. The branch need not exist any more.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    protection::find(&mut transaction, project.id, name).await?.ok_or(Error::NotFound(Resource::Record))?;
    protection::delete(&mut transaction, project.id, name).await?;
    Ok(commit(transaction).await?)
}
