//! Opens a repository for an actor: checks the permission and takes a snapshot of the refs.

use std::sync::Arc;

use holdfast_domain::AccessLevel;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::snapshot::Snapshot;
use tokio::sync::OnceCell;

use super::git_objects::GitObjects;
use crate::client::ClientKey;
use crate::{Actor, App, Result, access};

/// A project with its ref snapshot at one generation, which all parts of a response use.
pub struct OpenRepository {
    pub project: Project,
    pub refs: Arc<Snapshot>,
    /// The access level of the actor in the project: that of an owner for administrators.
    pub effective_level: Option<AccessLevel>,
    /// The client whose permits the requests count for.
    pub client: ClientKey,
    objects: OnceCell<GitObjects>,
}

impl OpenRepository {
    /// Returns the objects of the repository in the local cache. All reads of a request share them, so that the cache is
    /// checked once.
    pub(super) async fn objects(&self, app: &App) -> Result<&GitObjects> {
        let open = || GitObjects::open(app, self.project.repository.id, self.refs.generation, self.client);
        self.objects.get_or_try_init(open).await
    }
}

/// Authorizes an action on a project and loads the refs of its repository.
#[crate::boxed]
pub async fn open_repository(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    action: ProjectAction,
) -> Result<OpenRepository> {
    let project = access::read_project(app, actor, project, action).await?;
    load_refs(app, actor, project).await
}

/// Loads the refs of a project that the actor has been authorized to read the code of.
pub(crate) async fn load_refs(app: &App, actor: &Actor, project: Project) -> Result<OpenRepository> {
    let state = &project.repository;
    let refs =
        app.git_runtime.snapshots.get_or_load(&app.database, state.id, state.generation, state.head.as_deref()).await?;
    let client = access::find_client(app, actor, &project).await?;
    let effective_level = if actor.is_administrator() { Some(AccessLevel::Owner) } else { project.level() };
    Ok(OpenRepository { project, refs, effective_level, client, objects: OnceCell::new() })
}
