//! Deploy keys of projects: SSH keys that open single projects and no account. `access/deploy_key.rs` has what they may
//! do.
//!
//! A key is *reachable* for the masters of one of its projects, and for administrators: they may link it to other projects
//! of theirs.

use std::collections::HashMap;

use holdfast_domain::accounts::PublicKey;
use holdfast_domain::ids::{ProjectId, SshKeyId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_store::projects::deploy_key::{self, NewLink};
use holdfast_store::{Connection, commit};

pub use holdfast_store::projects::deploy_key::DeployKey;

use super::list::viewer;
use super::project::{Project, ProjectRef};
use crate::accounts::ssh_key;
use crate::{Actor, App, Error, Resource, Result, access};

const MANAGE: ProjectAction = ProjectAction::ManageDeployKeys;

/// Lists the deploy keys of all projects.
#[crate::boxed]
pub async fn list_all(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<DeployKey>> {
    access::authorize_instance(actor, InstanceAction::ListDeployKeys)?;
    Ok(deploy_key::list_all(&app.database, page).await?)
}

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<DeployKey>> {
    let project = access::read_project(app, actor, project, MANAGE).await?;
    Ok(deploy_key::list(&app.database, project.id, page).await?)
}

/// The deploy keys of a project, with what their page shows.
#[derive(Debug)]
pub struct ProjectDeployKeys {
    pub project: Project,
    pub keys: Page<DeployKey>,
    /// The paths of the other projects of the keys that the viewer can see. See [`MAX_OTHER_PROJECTS`].
    pub other_projects: HashMap<SshKeyId, Vec<String>>,
}

/// Maximum number of other projects that are listed for a deploy key. One more is loaded, so that a page can say that
/// there are more. Arbitrary.
pub const MAX_OTHER_PROJECTS: usize = 5;

/// Like [`list`], but also returns the project and the other projects of the keys.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectDeployKeys> {
    let project = access::read_project(app, actor, project, MANAGE).await?;
    let keys = deploy_key::list(&app.database, project.id, page).await?;
    let ids: Vec<SshKeyId> = keys.items.iter().map(|key| key.id).collect();
    let (viewer, limit) = (viewer(app, actor), MAX_OTHER_PROJECTS as i64 + 1);
    let mut connection = app.database.connection().await?;
    let linked = deploy_key::list_other_projects(&mut connection, project.id, &ids, viewer, limit).await?;
    let mut other_projects: HashMap<SshKeyId, Vec<String>> = HashMap::new();
    for (key, path) in linked {
        other_projects.entry(key).or_default().push(path);
    }
    Ok(ProjectDeployKeys { project, keys, other_projects })
}

/// Returns a project to which the current user may add deploy keys.
#[crate::boxed]
pub async fn show_project(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    access::read_project(app, actor, project, MANAGE).await
}

/// Returns a deploy key that the current user may change, with its project.
#[crate::boxed]
pub async fn show_for_update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: SshKeyId,
) -> Result<(Project, DeployKey)> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, MANAGE).await?;
    let key = find_existing(&mut connection, project.id, id).await?;
    Ok((project, key))
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: SshKeyId) -> Result<DeployKey> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, MANAGE).await?;
    find_existing(&mut connection, project.id, id).await
}

async fn find_existing(connection: &mut Connection, project: ProjectId, id: SshKeyId) -> Result<DeployKey> {
    deploy_key::find(connection, project, id).await?.ok_or(Error::NotFound(Resource::Record))
}

/// The attributes of a new deploy key.
#[derive(Clone, Debug)]
pub struct CreateDeployKey {
    pub title: String,
    pub key: String,
    pub can_push: bool,
}

/// Adds a deploy key to a project. If the project has the key, it is returned as it is. If the key is reachable through
/// another project, it is linked with its title, and with `can_push` of this request.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, input: CreateDeployKey) -> Result<DeployKey> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, MANAGE).await?;
    let added_by = actor.current_user()?.account.id();
    let public_key = ssh_key::parse(&input.title, &input.key)?;
    let key = find_or_insert(app, &mut transaction, actor, &input.title, &public_key).await?;
    let link = NewLink { key, added_by, can_push: input.can_push };
    deploy_key::link(&mut transaction, project.id, link, app.clock.now()).await?;
    let created = find_existing(&mut transaction, project.id, key).await?;
    commit(transaction).await?;
    Ok(created)
}

/// Returns the deploy key with this fingerprint, locked, and inserts it if there is none. A key that belongs to a user, or
/// that is not reachable, is taken.
async fn find_or_insert(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    title: &str,
    key: &PublicKey,
) -> Result<SshKeyId> {
    // The second attempt is needed if a concurrent transaction inserts the key after the first lookup.
    for _ in 0..2 {
        if let Some(id) = deploy_key::lock_by_fingerprint(connection, key.fingerprint()).await? {
            let is_reachable = deploy_key::is_reachable(connection, id, viewer(app, actor)).await?;
            return if is_reachable { Ok(id) } else { Err(ssh_key::taken()) };
        }
        if let Some(id) = deploy_key::insert(connection, title, key, app.clock.now()).await? {
            return Ok(id);
        }
    }
    Err(ssh_key::taken())
}

/// Links a reachable deploy key to a project, for reading. A key that the project has stays as it is.
#[crate::boxed]
pub async fn enable(app: &App, actor: &Actor, project: &ProjectRef, id: SshKeyId) -> Result<DeployKey> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, MANAGE).await?;
    let added_by = actor.current_user()?.account.id();
    let is_reachable = deploy_key::lock(&mut transaction, id).await?
        && deploy_key::is_reachable(&mut transaction, id, viewer(app, actor)).await?;
    if !is_reachable {
        return Err(Error::NotFound(Resource::DeployKey));
    }
    let link = NewLink { key: id, added_by, can_push: false };
    deploy_key::link(&mut transaction, project.id, link, app.clock.now()).await?;
    let enabled = find_existing(&mut transaction, project.id, id).await?;
    commit(transaction).await?;
    Ok(enabled)
}

/// The attributes of a deploy key that an update sets.
#[derive(Clone, Debug, Default)]
pub struct DeployKeyChanges {
    /// The title, which the key has in all its projects.
    pub title: Option<String>,
    pub can_push: Option<bool>,
}

/// Changes a deploy key of a project. Whoever lets it push is the user in whose name it does.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: SshKeyId,
    changes: DeployKeyChanges,
) -> Result<DeployKey> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, MANAGE).await?;
    deploy_key::lock(&mut transaction, id).await?;
    let before = find_existing(&mut transaction, project.id, id).await?;
    if let Some(title) = &changes.title {
        ssh_key::parse(title, &before.key)?;
        deploy_key::set_title(&mut transaction, id, title).await?;
    }
    if let Some(can_push) = changes.can_push {
        let pusher = can_push.then(|| actor.current_user().map(|user| user.account.id())).transpose()?;
        deploy_key::set_pusher(&mut transaction, project.id, id, pusher).await?;
    }
    let updated = find_existing(&mut transaction, project.id, id).await?;
    commit(transaction).await?;
    Ok(updated)
}

/// Removes a deploy key from a project and returns it as it was. With its last project the key is deleted.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, id: SshKeyId) -> Result<DeployKey> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, MANAGE).await?;
    deploy_key::lock(&mut transaction, id).await?;
    let removed = find_existing(&mut transaction, project.id, id).await?;
    deploy_key::unlink(&mut transaction, project.id, &[id]).await?;
    commit(transaction).await?;
    Ok(removed)
}
