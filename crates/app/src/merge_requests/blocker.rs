//! Why a merge request cannot be merged.

use holdfast_domain::ci::Status;
use holdfast_domain::ids::MergeRequestId;
use holdfast_domain::merge_requests::is_work_in_progress;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_store::Connection;
use holdfast_store::ci::pipeline;
use holdfast_store::merge_requests::discussion;
use holdfast_store::merge_requests::version::Version;
use holdfast_store::worker::pipelines;

use super::merge_request::MergeRequest;
use super::version::load_newest;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::edit::merge::{self, Merge, MergeTarget};
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::transfer::missing_objects::find_tip;
use crate::{Actor, App, Error, Result, access};

/// A reason why a merge request cannot be merged now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// The current user may not merge into the target branch.
    NotAllowed,
    Archived,
    /// It is closed or merged.
    NotOpen,
    WorkInProgress,
    /// The project requires that all discussions are resolved.
    UnresolvedDiscussions,
    /// The project requires a successful pipeline. None if it may still be created.
    Pipeline(Option<Status>),
    NoSourceBranch,
    NoTargetBranch,
    /// The source branch has no commits that the target branch did not have when the merge request was updated.
    NoCommits,
    /// These paths conflict. There is none if the branches have no common history, or if git fails to merge them.
    Conflicts(Vec<String>),
}

impl Blocker {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotAllowed => "not_allowed",
            Self::Archived => "archived",
            Self::NotOpen => "not_open",
            Self::WorkInProgress => "work_in_progress",
            Self::UnresolvedDiscussions => "unresolved_discussions",
            Self::Pipeline(_) => "pipeline",
            Self::NoSourceBranch => "no_source_branch",
            Self::NoTargetBranch => "no_target_branch",
            Self::NoCommits => "no_commits",
            Self::Conflicts(_) => "conflicts",
        }
    }

    /// Returns the reason and what can be done about it.
    pub fn message(&self) -> String {
        let text = match self {
            Self::NotAllowed => "You may not merge into the target branch. Ask a master of the project",
            Self::Archived => "The project is archived. Unarchive it to merge",
            Self::NotOpen => "The merge request is closed or merged. A closed one can be reopened",
            Self::WorkInProgress => "The title says that it is a work in progress. Remove Draft or WIP from the title",
            Self::UnresolvedDiscussions => "Discussions are not resolved. Resolve all of them",
            Self::Pipeline(None) => "The pipeline of the last commit is being created. Wait for it",
            Self::Pipeline(Some(status)) if !status.is_complete() => {
                "The pipeline of the last commit is not finished. Wait for it, or merge when it succeeds"
            }
            Self::Pipeline(Some(_)) => {
                "The pipeline of the last commit was not successful. Retry it, or push a new commit"
            }
            Self::NoSourceBranch => {
                "The source branch or its project does not exist any more. Restore the branch, or fetch the head of the \
                 merge request and open another one"
            }
            Self::NoTargetBranch => "The target branch does not exist any more. Choose another one",
            Self::NoCommits => "The source branch has no commits that the target branch does not have. Push some",
            Self::Conflicts(paths) if paths.is_empty() => {
                "The branches have no common history, or git cannot combine their renames. Rebase the source branch onto \
                 the target branch"
            }
            Self::Conflicts(_) => {
                "Both branches changed these files in ways that git cannot combine. Merge the target branch into the \
                 source branch and resolve the conflicts"
            }
        };
        text.into()
    }

    /// Returns the error of an attempt to merge.
    pub(super) fn into_error(self) -> Error {
        match self {
            // 401 instead of 403, as existing clients expect.
            Self::NotAllowed => Error::Unauthenticated,
            Self::Conflicts(_) => Error::MergeConflict,
            _ => Error::NotMergeable,
        }
    }
}

/// Lists all reasons why the current user cannot merge a merge request now. It can be merged if there is none.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, id: MergeRequestId) -> Result<Vec<Blocker>> {
    let (repository, request, newest) = load_newest(app, actor, project, id).await?;
    let mut blockers = find_without_test(app, actor, &repository, &request, &newest).await?;
    if !request.state.is_open() {
        return Ok(blockers);
    }
    let permit = merge::acquire_test_permit(app, actor).await;
    if let Some(target) = MergeTarget::open(app, repository, &request.target_branch, &permit).await? {
        blockers.extend(find_in_content(app, &target, &newest).await?.err());
    }
    Ok(blockers)
}

/// Finds the reasons that are known without a test merge. The status of a pipeline is one only if the actor may read
/// it.
pub(super) async fn find_without_test(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    request: &MergeRequest,
    newest: &Version,
) -> Result<Vec<Blocker>> {
    let pipeline = HeadPipeline::load(app, &repository.project, request, newest).await?;
    let mut blockers = find_by_rules(app, actor, repository, request, pipeline).await?;
    if !can_read_builds(app, actor, &repository.project, request).await? {
        blockers.retain(|blocker| !matches!(blocker, Blocker::Pipeline(_)));
    }
    let has_target = find_tip(repository, &request.target_branch).is_some();
    blockers.extend((!has_target).then_some(Blocker::NoTargetBranch));
    if request.state.is_open() && find_source_tip(app, repository, request).await?.is_none() {
        blockers.push(Blocker::NoSourceBranch);
    }
    Ok(blockers)
}

/// Returns whether the actor may read the pipelines of the source project. `project` is the target project, which the actor
/// has been authorized to read.
pub(super) async fn can_read_builds(
    app: &App,
    actor: &Actor,
    project: &Project,
    request: &MergeRequest,
) -> Result<bool> {
    let source = request.source_project().unwrap_or(project.id);
    if source == project.id {
        return Ok(access::is_authorized(actor, project, ProjectAction::ReadBuilds));
    }
    match access::read_project(app, actor, &ProjectRef::Id(source), ProjectAction::ReadBuilds).await {
        Ok(_) => Ok(true),
        Err(Error::NotFound(_) | Error::Forbidden(_) | Error::Unauthenticated) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Finds the reasons that do not depend on the content of branches, in the order in which an attempt to merge reports them.
pub(super) async fn find_by_rules(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    request: &MergeRequest,
    pipeline: HeadPipeline,
) -> Result<Vec<Blocker>> {
    let project = &repository.project;
    let mut blockers = Vec::new();
    let mut add = |is_blocked: bool, blocker: Blocker| blockers.extend(is_blocked.then_some(blocker));
    add(!merge::is_allowed(app, actor, repository, &request.target_branch).await?, Blocker::NotAllowed);
    add(project.archived, Blocker::Archived);
    add(!request.state.is_open(), Blocker::NotOpen);
    add(is_work_in_progress(&request.title), Blocker::WorkInProgress);
    let mut connection = app.database.connection().await?;
    if project.features.only_allow_merge_if_all_discussions_are_resolved {
        add(discussion::has_unresolved(&mut connection, request.id).await?, Blocker::UnresolvedDiscussions);
    }
    drop(connection);
    let is_required = project.features.only_allow_merge_if_build_succeeds;
    add(is_required && pipeline.is_blocking(), Blocker::Pipeline(pipeline.status));
    Ok(blockers)
}

/// What is known of the pipeline of the head of a merge request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeadPipeline {
    /// The status of the newest pipeline.
    pub status: Option<Status>,
    /// Whether there is none, and a job may still create it.
    pub may_be_created: bool,
}

impl HeadPipeline {
    /// Like [`Self::find`], with a connection of its own.
    pub async fn load(app: &App, project: &Project, request: &MergeRequest, version: &Version) -> Result<Self> {
        Self::find(&mut *app.database.connection().await?, project, request, version).await
    }

    /// Finds the newest pipeline of the head of a version.
    pub async fn find(
        connection: &mut Connection,
        project: &Project,
        request: &MergeRequest,
        version: &Version,
    ) -> Result<Self> {
        let source = request.source_project().unwrap_or(project.id);
        // In this order: a job that ends between both reads has created the pipeline before.
        let head = [version.head.to_string()];
        let is_pending = pipelines::has_pending(connection, source, &head[0]).await?;
        let found = pipeline::list_newest_for_commits(connection, source, &head).await?;
        let status = found.first().map(|pipeline| pipeline.status);
        Ok(Self { status, may_be_created: status.is_none() && is_pending })
    }

    /// Returns whether a project that requires a successful pipeline does not allow to merge. A head without a pipeline is
    /// allowed.
    pub fn is_blocking(self) -> bool {
        match self.status {
            Some(status) => !status.allows_merge(),
            None => self.may_be_created,
        }
    }
}

/// Returns the tip of the source branch, or None if there is no such branch any more.
pub(super) async fn find_source_tip(
    app: &App,
    repository: &OpenRepository,
    request: &MergeRequest,
) -> Result<Option<ObjectId>> {
    let Some(source) = request.source_project() else { return Ok(None) };
    if source == repository.project.id {
        return Ok(find_tip(repository, &request.source_branch));
    }
    let fork = open_repository(app, &Actor::Operator, &ProjectRef::Id(source), ProjectAction::ReadCode).await;
    match fork {
        Err(Error::NotFound(_)) => Ok(None),
        fork => Ok(find_tip(&fork?, &request.source_branch)),
    }
}

/// Merges a version into the target branch, without storing anything. Returns the tree, or the reason why there is none.
pub(super) async fn find_in_content(
    app: &App,
    target: &MergeTarget,
    version: &Version,
) -> Result<std::result::Result<ObjectId, Blocker>> {
    if let Some(start) = version.start
        && target.is_ancestor(version.head, start).await?
    {
        return Ok(Err(Blocker::NoCommits));
    }
    match target.merge(app, version.head).await? {
        Merge::Tree(tree) => Ok(Ok(tree)),
        Merge::Conflicts(paths) => {
            let paths = paths.iter().map(|path| String::from_utf8_lossy(path).into_owned());
            Ok(Err(Blocker::Conflicts(paths.collect())))
        }
    }
}
