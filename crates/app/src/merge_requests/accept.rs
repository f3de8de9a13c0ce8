//! Accepts merge requests.
//!
//! The merge commit is made before the transaction, in a quarantine. One transaction then updates the target branch,
//! deletes the source branch if that was asked for and it is in the same project, marks the merge request as merged, and
//! writes the events. Under the lock of the repository it compares the target branch and the head with those that were
//! merged. A branch of a fork is deleted afterwards, and so is that of a head which a push has brought into the target.

use std::time::Duration;

use holdfast_domain::ci::Status;
use holdfast_domain::ids::MergeRequestId;
use holdfast_domain::merge_requests::MergeStatus;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_store::ci::pipeline;
use holdfast_store::merge_requests::version::{self, Version};
use holdfast_store::merge_requests::waiting::{self, WaitingMerge};
use holdfast_store::merge_requests::{discussion, merge_request};
use holdfast_store::planning::issue::CounterDelta;
use holdfast_store::planning::note::{self, NoteTarget};
use holdfast_store::planning::todo;
use holdfast_store::worker::close_issues::{self, IssueClosure};
use holdfast_store::worker::merge_requests;
use holdfast_store::{Connection, Transaction};

use super::blocker::{Blocker, HeadPipeline, find_by_rules, find_in_content, find_source_tip};
use super::closing;
use super::events::{MergeRequestEventKind, publish};
use super::merge_request::{MergeRequest, find, lock};
use super::source::{SourceBranch, refresh};
use super::system_note;
use super::version::load_newest;
use crate::accounts::user::actor_for_user;
use crate::actor::CurrentUser;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::check_message_size;
use crate::repository::edit::merge::{self, MAX_ATTEMPTS, MergeTarget, RemovableBranch, too_many_updates};
use crate::{Actor, App, Error, Result, access};

/// How a client wants to merge.
#[derive(Clone, Debug, Default)]
pub struct AcceptMergeRequest {
    /// The head that the client has seen. If the head is another one, nothing is merged.
    pub sha: Option<String>,
    /// The target branch that the client has seen. If the merge request has another one, nothing is merged.
    pub target_branch: Option<String>,
    /// The message of the merge commit instead of the default one.
    pub message: Option<String>,
    /// Whether the source branch is deleted.
    pub removes_source_branch: Option<bool>,
    /// Whether a merge waits for the pipeline of the head, if that is not finished.
    pub waits_for_build: bool,
}

/// Merges the source branch of a merge request into its target branch.
#[crate::boxed]
pub async fn accept(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
    input: AcceptMergeRequest,
) -> Result<MergeRequest> {
    let mut attempted_head = None;
    for _ in 0..MAX_ATTEMPTS {
        let (repository, request, newest) = load_newest(app, actor, project, id).await?;
        if input.target_branch.as_ref().is_some_and(|seen| *seen != request.target_branch) {
            return Err(Error::Conflict(format!("The target branch is now {}", request.target_branch)));
        }
        check_message_size("merge_commit_message", input.message.as_deref().unwrap_or_default())?;
        if input.waits_for_build && !merge::is_allowed(app, actor, &repository, &request.target_branch).await? {
            return Err(Blocker::NotAllowed.into_error());
        }
        let pipeline = match input.waits_for_build {
            true => wait_for_pipeline(app, &repository.project, &request, &newest).await?,
            false => HeadPipeline::load(app, &repository.project, &request, &newest).await?,
        };
        let waits = input.waits_for_build && pipeline.status.is_some_and(Status::is_active);
        let blockers = find_by_rules(app, actor, &repository, &request, pipeline).await?;
        let is_in_the_way = |blocker: &Blocker| !(waits && matches!(blocker, Blocker::Pipeline(_)));
        if let Some(blocker) = blockers.into_iter().find(is_in_the_way) {
            return Err(blocker.into_error());
        }
        let tip = find_source_tip(app, &repository, &request).await?.ok_or(Error::NotMergeable)?;
        if tip != newest.head {
            refresh(app, actor, &repository.project, &request).await?;
            continue;
        }
        // What a push adds after the first attempt was not seen by the client.
        if *attempted_head.get_or_insert(newest.head) != newest.head {
            return Err(head_mismatch(newest.head));
        }
        let closed_issues = closing::find_closed_issue_iids(app, &repository, &request, &newest).await?;
        let permit = merge::acquire_permit(app, actor, &repository.project).await?;
        let target = MergeTarget::open(app, repository, &request.target_branch, &permit).await?;
        let target = target.ok_or(Error::NotMergeable)?;
        let attempt = Attempt { app, actor, request: &request, version: newest, target, closed_issues, waits };
        if let Some(merged) = attempt.run(&input).await? {
            return Ok(merged);
        }
    }
    Err(too_many_updates())
}

/// How long a merge that is to wait for a pipeline waits for the job that may create it. The job usually takes less than a
/// second.
const MAX_CREATION_WAIT: Duration = Duration::from_secs(10);
const CREATION_POLL_INTERVAL: Duration = Duration::from_millis(100);
const PIPELINE_IS_MISSING: &str = "The pipeline of the last commit is being created. Try again in a moment";

/// Finds the pipeline of the head, and waits if a job may still create it.
async fn wait_for_pipeline(
    app: &App,
    project: &Project,
    request: &MergeRequest,
    newest: &Version,
) -> Result<HeadPipeline> {
    let find = async {
        let mut interval = tokio::time::interval(CREATION_POLL_INTERVAL);
        loop {
            interval.tick().await;
            let pipeline = HeadPipeline::load(app, project, request, newest).await?;
            if !pipeline.may_be_created {
                return Ok(pipeline);
            }
        }
    };
    let unavailable = Err(Error::TemporarilyUnavailable(PIPELINE_IS_MISSING));
    tokio::time::timeout(MAX_CREATION_WAIT, find).await.unwrap_or(unavailable)
}

/// One attempt to merge a version into the target branch as it is now.
struct Attempt<'a> {
    app: &'a App,
    actor: &'a Actor,
    request: &'a MergeRequest,
    version: Version,
    target: MergeTarget,
    closed_issues: Vec<i64>,
    /// Whether the merge waits for the pipeline of the head.
    waits: bool,
}

impl Attempt<'_> {
    /// Returns the merged request, or None if the target branch or the merge request was updated meanwhile. A new head is a
    /// conflict.
    async fn run(&self, input: &AcceptMergeRequest) -> Result<Option<MergeRequest>> {
        let (app, head) = (self.app, self.version.head);
        let tree = match find_in_content(app, &self.target, &self.version).await? {
            Ok(tree) => tree,
            Err(blocker) => {
                if matches!(blocker, Blocker::Conflicts(_)) {
                    let mut connection = app.database.connection().await?;
                    let (id, tip, status) = (self.request.id, self.target.tip(), MergeStatus::CannotBeMerged);
                    merge_request::set_merge_status(&mut connection, id, status, head, tip).await?;
                }
                return Err(blocker.into_error());
            }
        };
        let expected = head.to_string();
        if input.sha.as_ref().is_some_and(|sha| *sha != expected) {
            return Err(head_mismatch(head));
        }
        if self.waits {
            return self.wait(input).await;
        }
        let removed_branch = self.find_removed_branch(input.removes_source_branch).await?;
        if self.target.is_ancestor(head, self.target.tip()).await? {
            return self.finish_without_commit(removed_branch).await;
        }
        let (removed_here, removed_fork_branch) = match self.request.source_project() {
            Some(source) if source != self.request.project_id => (None, removed_branch.map(|it| (source, it))),
            _ => (removed_branch.map(|it| it.name), None),
        };
        let message = input.message.clone().filter(|message| !message.trim().is_empty());
        let message = message.unwrap_or_else(|| default_message(self.request));
        let current_user = self.actor.current_user()?;
        let mut prepared = self.target.prepare(app, current_user, head, tree, message, removed_here).await?;
        let merge_commit = prepared.commit.id;
        let stored = self.target.store(app, current_user, &mut prepared).await?;
        let Some((mut transaction, project)) = self.begin().await? else { return Ok(None) };
        let merge = FinishedMerge {
            request: self.request.id,
            head,
            merge_commit: Some(merge_commit),
            closed_issues: &self.closed_issues,
        };
        merge.write(app, &mut transaction, &project, current_user).await?;
        let applied = match stored.apply_in(app, &mut transaction).await {
            Err(Error::PrunedConcurrently) => return Ok(None),
            applied => applied?,
        };
        // The state and both branches are checked again.
        if applied.rejection().is_some() {
            return Ok(None);
        }
        // The repository is locked now.
        let newest = version::find_newest(&mut transaction, self.request.id).await?;
        if newest.head != head {
            return Err(head_mismatch(newest.head));
        }
        let merged = merge.publish(app, &mut transaction, self.actor, &project, current_user).await?;
        holdfast_store::commit(transaction).await?;
        applied.update_cache(app).await;
        if let Some((source, branch)) = removed_fork_branch {
            merge::remove(app, &ProjectRef::Id(source), branch, head).await;
        }
        Ok(Some(merged))
    }

    /// Begins the transaction and locks the project and the request. Returns None if its state, title or target
    /// branch was changed since it was read, if the project was archived, or if a required discussion was started or a
    /// required pipeline no longer succeeds, so that all is checked again.
    async fn begin(&self) -> Result<Option<(Transaction, Project)>> {
        let mut transaction = self.app.database.begin().await?;
        let (project, action) = (ProjectRef::Id(self.request.project_id), ProjectAction::ReadMergeRequests);
        let project = access::lock_project(self.app, &mut transaction, self.actor, &project, action).await?;
        let current = lock(&mut transaction, self.actor, &project, self.request.id).await?;
        let has_pipeline_blocker = project.features.only_allow_merge_if_build_succeeds
            && !self.waits
            && HeadPipeline::find(&mut transaction, &project, self.request, &self.version).await?.is_blocking();
        let is_unchanged = current.state == self.request.state
            && !project.archived
            && !has_pipeline_blocker
            && current.title == self.request.title
            && current.target_branch == self.request.target_branch
            && !(project.features.only_allow_merge_if_all_discussions_are_resolved
                && discussion::has_unresolved(&mut transaction, self.request.id).await?);
        Ok(is_unchanged.then_some((transaction, project)))
    }

    /// Marks the request as merged if a push has brought its head into the target branch already, and deletes the source
    /// branch afterwards if that was asked for.
    async fn finish_without_commit(&self, removed_branch: Option<RemovableBranch>) -> Result<Option<MergeRequest>> {
        let Some((mut transaction, project)) = self.begin().await? else { return Ok(None) };
        let branches = SourceBranch::within(&self.request.source_branch);
        let tips = branches.lock_tips(self.app, &mut transaction, &project, &self.request.target_branch).await?;
        let newest = version::find_newest(&mut transaction, self.request.id).await?;
        let is_same_target = tips.is_some_and(|tips| tips.target == Some(self.target.tip()));
        if newest.head != self.version.head {
            return Err(head_mismatch(newest.head));
        }
        if !is_same_target {
            return Ok(None);
        }
        let current_user = self.actor.current_user()?;
        let merge = FinishedMerge {
            request: self.request.id,
            head: self.version.head,
            merge_commit: None,
            closed_issues: &self.closed_issues,
        };
        merge.write(self.app, &mut transaction, &project, current_user).await?;
        let merged = merge.publish(self.app, &mut transaction, self.actor, &project, current_user).await?;
        holdfast_store::commit(transaction).await?;
        if let (Some(source), Some(branch)) = (self.request.source_project(), removed_branch) {
            merge::remove(self.app, &ProjectRef::Id(source), branch, self.version.head).await;
        }
        Ok(Some(merged))
    }

    /// Stores that the request is to be merged when the pipeline of its head succeeds.
    async fn wait(&self, input: &AcceptMergeRequest) -> Result<Option<MergeRequest>> {
        let Some((mut transaction, project)) = self.begin().await? else { return Ok(None) };
        let newest = version::find_newest(&mut transaction, self.request.id).await?;
        if newest.head != self.version.head {
            return Err(head_mismatch(newest.head));
        }
        let waiting_merge = WaitingMerge {
            head: self.version.head,
            user: self.actor.current_user()?.account.id(),
            message: input.message.clone(),
            removes_source_branch: input.removes_source_branch,
        };
        let (id, now) = (self.request.id, self.app.clock.now());
        waiting::set(&mut transaction, id, Some(&waiting_merge), now).await?;
        self.enqueue_if_built(&mut transaction).await?;
        let (head, tip) = (self.version.head, self.target.tip());
        merge_request::set_merge_status(&mut transaction, id, MergeStatus::CanBeMerged, head, tip).await?;
        let request = find(&mut transaction, self.actor, &project, id).await?;
        holdfast_store::commit(transaction).await?;
        Ok(Some(request))
    }

    /// Enqueues the waiting merge if the pipeline of the head has succeeded or was skipped since it was read. The lock of the pipeline
    /// orders this after a change of its status, or before it, and then that change finds the waiting merge.
    async fn enqueue_if_built(&self, connection: &mut Connection) -> Result<()> {
        let source = self.request.source_project().unwrap_or(self.request.project_id);
        let head = [self.version.head.to_string()];
        for pipeline in pipeline::list_newest_for_commits(connection, source, &head).await? {
            pipeline::lock_row(connection, pipeline.id).await?;
        }
        let newest = pipeline::list_newest_for_commits(connection, source, &head).await?;
        if newest.first().is_some_and(|pipeline| pipeline.status.allows_merge()) {
            merge_requests::enqueue_waiting_merges(connection, source, &head[0]).await?;
        }
        Ok(())
    }

    /// Returns the source branch if it is to be deleted and may be: by the author if the request says so, otherwise by the
    /// current user if the client says so.
    async fn find_removed_branch(&self, should_remove: Option<bool>) -> Result<Option<RemovableBranch>> {
        let Some(source) = self.request.source_project() else { return Ok(None) };
        let deleter = match (self.request.removes_source_branch, should_remove) {
            (Some(true), _) => actor_for_user(self.app, self.request.author.id).await?,
            (_, Some(true)) => Some(Actor::User(Box::new(self.actor.current_user()?.clone()))),
            _ => None,
        };
        let Some(deleter) = deleter else { return Ok(None) };
        let (branch, head) = (&self.request.source_branch, self.version.head);
        merge::find_removable(self.app, deleter, &ProjectRef::Id(source), branch, head).await
    }
}

/// A merge request whose head is in its target branch, or will be in the same transaction.
pub(super) struct FinishedMerge<'a> {
    pub request: MergeRequestId,
    pub head: ObjectId,
    /// None if a push has brought the head into the target branch.
    pub merge_commit: Option<ObjectId>,
    /// The numbers of the issues that the merge closes.
    pub closed_issues: &'a [i64],
}

impl FinishedMerge<'_> {
    /// Marks an open merge request as merged and adds the system note. The caller holds the locks of the project and the
    /// merge request.
    pub async fn write(
        &self,
        app: &App,
        connection: &mut Connection,
        project: &Project,
        current_user: &CurrentUser,
    ) -> Result<()> {
        let (id, user, now) = (self.request, current_user.account.id(), app.clock.now());
        merge_request::adjust_counters(connection, id, CounterDelta::Decrement).await?;
        if !merge_request::set_merged(connection, project.id, id, self.merge_commit, now).await? {
            return Err(Error::NotMergeable);
        }
        let target = NoteTarget::MergeRequest(id);
        note::insert_system(connection, target, user, &[system_note::MERGED.into()], now).await?;
        todo::complete(connection, user, target).await?;
        Ok(())
    }

    /// Publishes the event of the merge, enqueues the closing of issues, and returns the merge request. The caller also holds
    /// the lock of the repository, which every user of the queue takes first.
    pub async fn publish(
        &self,
        app: &App,
        connection: &mut Connection,
        actor: &Actor,
        project: &Project,
        current_user: &CurrentUser,
    ) -> Result<MergeRequest> {
        if !self.closed_issues.is_empty() {
            let commit = self.merge_commit.unwrap_or(self.head).to_string();
            let closure = IssueClosure { commit, iids: self.closed_issues.to_vec() };
            close_issues::enqueue(connection, project.id, current_user.account.id(), &[closure]).await?;
        }
        let merged = find(connection, actor, project, self.request).await?;
        publish(app, connection, current_user, project, &merged, MergeRequestEventKind::Merged).await?;
        Ok(merged)
    }
}

fn head_mismatch(head: ObjectId) -> Error {
    Error::Conflict(format!("SHA does not match HEAD of source branch: {head}"))
}

fn default_message(request: &MergeRequest) -> String {
    let mut message =
        format!("Merge branch '{}' into '{}'\n\n{}", request.source_branch, request.target_branch, request.title);
    if let Some(description) = request.description.as_deref().filter(|text| !text.trim().is_empty()) {
        message += &format!("\n\n{description}");
    }
    message + &format!("\n\nSee merge request !{}", request.iid)
}
