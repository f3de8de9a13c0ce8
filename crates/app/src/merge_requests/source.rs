//! The source branch of a merge request, in the target project or in a fork of it.

use std::collections::HashMap;

use holdfast_domain::ids::{ProjectId, RepositoryId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::RefUpdateChannel;
use holdfast_git::ObjectId;
use holdfast_store::Connection;
use holdfast_store::merge_requests::merge_request;
use holdfast_store::merge_requests::version;
use holdfast_store::repository::ref_update::{self, RefUpdateOrigin};
use holdfast_store::repository::repository;

use super::merge_request::MergeRequest;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::open_repository::open_repository;
use crate::repository::refs::ref_update::RefUpdateResult;
use crate::repository::transfer::missing_objects::{MissingObjects, find_tip};
use crate::{Actor, App, Error, Result};

/// The source branch of a merge request. If it is in a fork, what the target project lacks of its commits is stored.
pub(super) struct SourceBranch {
    branch: String,
    fork: Option<ForkBranch>,
}

struct ForkBranch {
    repository: RepositoryId,
    tip: ObjectId,
    missing: Option<MissingObjects>,
}

/// The tips of the branches of a merge request while their repositories are locked. None for a branch that does not
/// exist.
pub(super) struct LockedTips {
    pub source: Option<ObjectId>,
    pub target: Option<ObjectId>,
    /// The result of adding the objects of a fork.
    added: Option<RefUpdateResult>,
}

impl SourceBranch {
    /// Returns a branch of the target project.
    pub fn within(branch: &str) -> Self {
        Self { branch: branch.to_owned(), fork: None }
    }

    /// Opens a source branch. The caller has checked that the actor may propose it for the target project. Returns None if
    /// it is in a fork, and the fork or the branch does not exist or is at the known head.
    pub async fn open(
        app: &App,
        actor: &Actor,
        source: ProjectId,
        branch: &str,
        target: ProjectId,
        known_head: Option<ObjectId>,
    ) -> Result<Option<Self>> {
        if source == target {
            return Ok(Some(Self::within(branch)));
        }
        let open = |project| async move {
            let project = ProjectRef::Id(project);
            open_repository(app, &Actor::Operator, &project, ProjectAction::ReadCode).await
        };
        let source = match open(source).await {
            Err(Error::NotFound(_)) => return Ok(None),
            source => source?,
        };
        let tip = find_tip(&source, branch).filter(|tip| Some(*tip) != known_head);
        let Some(tip) = tip else { return Ok(None) };
        let missing = MissingObjects::store(app, actor, &source, tip, open(target).await?, known_head).await?;
        let repository = source.project.repository.id;
        Ok(Some(Self { branch: branch.to_owned(), fork: Some(ForkBranch { repository, tip, missing }) }))
    }

    /// Locks the repositories of both branches until the end of the transaction, and adds the objects of a fork to the
    /// target. Returns None if the branch of the fork was updated since it was opened.
    pub async fn lock_tips(
        &self,
        app: &App,
        connection: &mut Connection,
        project: &Project,
        target_branch: &str,
    ) -> Result<Option<LockedTips>> {
        let target = project.repository.id;
        let source = self.fork.as_ref().map_or(target, |fork| fork.repository);
        repository::lock_all(connection, &[source, target]).await?;
        let source_tip = find_branch(connection, source, &self.branch).await?;
        let target_tip = find_branch(connection, target, target_branch).await?;
        let mut added = None;
        if let Some(fork) = &self.fork {
            if source_tip != Some(fork.tip) {
                return Ok(None);
            }
            if let Some(missing) = &fork.missing {
                let origin = RefUpdateOrigin { user: None, channel: RefUpdateChannel::Api };
                added = Some(missing.add_in(app, connection, origin).await?);
            }
        }
        Ok(Some(LockedTips { source: source_tip, target: target_tip, added }))
    }

    /// Adds the objects of a fork to the local cache, after the transaction is committed.
    pub async fn update_cache(&self, app: &App, tips: &LockedTips) {
        let missing = self.fork.as_ref().and_then(|fork| fork.missing.as_ref());
        if let (Some(missing), Some(added)) = (missing, &tips.added) {
            missing.update_cache(app, added).await;
        }
    }
}

async fn find_branch(connection: &mut Connection, id: RepositoryId, branch: &str) -> Result<Option<ObjectId>> {
    let name = format!("refs/heads/{branch}");
    let found: HashMap<String, ObjectId> = ref_update::find_current(connection, id, &[&name]).await?;
    Ok(found.get(&name).copied())
}

/// Adds a version to a merge request if its source branch is not at the newest one. A push within the project adds its
/// version itself; this is for forks, and for pushes that a node of an older version of this program has received.
pub(super) async fn refresh(app: &App, actor: &Actor, project: &Project, request: &MergeRequest) -> Result<()> {
    let Some(source) = request.source_project().filter(|_| !project.archived) else { return Ok(()) };
    let known = Some(version::find_newest(&mut *app.database.connection().await?, request.id).await?.head);
    let source = SourceBranch::open(app, actor, source, &request.source_branch, request.project_id, known).await?;
    let Some(source) = source else { return Ok(()) };
    let mut transaction = app.database.begin().await?;
    merge_request::lock(&mut transaction, request.project_id, request.id).await?;
    // The push that has updated the branch meanwhile is followed by a job of its own.
    let tips = source.lock_tips(app, &mut transaction, project, &request.target_branch).await?;
    let Some(tips) = tips else { return Ok(()) };
    let newest = version::find_newest(&mut transaction, request.id).await?;
    let Some(tip) = tips.source.filter(|tip| *tip != newest.head) else { return Ok(()) };
    version::insert(&mut transaction, request.id, tip, tips.target, false, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    source.update_cache(app, &tips).await;
    Ok(())
}
