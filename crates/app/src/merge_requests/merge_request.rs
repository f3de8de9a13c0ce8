//! Merge requests: show, create, update, delete and subscribe.

use holdfast_domain::ids::{LabelId, MergeRequestId, ProjectId};
use holdfast_domain::merge_requests::{MergeRequestState, is_work_in_progress};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::activity::event;
use holdfast_store::merge_requests::merge_request::{self, Attributes, Source};
use holdfast_store::merge_requests::{open, subscription, version, waiting};
use holdfast_store::planning::issue::CounterDelta;
use holdfast_store::planning::label::{self, TitledLabel};
use holdfast_store::planning::note::{self, NoteTarget};
use holdfast_store::worker::merge_requests::{self, BranchUpdate};
use holdfast_store::{Connection, Transaction};

pub use holdfast_store::merge_requests::merge_request::MergeRequest;

use super::changes::{MergeRequestChanges, MergeRequestUpdate};
use super::events::{MergeRequestEventKind, publish};
use super::source::SourceBranch;
use super::system_note::{self, common_attributes};
use crate::accounts::user::lock_author;
use crate::planning::todo;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::edit::merge::{MAX_ATTEMPTS, too_many_updates};
use crate::repository::open_repository::open_repository;
use crate::repository::transfer::missing_objects::find_tip;
use crate::{Actor, App, Error, Resource, Result, access};

const SAME_BRANCH: &str = "You can not use same project/branch for source and target";
const UNRELATED_PROJECT: &str = "Source project is not a fork of the target project";
const NO_SOURCE_BRANCH: &str = "The source branch does not exist";
const NO_TARGET_BRANCH: &str = "The target branch does not exist";

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: MergeRequestId) -> Result<MergeRequest> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    find(&mut connection, actor, &project, id).await
}

/// Returns the id of a merge request by its number within the target project.
#[crate::boxed]
pub async fn find_id(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<MergeRequestId> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    merge_request::find_id(&mut connection, project.id, iid).await?.ok_or(Error::NotFound(Resource::MergeRequest))
}

/// Finds a merge request of a project whose merge requests the actor may read.
pub(super) async fn find(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    id: MergeRequestId,
) -> Result<MergeRequest> {
    let found = merge_request::find(connection, project.id, id, actor.user_id()).await?;
    found.ok_or(Error::NotFound(Resource::MergeRequest))
}

/// Like [`find`], by its number in the project.
pub(super) async fn find_by_iid(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    iid: i64,
) -> Result<MergeRequest> {
    let found = merge_request::find_by_iid(connection, project.id, iid, actor.user_id()).await?;
    found.ok_or(Error::NotFound(Resource::MergeRequest))
}

/// Like [`find`], but locks the merge request until the end of the transaction. A caller that also locks the project does
/// that before.
pub(super) async fn lock(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    id: MergeRequestId,
) -> Result<MergeRequest> {
    merge_request::lock(connection, project.id, id).await?;
    find(connection, actor, project, id).await
}

/// Creates a merge request from a branch of a project into a branch of the same project, or of the one that it was forked
/// from.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    source: &ProjectRef,
    source_branch: &str,
    target: Option<ProjectId>,
    changes: MergeRequestChanges,
) -> Result<MergeRequest> {
    let source = access::read_project(app, actor, source, ProjectAction::CreateMergeRequest).await?;
    changes.check_texts()?;
    let target = target.unwrap_or(source.id);
    if target != source.id {
        let action = ProjectAction::ReadMergeRequests;
        let target = open_repository(app, actor, &ProjectRef::Id(target), action).await?;
        if source.source().is_none_or(|origin| origin.id != target.project.id) || target.project.archived {
            return Err(Error::Unprocessable(UNRELATED_PROJECT));
        }
        // Copying the commits of a fork costs much more than this check.
        if find_tip(&target, changes.target_branch.as_deref().unwrap_or_default()).is_none() {
            return Err(Error::Unprocessable(NO_TARGET_BRANCH));
        }
    }
    for _ in 0..MAX_ATTEMPTS {
        let source = Source { project: source.id, branch: source_branch };
        let target_branch = changes.target_branch.as_deref().unwrap_or_default();
        reject_duplicate(&mut *app.database.connection().await?, target, source, target_branch).await?;
        let opened = SourceBranch::open(app, actor, source.project, source_branch, target, None).await?;
        let opened = opened.ok_or(Error::Unprocessable(NO_SOURCE_BRANCH))?;
        match create_from(app, actor, &opened, source, target, changes.clone()).await {
            // The branch of a fork was updated, or maintenance pruned what its commits are based on.
            Ok(None) | Err(Error::PrunedConcurrently) => {}
            Ok(Some(created)) => return Ok(created),
            Err(error) => return Err(error),
        }
    }
    Err(too_many_updates())
}

/// Creates a merge request. Returns None if the branch of a fork was updated since it was opened.
async fn create_from(
    app: &App,
    actor: &Actor,
    opened: &SourceBranch,
    source: Source<'_>,
    target: ProjectId,
    changes: MergeRequestChanges,
) -> Result<Option<MergeRequest>> {
    let mut transaction = app.database.begin().await?;
    // In the target project, who may read its merge requests may propose a branch of a fork.
    let is_fork = target != source.project;
    let action = if is_fork { ProjectAction::ReadMergeRequests } else { ProjectAction::CreateMergeRequest };
    let project = access::lock_project(app, &mut transaction, actor, &ProjectRef::Id(target), action).await?;
    let blank = Attributes {
        title: String::new(),
        description: None,
        state: MergeRequestState::Opened,
        target_branch: String::new(),
        removes_source_branch: None,
        assignee: None,
        milestone: None,
    };
    let update = changes.apply(app, &mut transaction, actor, &project, blank).await?;
    let target_branch = &update.attributes.target_branch;
    if !is_fork && source.branch == target_branch {
        return Err(Error::Unprocessable(SAME_BRANCH));
    }
    reject_duplicate(&mut transaction, project.id, source, target_branch).await?;
    let author = lock_author(&mut transaction, actor).await?;
    let tips = opened.lock_tips(app, &mut transaction, &project, target_branch).await?;
    let Some(tips) = tips else { return Ok(None) };
    let head = tips.source.ok_or(Error::Unprocessable(NO_SOURCE_BRANCH))?;
    let start = tips.target.ok_or(Error::Unprocessable(NO_TARGET_BRANCH))?;
    let now = app.clock.now();
    let id = merge_request::insert(&mut transaction, project.id, author, source, &update.attributes, now).await?;
    version::insert(&mut transaction, id, head, Some(start), true, now).await?;
    let labels: Vec<LabelId> = update.labels.iter().flatten().map(|label| label.id).collect();
    label::update_merge_request_labels(&mut transaction, id, &[], &labels).await?;
    merge_request::adjust_counters(&mut transaction, id, CounterDelta::Increment).await?;
    let request = find(&mut transaction, actor, &project, id).await?;
    let (note_target, attributes) = (NoteTarget::MergeRequest(id), common_attributes(&request));
    todo::update(app, &mut transaction, author, project.id, note_target, None, attributes).await?;
    publish(app, &mut transaction, actor.current_user()?, &project, &request, MergeRequestEventKind::Opened).await?;
    holdfast_store::commit(transaction).await?;
    opened.update_cache(app, &tips).await;
    Ok(Some(request))
}

/// Fails if an open merge request has these branches.
async fn reject_duplicate(
    connection: &mut Connection,
    project: ProjectId,
    source: Source<'_>,
    target_branch: &str,
) -> Result<()> {
    let titles = open::list_titles(connection, project, source, target_branch).await?;
    if titles.is_empty() {
        return Ok(());
    }
    // The error text is as existing clients expect.
    Err(Error::Conflict(format!("Cannot Create: This merge request already exists: {}", titles.join(", "))))
}

/// Returns the number of the open merge request from a branch into another one, if there is one. It keeps the actor
/// from creating the same.
#[crate::boxed]
pub async fn find_open_iid(
    app: &App,
    actor: &Actor,
    source: &ProjectRef,
    source_branch: &str,
    target: Option<ProjectId>,
    target_branch: &str,
) -> Result<Option<i64>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::CreateMergeRequest;
    let source = access::authorize_project(app, &mut connection, actor, source, action).await?;
    let (target, action) = (ProjectRef::Id(target.unwrap_or(source.id)), ProjectAction::ReadMergeRequests);
    let target = access::authorize_project(app, &mut connection, actor, &target, action).await?;
    let source = Source { project: source.id, branch: source_branch };
    Ok(open::find_iid(&mut connection, target.id, source, target_branch).await?)
}

/// Returns whether the actor manages merge requests, or is the author or the assignee of this one.
pub fn can_edit(actor: &Actor, project: &Project, request: &MergeRequest) -> bool {
    let is_own = actor.user_id().is_some_and(|user| request.is_author_or_assignee(user));
    is_own || access::can(actor, project, ProjectAction::ManageMergeRequests)
}

#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
    changes: MergeRequestChanges,
) -> Result<MergeRequest> {
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::lock_project(app, &mut transaction, actor, project, action).await?;
    let before = lock(&mut transaction, actor, &project, id).await?;
    if project.archived || !can_edit(actor, &project, &before) {
        return Err(Error::Forbidden(None));
    }
    let changes = changes.with_labels_of(&before.labels);
    let after = changes.apply(app, &mut transaction, actor, &project, (&before).into()).await?;
    save(app, transaction, actor, &project, before, after).await
}

/// Updates a merge request, adds system notes, publishes events and commits. The caller holds the locks of the project and
/// of the request.
async fn save(
    app: &App,
    mut transaction: Transaction,
    actor: &Actor,
    project: &Project,
    before: MergeRequest,
    after: MergeRequestUpdate,
) -> Result<MergeRequest> {
    let (old_attributes, now) = (Attributes::from(&before), app.clock.now());
    let old_labels = label::list_for_merge_request(&mut transaction, before.id).await?;
    let labels = after.labels.unwrap_or_else(|| old_labels.clone());
    let removed: Vec<&TitledLabel> = old_labels.iter().filter(|it| !labels.contains(it)).collect();
    let added: Vec<&TitledLabel> = labels.iter().filter(|it| !old_labels.contains(it)).collect();
    let has_label_changes = !removed.is_empty() || !added.is_empty();
    if old_attributes == after.attributes && !has_label_changes {
        holdfast_store::commit(transaction).await?;
        return Ok(before);
    }
    let is_retargeted = old_attributes.target_branch != after.attributes.target_branch;
    let is_reopened = !old_attributes.state.is_open() && after.attributes.state.is_open();
    if let (true, Some(source)) = (is_retargeted || is_reopened, before.source_project()) {
        let source = Source { project: source, branch: &before.source_branch };
        reject_duplicate(&mut transaction, project.id, source, &after.attributes.target_branch).await?;
    }
    let ids = |labels: &[&TitledLabel]| labels.iter().map(|label| label.id).collect::<Vec<_>>();
    merge_request::adjust_counters(&mut transaction, before.id, CounterDelta::Decrement).await?;
    merge_request::update(&mut transaction, before.id, &after.attributes, now).await?;
    if has_label_changes {
        label::update_merge_request_labels(&mut transaction, before.id, &ids(&removed), &ids(&added)).await?;
    }
    merge_request::adjust_counters(&mut transaction, before.id, CounterDelta::Increment).await?;
    if is_retargeted || old_attributes.state != after.attributes.state {
        waiting::set(&mut transaction, before.id, None, now).await?;
    }
    if is_retargeted || is_reopened {
        add_version(app, &mut transaction, actor, project, &before, &after.attributes.target_branch, is_retargeted)
            .await?;
    }
    let saved = find(&mut transaction, actor, project, before.id).await?;
    if is_work_in_progress(&before.title) && !is_work_in_progress(&saved.title) {
        merge_requests::enqueue_if_waiting(&mut transaction, &saved).await?;
    }
    let titles = |labels: &[&TitledLabel]| labels.iter().map(|label| label.title.clone()).collect::<Vec<_>>();
    let notes = system_note::for_update(&before, &saved, &titles(&added), &titles(&removed));
    let current_user = actor.current_user()?;
    let target = NoteTarget::MergeRequest(before.id);
    let author = current_user.account.id();
    note::insert_system(&mut transaction, target, author, &notes, now).await?;
    let (old, new) = (common_attributes(&before), common_attributes(&saved));
    todo::update(app, &mut transaction, author, project.id, target, Some(old), new).await?;
    let is_edited =
        has_label_changes || Attributes { state: old_attributes.state, ..after.attributes } != old_attributes;
    if is_edited {
        publish(app, &mut transaction, current_user, project, &saved, MergeRequestEventKind::Edited).await?;
    }
    if old_attributes.state != saved.state {
        let is_open = saved.state.is_open();
        let kind = if is_open { MergeRequestEventKind::Reopened } else { MergeRequestEventKind::Closed };
        publish(app, &mut transaction, current_user, project, &saved, kind).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(saved)
}

/// Adds a version if the source branch was updated while the request was closed, or if the target is another branch. The
/// commits of a fork are copied by a job. The caller holds the lock of the request.
async fn add_version(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    request: &MergeRequest,
    target_branch: &str,
    is_retargeted: bool,
) -> Result<()> {
    let source = request.source_project();
    if source == Some(project.id) && request.source_branch == target_branch {
        return Err(Error::Unprocessable(SAME_BRANCH));
    }
    let within = SourceBranch::within(&request.source_branch);
    let tips = within.lock_tips(app, connection, project, target_branch).await?;
    let Some(tips) = tips else { return Ok(()) };
    if is_retargeted && tips.target.is_none() {
        return Err(Error::Unprocessable(NO_TARGET_BRANCH));
    }
    let newest = version::find_newest(connection, request.id).await?;
    let head = tips.source.filter(|_| source == Some(project.id)).unwrap_or(newest.head);
    if is_retargeted || head != newest.head {
        version::insert(connection, request.id, head, tips.target, true, app.clock.now()).await?;
    }
    if let Some(fork) = source.filter(|source| *source != project.id) {
        let update = BranchUpdate { branch: request.source_branch.clone(), old: None, new: None, is_refresh: true };
        merge_requests::enqueue(connection, fork, actor.current_user()?.account.id(), &[update]).await?;
    }
    Ok(())
}

/// Deletes a merge request with its notes and versions, and returns it as it was before.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, id: MergeRequestId) -> Result<MergeRequest> {
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::DeleteMergeRequest;
    let project = access::lock_project(app, &mut transaction, actor, project, action).await?;
    let request = lock(&mut transaction, actor, &project, id).await?;
    merge_request::adjust_counters(&mut transaction, id, CounterDelta::Decrement).await?;
    // The request is deleted first: once its row is locked, the events of concurrently added notes are committed and can
    // be deleted.
    merge_request::delete(&mut transaction, id).await?;
    event::delete_for_target(&mut transaction, NoteTarget::MergeRequest(id)).await?;
    holdfast_store::commit(transaction).await?;
    Ok(request)
}

/// Subscribes the current user to a merge request or unsubscribes them. Returns None if nothing changed.
#[crate::boxed]
pub async fn set_subscribed(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
    is_subscribed: bool,
) -> Result<Option<MergeRequest>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::CommentOnMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let mut request = find(&mut connection, actor, &project, id).await?;
    if request.subscribed == is_subscribed {
        return Ok(None);
    }
    let user = actor.current_user()?.account.id();
    subscription::set_subscribed(&mut connection, request.id, user, is_subscribed).await?;
    request.subscribed = is_subscribed;
    Ok(Some(request))
}
