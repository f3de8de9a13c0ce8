//! The versions of a merge request, with their commits and changes.

use holdfast_domain::ids::{MergeRequestId, MergeRequestVersionId};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::range_diff::CommitRange;
use holdfast_store::merge_requests::version;

pub use holdfast_store::merge_requests::version::{Version, VersionComparison};

use super::merge_request::{self, MergeRequest};
use crate::projects::project::ProjectRef;
use crate::repository::browse::commit::Commit;
use crate::repository::browse::compare::{self, ComparisonParts};
use crate::repository::browse::range_diff::{self, RangePairs};
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of commits of a version that are listed. Arbitrary.
const MAX_COMMITS: usize = 1_000;

/// A version with its merge base and the number of changed files.
#[derive(Clone, Copy, Debug)]
pub struct ComparedVersion {
    pub version: Version,
    /// None if git takes too long to compute it, or if a list has many versions that were not read yet.
    pub comparison: Option<VersionComparison>,
}

/// Maximum number of versions that are compared for one list. The next list continues. Arbitrary.
const MAX_COMPARED: usize = 20;

/// Opens the repository after versions were read, so that it has their commits.
pub(super) async fn open(app: &App, actor: &Actor, project: &ProjectRef) -> Result<OpenRepository> {
    open_repository(app, actor, project, ProjectAction::ReadMergeRequests).await
}

/// Returns the merge request and its newest version, and the repository with the commits of that version.
pub(super) async fn load_newest(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
) -> Result<(OpenRepository, MergeRequest, Version)> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let authorized = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let request = merge_request::find(&mut connection, actor, &authorized, id).await?;
    let newest = version::find_newest(&mut connection, id).await?;
    drop(connection);
    Ok((open(app, actor, project).await?, request, newest))
}

/// Finds the merge base of a version and the number of changed files. They are stored when they are computed for the first
/// time.
pub(super) async fn compare_version(
    app: &App,
    repository: &OpenRepository,
    version: Version,
) -> Result<ComparedVersion> {
    if version.comparison.is_some() {
        return Ok(ComparedVersion { version, comparison: version.comparison });
    }
    let (base, files) = match compare::count_changed_files(app, repository, version.start, version.head).await {
        Err(Error::TemporarilyUnavailable(_)) => return Ok(ComparedVersion { version, comparison: None }),
        counted => counted?,
    };
    let comparison = VersionComparison { base, files: i32::try_from(files).unwrap_or(i32::MAX) };
    version::set_comparison(&mut *app.database.connection().await?, version.id, comparison).await?;
    Ok(ComparedVersion { version, comparison: Some(comparison) })
}

/// Returns the merge base of a version. None if its head and the target branch have no common history.
pub(super) async fn find_base(app: &App, repository: &OpenRepository, version: &Version) -> Result<Option<ObjectId>> {
    match version.comparison {
        Some(comparison) => Ok(comparison.base),
        None => compare::find_merge_base(app, repository, version.start, version.head).await,
    }
}

/// Returns the changes of a version since its merge base.
async fn changes_of(app: &App, repository: &OpenRepository, version: &Version) -> Result<ComparisonParts> {
    let base = find_base(app, repository, version).await?;
    compare::show_changes(app, repository, base, version.head).await
}

/// Lists the versions of a merge request, newest first.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
) -> Result<Vec<ComparedVersion>> {
    merge_request::show(app, actor, project, request).await?;
    let versions = version::list(&mut *app.database.connection().await?, request).await?;
    compare_all(app, &open(app, actor, project).await?, &versions).await
}

/// Compares the versions of a list, as many as it may take time for.
pub(super) async fn compare_all(
    app: &App,
    repository: &OpenRepository,
    versions: &[Version],
) -> Result<Vec<ComparedVersion>> {
    let mut compared = Vec::with_capacity(versions.len());
    let mut uncompared = 0;
    for version in versions {
        uncompared += usize::from(version.comparison.is_none());
        compared.push(match uncompared <= MAX_COMPARED {
            true => compare_version(app, repository, *version).await?,
            false => ComparedVersion { version: *version, comparison: version.comparison },
        });
    }
    Ok(compared)
}

/// A version with its commits, newest first, and its changes.
pub struct VersionDetails {
    /// The path of the target project, with its namespace.
    pub project_path: String,
    pub version: ComparedVersion,
    pub commits: Vec<Commit>,
    pub changes: ComparisonParts,
}

#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    id: MergeRequestVersionId,
) -> Result<VersionDetails> {
    let project_path = merge_request::show(app, actor, project, request).await?.project_path;
    let found = version::find(&mut *app.database.connection().await?, request, id).await?;
    let version = found.ok_or(Error::NotFound(Resource::Record))?;
    let repository = open(app, actor, project).await?;
    let version = compare_version(app, &repository, version).await?;
    let commits = list_commits(app, &repository, &version.version).await?;
    let changes = changes_of(app, &repository, &version.version).await?;
    Ok(VersionDetails { project_path, version, commits, changes })
}

/// Two versions with the pairs of their commits.
pub struct VersionRangeDiff {
    pub old: Version,
    pub new: Version,
    pub pairs: RangePairs,
}

/// Pairs the commits of two versions of a merge request: those of the one with the similar ones of the other.
#[crate::boxed]
pub async fn range_diff(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    old: MergeRequestVersionId,
    new: MergeRequestVersionId,
) -> Result<VersionRangeDiff> {
    merge_request::show(app, actor, project, request).await?;
    let mut connection = app.database.connection().await?;
    let old = version::find(&mut connection, request, old).await?.ok_or(Error::NotFound(Resource::Record))?;
    let new = version::find(&mut connection, request, new).await?.ok_or(Error::NotFound(Resource::Record))?;
    drop(connection);
    let pairs = pair_commits(app, &open(app, actor, project).await?, &old, &new).await?;
    Ok(VersionRangeDiff { old, new, pairs })
}

/// Pairs the commits of two versions of the same merge request.
pub(super) async fn pair_commits(
    app: &App,
    repository: &OpenRepository,
    old: &Version,
    new: &Version,
) -> Result<RangePairs> {
    let range = |version: &Version| Some(CommitRange { base: version.start?, tip: version.head });
    let (Some(old), Some(new)) = (range(old), range(new)) else {
        return Err(Error::Rejected("A version without a target branch cannot be compared".into()));
    };
    range_diff::pair_commits(app, repository, old, new).await
}

/// Lists the commits of a version, newest first.
pub(super) async fn list_commits(app: &App, repository: &OpenRepository, version: &Version) -> Result<Vec<Commit>> {
    compare::list_commits(app, repository, version.start, version.head, MAX_COMMITS).await
}

/// Returns a merge request with the commits of its newest version, newest first.
#[crate::boxed]
pub async fn show_commits(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
) -> Result<(MergeRequest, Vec<Commit>)> {
    let (repository, request, newest) = load_newest(app, actor, project, id).await?;
    let commits = list_commits(app, &repository, &newest).await?;
    Ok((request, commits))
}

/// Returns a merge request with the changes of its newest version.
#[crate::boxed]
pub async fn show_changes(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
) -> Result<(MergeRequest, ComparisonParts)> {
    let (repository, request, newest) = load_newest(app, actor, project, id).await?;
    let changes = changes_of(app, &repository, &newest).await?;
    Ok((request, changes))
}
