//! A branch that gets a new commit, as if it was pushed.

use std::sync::Arc;

use holdfast_domain::policy::ProjectAction;
use holdfast_git::index_pack::{self, IndexedPack};
use holdfast_git::new_commit::{self, NewCommit};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::{NoProgress, PushCommand};
use holdfast_git::reader::Reader;
use holdfast_git::{Error as GitError, ObjectId, Quarantine, RefName, RefTarget, SHA1};
use holdfast_store::cache::CachedRepository;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_update::RefUpdate;

use crate::actor::CurrentUser;
use crate::client::KeyedPermit;
use crate::repository::browse::changes::explain_timeout;
use crate::repository::browse::commit::Commit;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::new_objects::{self, NewObjects};
use crate::repository::refs::planned_update::PlannedUpdate;
use crate::repository::refs::ref_update::STALE_OLD_VALUE;
use crate::repository::refs::ref_update_policy::RefUpdatePolicy;
use crate::repository::{maintenance, object_lookup};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of times that a commit is created, if the branch is updated meanwhile.
pub(crate) const MAX_ATTEMPTS: usize = 5;
const PUSH_FORBIDDEN: &str = "You are not allowed to push into this branch";
const TIMED_OUT: &str = "The change took too long and was canceled";

/// Returns the error of a request whose branch was updated during every attempt.
pub(crate) fn too_many_updates() -> Error {
    Error::TooManyUpdates
}

/// Returns the error of a git command that took too long.
pub(super) fn explain(error: GitError) -> Error {
    explain_timeout(error, TIMED_OUT)
}

/// A permit to create commits in a project. It is acquired once for all attempts of a request.
pub(crate) type EditPermit = Arc<KeyedPermit>;

/// Checks that the actor may push to a project, and waits for its share of the node.
pub(super) async fn acquire_push_permit(app: &App, actor: &Actor, project: &ProjectRef) -> Result<EditPermit> {
    let project = access::read_project(app, actor, project, ProjectAction::WriteCode).await?;
    acquire_permit(app, actor, &project).await
}

/// Waits for the client's share of the node. A caller that holds a permit must not wait for a second one.
pub(crate) async fn acquire_permit(app: &App, actor: &Actor, project: &Project) -> Result<EditPermit> {
    maintenance::apply_backpressure(app, project, &mut NoProgress).await?;
    Ok(Arc::new(app.git_runtime.acquire_push_permit(actor.client()).await))
}

/// Like [`acquire_permit`], but does not wait for maintenance of the repository, because nothing is stored.
pub(crate) async fn acquire_test_permit(app: &App, actor: &Actor) -> EditPermit {
    Arc::new(app.git_runtime.acquire_push_permit(actor.client()).await)
}

/// A branch to which the actor may add commits.
pub(super) struct OpenBranch {
    pub repository: Arc<OpenRepository>,
    /// The last commit. None if the branch is created.
    pub tip: Option<ObjectId>,
    /// The commit that a new one follows: the last commit, or the one at which the branch is created. None if the
    /// repository has no refs.
    pub base: Option<ObjectId>,
    pub cached_repository: CachedRepository,
    name: RefName,
    /// Where the new objects are written. Threads that write hold it and the permit, because they continue when the
    /// request is canceled.
    quarantine: Arc<Quarantine>,
    permit: EditPermit,
}

impl OpenBranch {
    /// Opens a branch to which the actor may push. Returns None if there is none with this name, unless the repository has
    /// no refs yet.
    pub async fn open(
        app: &App,
        actor: &Actor,
        project: &ProjectRef,
        branch: &str,
        permit: &EditPermit,
    ) -> Result<Option<Self>> {
        Self::open_or_create(app, actor, project, branch, None, permit).await
    }

    /// Like [`Self::open`], but if `start` is the name of another branch, the branch must not exist, and is created at
    /// the last commit of that one.
    pub async fn open_or_create(
        app: &App,
        actor: &Actor,
        project: &ProjectRef,
        branch: &str,
        start: Option<&str>,
        permit: &EditPermit,
    ) -> Result<Option<Self>> {
        let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
        let start = match start.filter(|start| *start != branch) {
            Some(start) => {
                let found = repository.refs.find(&format!("refs/heads/{start}"));
                Some(found.ok_or(Error::NotFound(Resource::Branch))?.id)
            }
            None => None,
        };
        let Ok(name) = RefName::branch(branch) else { return Ok(None) };
        let tip = repository.refs.find(name.as_str()).map(|target| target.id);
        if tip.is_some() && start.is_some() {
            return Err(Error::Rejected(format!("A branch called '{branch}' already exists")));
        }
        if tip.is_none() && start.is_none() && !repository.refs.is_empty() {
            return Ok(None);
        }
        let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
        // Which commit follows does not matter for this check.
        let new = tip.or(start).or_else(|| Some(ObjectId::null(SHA1)));
        let command = PushCommand { name: name.as_str().into(), old: tip, new };
        if RefUpdatePolicy::new(actor, &repository, rules).check_name(&command).is_err() {
            return Err(Error::Rejected(PUSH_FORBIDDEN.into()));
        }
        let opened = Self::with_tip(app, repository, name, tip, permit).await?;
        Ok(Some(Self { base: tip.or(start), ..opened }))
    }

    /// Opens a branch at this tip. The caller has checked that the actor may update it.
    pub(super) async fn with_tip(
        app: &App,
        repository: OpenRepository,
        name: RefName,
        tip: Option<ObjectId>,
        permit: &EditPermit,
    ) -> Result<Self> {
        let state = &repository.project.repository;
        let cached_repository = app.cached_repository(state.id, repository.refs.generation).await?;
        let quarantine = Arc::new(app.git_runtime.cache()?.quarantine(Some(&cached_repository.bare))?);
        let (repository, permit) = (Arc::new(repository), permit.clone());
        Ok(Self { repository, tip, base: tip, cached_repository, name, quarantine, permit })
    }

    pub fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    /// Runs a function with a reader of the quarantine, on a blocking thread.
    pub async fn read<T: Send + 'static>(
        &self,
        inspect: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let held = (self.quarantine.clone(), self.permit.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let (quarantine, _permit) = held;
            inspect(&Reader::open(quarantine.repository())?)
        });
        reading.await.map_err(|panicked| Error::Internal(panicked.into()))?
    }

    /// Adds a commit to the branch. Its objects are checked like those of a push. Returns None if the branch was updated
    /// since it was opened.
    pub async fn add(&self, app: &App, current_user: &CurrentUser, commit: NewCommit) -> Result<Option<Commit>> {
        let PreparedCommit { commit, pack, updates } = self.prepare(app, commit, None).await?;
        match new_objects::apply(app, current_user, self.new_objects(&pack, updates)).await {
            Ok(None) => Ok(Some(commit)),
            Ok(Some(STALE_OLD_VALUE)) | Err(Error::PrunedConcurrently) => Ok(None),
            Ok(Some(reason)) => Err(Error::Rejected(reason.into())),
            Err(error) => Err(error),
        }
    }

    /// Returns the new objects of a prepared commit, and the updates of refs to them.
    pub fn new_objects<'a>(&'a self, pack: &'a IndexedPack, updates: Vec<PlannedUpdate>) -> NewObjects<'a> {
        NewObjects {
            repository: &self.repository,
            cached_repository: &self.cached_repository,
            pack,
            updates,
            release: None,
        }
    }

    /// Writes a commit for the branch, and packs it with everything that the branches at its parents lack. The objects are
    /// checked like those of a push. `other_update` is made together with that of the branch.
    pub async fn prepare(
        &self,
        app: &App,
        commit: NewCommit,
        other_update: Option<RefUpdate>,
    ) -> Result<PreparedCommit> {
        let (repository, name, old) = (self.repository.clone(), self.name.clone(), self.tip);
        let parents = commit.parents.clone();
        let write = self.read(move |reader| {
            let id = commit.write(reader)?;
            let update = RefUpdate { name, old, new: Some(RefTarget { id, peeled: None }) };
            let updates = [update].into_iter().chain(other_update).collect();
            let mut planned = PlannedUpdate::read_all(reader, &repository, updates)?;
            if repository.project.features.builds_enabled {
                planned.iter_mut().try_for_each(|planned| planned.read_ci_file(reader))?;
            }
            Ok((Commit::from(reader.commit(id)?), planned))
        });
        let (commit, updates) = write.await?;
        let git = &app.git_runtime.git;
        // A parent that no ref points at, such as the head of a merge request from a fork, may be in a cruft pack.
        let unreferenced = object_lookup::exclude_tips(&self.repository, parents.iter().copied().collect());
        let known: Vec<ObjectId> = parents.into_iter().filter(|parent| !unreferenced.contains(parent)).collect();
        let pack = new_commit::pack(git, &self.quarantine, commit.id, &known).await.map_err(explain)?;
        let limits = app.git_runtime.settings.pack_limits;
        let checked = index_pack::check(git, self.quarantine.repository(), &pack, limits).await;
        checked.map_err(|error| match error.malformed_object() {
            Some(detail) => Error::Rejected(format!("The commit is rejected: {detail}")),
            None => explain(error),
        })?;
        Ok(PreparedCommit { commit, pack, updates })
    }
}

/// A commit whose objects are in a pack on the local disk.
pub(crate) struct PreparedCommit {
    pub commit: Commit,
    pub pack: IndexedPack,
    pub updates: Vec<PlannedUpdate>,
}
