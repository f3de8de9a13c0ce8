//! Deletes the branches that are merged into the default branch, as a job.

use std::collections::HashSet;

use holdfast_domain::ids::{JobId, ProjectId, UserId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{Protection, RefUpdateChannel, Rule};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::{ObjectId, RefName};
use holdfast_store::commit as commit_transaction;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_update::{RefUpdate, RefUpdateOrigin};
use holdfast_store::worker::{job, merged_branches};

use super::planned_update::PlannedUpdate;
use super::ref_update::{self, RefUpdateBatch};
use crate::accounts::user;
use crate::repository::objects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Result};

/// Enqueues a job that deletes the merged branches of a project.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef) -> Result<()> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let user = actor.current_user()?.account.id();
    let mut transaction = app.database.begin().await?;
    let project = &repository.project;
    merged_branches::enqueue(&mut transaction, project.id, &project.full_path(), user, app.clock.now()).await?;
    Ok(commit_transaction(transaction).await?)
}

/// Runs the job. Deletes nothing if the user may no longer push.
pub(crate) async fn run(app: &App, id: JobId, project: ProjectId, user: UserId) -> Result<()> {
    if let Some(actor) = user::actor_for_user(app, user).await? {
        match delete_all(app, id, &actor, project).await {
            Err(Error::NotFound(_) | Error::Forbidden(_)) => {}
            result => result?,
        }
    }
    job::finish(&mut *app.database.connection().await?, id, app.clock.now()).await?;
    Ok(())
}

/// Maximum number of branches that are deleted in one transaction.
const BATCH_SIZE: usize = 100;

async fn delete_all(app: &App, id: JobId, actor: &Actor, project: ProjectId) -> Result<()> {
    let repository = open_repository(app, actor, &ProjectRef::Id(project), ProjectAction::WriteCode).await?;
    let merged = find_merged(app, &repository).await?;
    let current_user = actor.current_user()?;
    job::set_total(&mut *app.database.connection().await?, id, merged.len() as i64).await?;
    for chunk in merged.chunks(BATCH_SIZE) {
        // A branch may have been protected meanwhile.
        let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
        let deletable = chunk.iter().filter(|it| !is_protected(&rules, it.name.as_str())).cloned();
        let updates = deletable.map(PlannedUpdate::from).collect();
        let origin = RefUpdateOrigin { user: Some(current_user.account.id()), channel: RefUpdateChannel::Api };
        // Not atomic: a branch that was updated concurrently is kept, and the rest is still deleted.
        let batch = RefUpdateBatch {
            is_atomic: false,
            ..RefUpdateBatch::new(&repository, updates, Some(current_user), origin)
        };
        let result = ref_update::apply(app, batch).await?;
        let deleted = result.rejections.iter().filter(|rejection| rejection.is_none()).count();
        job::advance(&mut *app.database.connection().await?, id, deleted as i64).await?;
    }
    Ok(())
}

/// Returns the deletions of the merged branches. A branch at the same commit as the default branch does not count as
/// merged: no work has been done on it yet.
async fn find_merged(app: &App, repository: &OpenRepository) -> Result<Vec<RefUpdate>> {
    let Some(head) = repository.refs.head_target() else { return Ok(Vec::new()) };
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let is_removable = |name: &str| name != repository.refs.head() && !is_protected(&rules, name);
    let branches: Vec<(RefName, ObjectId)> = repository
        .refs
        .iter_with_prefix(BRANCH_PREFIX)
        .filter(|(name, target)| target.id != head && is_removable(name))
        .map(|(name, target)| (RefName::from_trusted(name), target.id))
        .collect();
    if branches.is_empty() {
        return Ok(Vec::new());
    }
    let tips: HashSet<ObjectId> = branches.iter().map(|(_, tip)| *tip).collect();
    let merged = objects::read(app, repository, move |reader| Ok(reader.find_merged_tips(head, &tips)?)).await?;
    let merged_refs = branches.into_iter().filter(|(_, tip)| merged.contains(tip));
    Ok(merged_refs.map(|(name, tip)| RefUpdate { name, old: Some(tip), new: None }).collect())
}

fn is_protected(rules: &[Rule], name: &str) -> bool {
    Protection::for_branch(rules, name.strip_prefix(BRANCH_PREFIX).unwrap_or(name)).is_protected
}

const BRANCH_PREFIX: &str = "refs/heads/";
