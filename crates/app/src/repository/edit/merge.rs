//! Merges a commit into a branch, as `git merge --no-ff` does.

use holdfast_domain::policy::ProjectAction;
use holdfast_git::merge_tree;
use holdfast_git::new_commit::NewCommit;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::PushCommand;
use holdfast_git::{ObjectId, RefName};
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_update::{RefUpdate, RefUpdateOrigin};

pub(crate) use holdfast_git::merge_tree::Merge;

use super::open_branch::{EditPermit, OpenBranch, PreparedCommit, explain};
use crate::actor::CurrentUser;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::new_objects::{StoredObjects, signature};
use crate::repository::refs::ref_update::{self, RefUpdateBatch};
use crate::repository::refs::ref_update_policy::RefUpdatePolicy;
use crate::{Actor, App, Error, Result};

pub(crate) use super::open_branch::{MAX_ATTEMPTS, acquire_permit, acquire_test_permit, too_many_updates};

/// Returns whether the actor may merge into a branch of a project that it may read.
pub(crate) async fn is_allowed(app: &App, actor: &Actor, repository: &OpenRepository, branch: &str) -> Result<bool> {
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    Ok(RefUpdatePolicy::new(actor, repository, rules).can_merge_into(branch))
}

/// A branch into which a commit is merged.
pub(crate) struct MergeTarget {
    branch: OpenBranch,
    tip: ObjectId,
}

impl MergeTarget {
    /// Opens a branch into which the actor may merge, which the caller has checked. Returns None if there is no such
    /// branch.
    pub async fn open(
        app: &App,
        repository: OpenRepository,
        branch: &str,
        permit: &EditPermit,
    ) -> Result<Option<Self>> {
        let Ok(name) = RefName::branch(branch) else { return Ok(None) };
        let Some(tip) = repository.refs.find(name.as_str()).map(|target| target.id) else { return Ok(None) };
        let branch = OpenBranch::with_tip(app, repository, name, Some(tip), permit).await?;
        Ok(Some(Self { branch, tip }))
    }

    pub const fn tip(&self) -> ObjectId {
        self.tip
    }

    /// Returns whether a commit is in the history of another one.
    pub async fn is_ancestor(&self, ancestor: ObjectId, commit: ObjectId) -> Result<bool> {
        self.branch.read(move |reader| Ok(reader.is_ancestor(ancestor, commit)?)).await
    }

    /// Merges the tree of a commit with that of the branch. Nothing is changed yet.
    pub async fn merge(&self, app: &App, head: ObjectId) -> Result<Merge> {
        let merged = merge_tree::merge_commits(&app.git_runtime.git, self.branch.quarantine(), self.tip, head).await;
        merged.map_err(explain)
    }

    /// Writes the merge commit. `removed_branch` is deleted together with the update of the branch.
    pub async fn prepare(
        &self,
        app: &App,
        current_user: &CurrentUser,
        head: ObjectId,
        tree: ObjectId,
        message: String,
        removed_branch: Option<RefName>,
    ) -> Result<PreparedCommit> {
        let committer = signature(app, current_user);
        let commit = NewCommit { tree, parents: vec![self.tip, head], author: committer.clone(), committer, message };
        let removal = removed_branch.map(|name| RefUpdate { name, old: Some(head), new: None });
        self.branch.prepare(app, commit, removal).await
    }

    /// Stores the pack of a merge commit. The caller updates the refs in its transaction.
    pub async fn store<'a>(
        &'a self,
        app: &App,
        current_user: &'a CurrentUser,
        prepared: &'a mut PreparedCommit,
    ) -> Result<StoredObjects<'a>> {
        let updates = std::mem::take(&mut prepared.updates);
        StoredObjects::store(app, current_user, self.branch.new_objects(&prepared.pack, updates)).await
    }
}

/// A branch that an actor may delete.
pub(crate) struct RemovableBranch {
    pub name: RefName,
    deleter: Actor,
}

/// Returns a branch if the actor may delete it and it is at this commit.
pub(crate) async fn find_removable(
    app: &App,
    deleter: Actor,
    project: &ProjectRef,
    branch: &str,
    head: ObjectId,
) -> Result<Option<RemovableBranch>> {
    let repository = match open_repository(app, &deleter, project, ProjectAction::WriteCode).await {
        Ok(repository) => repository,
        Err(Error::NotFound(_) | Error::Forbidden(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Ok(name) = RefName::branch(branch) else { return Ok(None) };
    if repository.refs.find(name.as_str()).map(|target| target.id) != Some(head) {
        return Ok(None);
    }
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let command = PushCommand { name: name.as_str().into(), old: Some(head), new: None };
    let is_allowed = RefUpdatePolicy::new(&deleter, &repository, rules).check_name(&command).is_ok();
    Ok(is_allowed.then_some(RemovableBranch { name, deleter }))
}

/// Deletes a branch of a fork after its commits were merged. A failure is logged only: the merge is done.
pub(crate) async fn remove(app: &App, project: &ProjectRef, branch: RemovableBranch, head: ObjectId) {
    let RemovableBranch { name, deleter } = branch;
    let branch = name.as_str().to_owned();
    let remove = async {
        let repository = open_repository(app, &deleter, project, ProjectAction::WriteCode).await?;
        let current_user = deleter.current_user()?;
        let update = RefUpdate { name, old: Some(head), new: None };
        let user = Some(current_user.account.id());
        let origin = RefUpdateOrigin { user, channel: current_user.ref_update_channel };
        let batch = RefUpdateBatch::new(&repository, vec![update.into()], Some(current_user), origin);
        let result = ref_update::apply(app, batch).await?;
        result.rejections.into_iter().flatten().next().map_or(Ok(()), |reason| Err(Error::Rejected(reason.into())))
    };
    if let Err(error) = remove.await {
        tracing::warn!(%error, branch, "merge request merged, source branch in the fork not deleted; its users can delete it");
    }
}
