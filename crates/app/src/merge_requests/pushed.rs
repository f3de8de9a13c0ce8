//! Updates the merge requests of pushed branches. The push itself has added their new versions; the job does what may
//! follow later: notes and events, and marking as merged what the push has brought into a target branch.

use std::collections::HashSet;

use holdfast_domain::ids::{MergeRequestId, ProjectId, UserId};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_store::merge_requests::merge_request::{self, MergeRequestRef, Source};
use holdfast_store::merge_requests::version;
use holdfast_store::planning::note::{self, NoteTarget};
use holdfast_store::planning::todo;
use holdfast_store::worker::merge_requests::BranchUpdate;

use super::accept::FinishedMerge;
use super::closing;
use super::events::{MergeRequestEventKind, publish};
use super::merge_request::{find, lock};
use super::source::{SourceBranch, refresh};
use super::system_note::{self, MAX_NOTED_COMMITS};
use super::version::{Version, find_base, load_newest};
use crate::accounts::user;
use crate::projects::project::ProjectRef;
use crate::repository::browse::compare;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Result, access};

/// Updates the merge requests from and into the pushed branches, on behalf of the user who pushed.
#[crate::boxed]
pub(crate) async fn run(app: &App, project: ProjectId, user: UserId, updates: Vec<BranchUpdate>) -> Result<()> {
    let Some(actor) = user::actor_for_user(app, user).await? else { return Ok(()) };
    // A merge request that cannot be updated does not keep the others from it.
    let mut first_error = None;
    let mut keep = |result: Result<()>| {
        if let Err(error) = skip_missing(result) {
            first_error.get_or_insert(error);
        }
    };
    for update in updates {
        let source = Source { project, branch: &update.branch };
        let requests = merge_request::list_open_by_source(&mut *app.database.connection().await?, source).await?;
        for request in requests {
            keep(announce(app, &actor, request, update.new.is_none() && !update.is_refresh).await);
        }
        if let Some(new) = update.new.as_deref().and_then(parse_id) {
            let old = update.old.as_deref().and_then(parse_id);
            keep(mark_merged(app, &actor, project, &update.branch, old, new).await);
        }
    }
    first_error.map_or(Ok(()), Err)
}

fn parse_id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

/// Ignores errors of merge requests that were deleted, closed or merged since the push, and of commits that were pruned.
fn skip_missing(result: Result<()>) -> Result<()> {
    match result {
        // Trying again does not help if git rejects the commits of a fork.
        Err(Error::Git(error @ (holdfast_git::Error::CommandFailed { .. } | holdfast_git::Error::Protocol(_)))) => {
            tracing::warn!(%error, "merge request not updated after a push");
            Ok(())
        }
        Err(Error::NotFound(_) | Error::NotMergeable | Error::Git(holdfast_git::Error::Missing(_))) => Ok(()),
        other => other,
    }
}

/// Copies new commits of a fork, adds system notes about new versions and about the deletion of the source branch, and
/// publishes events.
async fn announce(app: &App, actor: &Actor, request: MergeRequestRef, is_deleted: bool) -> Result<()> {
    let project = ProjectRef::Id(request.project);
    let repository = open_repository(app, &Actor::Operator, &project, ProjectAction::ReadCode).await?;
    let found = find(&mut *app.database.connection().await?, actor, &repository.project, request.id).await?;
    if found.source_project() != Some(request.project) {
        refresh(app, actor, &repository.project, &found).await?;
    }
    // The commits of a fork may have been added since the repository was opened.
    let repository = open_repository(app, &Actor::Operator, &project, ProjectAction::ReadCode).await?;
    let current_user = actor.current_user()?;
    let mut notes = Vec::new();
    let unannounced = version::list_unannounced(&mut *app.database.connection().await?, request.id).await?;
    for version in &unannounced {
        let old = Some(version.previous_head);
        let commits = compare::list_commits(app, &repository, old, version.head, MAX_NOTED_COMMITS + 1).await?;
        notes.push(system_note::for_commits(&commits));
    }
    let mut transaction = app.database.begin().await?;
    lock(&mut transaction, actor, &repository.project, request.id).await?;
    // Versions are announced once, even if the job runs twice. The note about a deleted branch is then written twice.
    if !version::set_announced(&mut transaction, &unannounced).await? {
        return Ok(());
    }
    if is_deleted {
        notes.push(system_note::for_deleted_source(&found.source_branch));
    }
    let now = app.clock.now();
    if !notes.is_empty() {
        // Not in the push: it locks the repository, and whoever locks both locks the merge request first.
        merge_request::set_updated_at(&mut transaction, request.id, now).await?;
    }
    let found = find(&mut transaction, actor, &repository.project, request.id).await?;
    for version in &unannounced {
        let kind = MergeRequestEventKind::Pushed(&version.previous_head.to_string());
        publish(app, &mut transaction, current_user, &repository.project, &found, kind).await?;
    }
    let (target, author) = (NoteTarget::MergeRequest(request.id), current_user.account.id());
    note::insert_system(&mut transaction, target, author, &notes, now).await?;
    todo::complete(&mut transaction, author, target).await?;
    Ok(holdfast_store::commit(transaction).await?)
}

/// Marks the merge requests as merged whose heads a push has brought into their target branch.
async fn mark_merged(
    app: &App,
    actor: &Actor,
    project: ProjectId,
    branch: &str,
    old: Option<ObjectId>,
    new: ObjectId,
) -> Result<()> {
    let requests = merge_request::list_open_by_target(&mut *app.database.connection().await?, project, branch).await?;
    if requests.is_empty() {
        return Ok(());
    }
    let project = ProjectRef::Id(project);
    let repository = open_repository(app, &Actor::Operator, &project, ProjectAction::ReadCode).await?;
    let heads: HashSet<ObjectId> = requests.iter().map(|(_, head)| *head).collect();
    let merged = compare::find_added(app, &repository, old, new, heads).await?;
    for (id, head) in requests.into_iter().filter(|(_, head)| merged.contains(head)) {
        skip_missing(mark_one_merged(app, actor, &project, branch, id, head).await)?;
    }
    Ok(())
}

async fn mark_one_merged(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    branch: &str,
    id: MergeRequestId,
    head: ObjectId,
) -> Result<()> {
    let (repository, request, newest) = load_newest(app, &Actor::Operator, project, id).await?;
    if newest.head != head || was_merged_when_opened(app, &repository, &newest).await? {
        return Ok(());
    }
    let closed_issues = closing::find_closed_issue_iids(app, &repository, &request, &newest).await?;
    let current_user = actor.current_user()?;
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::lock_project(app, &mut transaction, &Actor::Operator, project, action).await?;
    let current = lock(&mut transaction, actor, &project, id).await?;
    SourceBranch::within(&current.source_branch).lock_tips(app, &mut transaction, &project, branch).await?;
    let newest = version::find_newest(&mut transaction, id).await?;
    if newest.head != head || current.target_branch != branch {
        return Ok(());
    }
    let merge = FinishedMerge { request: id, head, merge_commit: None, closed_issues: &closed_issues };
    merge.write(app, &mut transaction, &project, current_user).await?;
    merge.publish(app, &mut transaction, actor, &project, current_user).await?;
    Ok(holdfast_store::commit(transaction).await?)
}

/// Returns whether the target branch had all commits of a merge request when it was opened. Such a request stays open, even
/// if the job of the push that brought the commits runs only afterwards.
async fn was_merged_when_opened(app: &App, repository: &OpenRepository, newest: &Version) -> Result<bool> {
    Ok(newest.number == 1 && find_base(app, repository, newest).await? == Some(newest.head))
}
