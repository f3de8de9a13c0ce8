//! A merge request with what a client needs to decide whether it can be merged.

use holdfast_domain::ids::MergeRequestId;
use holdfast_domain::merge_requests::MergeStatus;

use super::blocker::{self, Blocker};
use super::merge_request::MergeRequest;
use super::pipeline::{self, RequestPipeline};
use super::version::{ComparedVersion, Version, compare_version, load_newest};
use crate::projects::project::ProjectRef;
use crate::repository::edit::merge::{self, MergeTarget};
use crate::repository::open_repository::OpenRepository;
use crate::{Actor, App, Error, Result};

/// A merge request with its newest version, and what keeps it from being merged.
#[derive(Debug)]
pub struct MergeRequestDetail {
    /// Its merge status is that of a test with the present branches, unless git was too busy.
    pub request: MergeRequest,
    pub version: ComparedVersion,
    /// The newest pipeline of the head, if the actor may read it.
    pub pipeline: Option<RequestPipeline>,
    /// The reasons why the current user cannot merge it now. The paths of conflicts may be missing.
    pub blockers: Vec<Blocker>,
}

/// Returns a merge request with its newest version. If the present branches were not tested, git tests whether it can
/// merge them.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: MergeRequestId) -> Result<MergeRequestDetail> {
    load(app, actor, project, id, Err).await
}

/// Like [`show`], for a merge request that the actor has just changed. If its branches cannot be compared or merged on
/// trial, this is logged, and the detail lacks the result: an error would hide that the change was made.
#[crate::boxed]
pub async fn show_changed(app: &App, actor: &Actor, request: &MergeRequest) -> Result<MergeRequestDetail> {
    let id = request.id;
    let ignore = |error| {
        tracing::warn!(%error, merge_request = id.get(), "merge request changed, reading its branches failed");
        Ok(())
    };
    load(app, actor, &ProjectRef::Id(request.project_id), id, ignore).await
}

/// Loads a merge request. Errors of comparing its branches and of merging them on trial are given to
/// `on_comparison_error`, which returns those that are to be reported.
async fn load(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
    on_comparison_error: impl Fn(Error) -> Result<()> + Send + Sync,
) -> Result<MergeRequestDetail> {
    let (repository, request, newest) = load_newest(app, actor, project, id).await?;
    let version = match compare_version(app, &repository, newest).await {
        Ok(version) => version,
        Err(error) => {
            on_comparison_error(error)?;
            ComparedVersion { version: newest, comparison: None }
        }
    };
    let Merging { request, pipeline, blockers } =
        check_merge(app, actor, repository, request, &newest, on_comparison_error).await?;
    Ok(MergeRequestDetail { request, version, pipeline, blockers })
}

/// What is known of the merge of a merge request.
pub(super) struct Merging {
    /// Its merge status is that of a test with the present branches, unless git was too busy.
    pub request: MergeRequest,
    pub pipeline: Option<RequestPipeline>,
    pub blockers: Vec<Blocker>,
}

/// Finds what keeps a merge request from being merged. If the present branches were not tested, git tests whether it can
/// merge them. Errors of the test are given to `on_test_error`, which returns those that are to be reported.
pub(super) async fn check_merge(
    app: &App,
    actor: &Actor,
    repository: OpenRepository,
    mut request: MergeRequest,
    newest: &Version,
    on_test_error: impl Fn(Error) -> Result<()> + Send + Sync,
) -> Result<Merging> {
    let pipeline = pipeline::find_newest(app, actor, &repository.project, &request).await?;
    let mut blockers = blocker::find_without_test(app, actor, &repository, &request, newest).await?;
    match request.merge_status {
        MergeStatus::Unchecked if request.state.is_open() => {
            match test_merge(app, actor, repository, &request, newest).await {
                Ok(None) | Err(Error::TemporarilyUnavailable(_)) => {}
                Ok(Some(Ok(()))) => request.merge_status = MergeStatus::CanBeMerged,
                Ok(Some(Err(blocker))) => {
                    request.merge_status = MergeStatus::CannotBeMerged;
                    blockers.push(blocker);
                }
                Err(error) => on_test_error(error)?,
            }
        }
        MergeStatus::CannotBeMerged => blockers.push(Blocker::Conflicts(Vec::new())),
        MergeStatus::Unchecked | MergeStatus::CanBeMerged => {}
    }
    Ok(Merging { request, pipeline, blockers })
}

/// Tests whether git can merge a version into the target branch. Returns None if there is no such branch.
async fn test_merge(
    app: &App,
    actor: &Actor,
    repository: OpenRepository,
    request: &MergeRequest,
    version: &Version,
) -> Result<Option<std::result::Result<(), Blocker>>> {
    let permit = merge::acquire_test_permit(app, actor).await;
    let Some(target) = MergeTarget::open(app, repository, &request.target_branch, &permit).await? else {
        return Ok(None);
    };
    Ok(Some(blocker::find_in_content(app, &target, version).await?.map(drop)))
}
