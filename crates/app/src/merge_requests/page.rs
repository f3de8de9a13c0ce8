//! What the pages of a merge request show.

use holdfast_domain::merge_requests::MergeStatus;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::reader::Kind;
use holdfast_store::merge_requests::{discussion as discussions, draft_note, version as versions};

use super::blocker::Blocker;
use super::detail::{Merging, check_merge};
use super::discussion::{self, CurrentLine, DiscussedLine, DiscussionWithNotes};
use super::merge_request::{self, MergeRequest};
use super::pipeline::{self, RequestPipeline};
use super::review::{self, DraftNote};
use super::thread::{self, Thread};
use super::version::{self, ComparedVersion, Version, find_base, open};
use crate::planning::label::{Label, list_by_titles};
use crate::planning::mention::{self, Mentioned};
use crate::projects::project::{Project, ProjectRef};
use crate::repository::browse::changes::{self, Changes, FileSelection};
use crate::repository::browse::commit::Commit;
use crate::repository::browse::compare;
use crate::repository::browse::range_diff::RangeDiff;
use crate::repository::edit::merge;
use crate::repository::object_lookup;
use crate::repository::open_repository::OpenRepository;
use crate::repository::refs::ref_address::RefAddresses;
use crate::{Actor, App, Error, Resource, Result, access};

/// What all pages of a merge request show.
pub struct RequestPage {
    pub project: Project,
    pub request: MergeRequest,
    /// All versions, newest first. There is at least one.
    pub versions: Vec<Version>,
    pub source: SourceProject,
    pub refs: RefAddresses,
    /// The number of comments of the viewer's review that was not submitted.
    pub draft_count: i64,
}

/// The project of the source branch, as far as the viewer may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceProject {
    /// The project of the target branch.
    Same,
    /// A fork with this path, with its namespace.
    Fork(String),
    /// A fork that the viewer may not see.
    Hidden,
    Deleted,
}

impl RequestPage {
    /// Returns the newest version.
    pub fn newest(&self) -> Option<&Version> {
        self.versions.first()
    }
}

/// Loads a merge request by its number, and opens the repository with the commits of its versions.
async fn load(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<(OpenRepository, RequestPage)> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ReadMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let request = merge_request::find_by_iid(&mut connection, actor, &project, iid).await?;
    let versions = versions::list(&mut connection, request.id).await?;
    let draft_count = match review::own_review(actor, request.id) {
        Some(review) => draft_note::count(&mut connection, review).await?,
        None => 0,
    };
    drop(connection);
    let repository = open(app, actor, &ProjectRef::Id(project.id)).await?;
    let source = find_source(app, actor, &request).await?;
    // Who reads merge requests may also read the code.
    let refs = RefAddresses::new(repository.refs.clone());
    let project = repository.project.clone();
    Ok((repository, RequestPage { project, request, versions, source, refs, draft_count }))
}

async fn find_source(app: &App, actor: &Actor, request: &MergeRequest) -> Result<SourceProject> {
    let Some(source) = request.source_project() else { return Ok(SourceProject::Deleted) };
    if source == request.project_id {
        return Ok(SourceProject::Same);
    }
    match access::read_project(app, actor, &ProjectRef::Id(source), ProjectAction::ReadCode).await {
        Ok(fork) => Ok(SourceProject::Fork(fork.full_path())),
        Err(Error::NotFound(_) | Error::Forbidden(_) | Error::Unauthenticated) => Ok(SourceProject::Hidden),
        Err(error) => Err(error),
    }
}

/// The first page of a merge request: its discussions, and whether it can be merged.
pub struct Overview {
    /// The merge status of the request is that of a test with the present branches, unless git was too busy.
    pub page: RequestPage,
    pub labels: Vec<Label>,
    pub threads: Page<Thread>,
    /// What the description and the notes mention.
    pub mentioned: Mentioned,
    /// The newest pipeline of the head, if the actor may read it.
    pub pipeline: Option<RequestPipeline>,
    pub blockers: Vec<Blocker>,
    /// Whether the actor may merge, and delete the source branch with the merge.
    pub can_remove_source_branch: bool,
}

/// Returns a merge request with a page of its discussions, the oldest first.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, page: PageRequest) -> Result<Overview> {
    let (repository, mut shown) = load(app, actor, project, iid).await?;
    let newest = *shown.newest().ok_or(Error::NotFound(Resource::Record))?;
    let threads =
        thread::list_with_versions(app, actor, &shown.project, shown.request.id, &shown.versions, page).await?;
    let titles: Vec<&str> = shown.request.labels.iter().map(String::as_str).collect();
    let labels = match titles.is_empty() {
        true => Vec::new(),
        false => list_by_titles(&mut *app.database.connection().await?, actor, &shown.project, &titles).await?,
    };
    let notes = threads.items.iter().flat_map(|thread| match thread {
        Thread::Note(note) => std::slice::from_ref(&**note),
        Thread::Discussion(discussion) => discussion.notes.as_slice(),
    });
    let texts = notes.filter(|note| !note.system).map(|note| note.body.as_str());
    let texts = shown.request.description.as_deref().into_iter().chain(texts);
    let mentioned = mention::find(app, actor, &shown.project, texts).await?;
    // The discussions are also shown if git cannot test the merge.
    let id = shown.request.id.get();
    let ignore = |error| {
        tracing::warn!(%error, merge_request = id, "merge not tested for the page of a merge request");
        Ok(())
    };
    // Another test finds the files that conflict, which are not stored.
    if shown.request.state.is_open() && shown.request.merge_status == MergeStatus::CannotBeMerged {
        shown.request.merge_status = MergeStatus::Unchecked;
    }
    let Merging { request, pipeline, blockers } =
        check_merge(app, actor, repository, shown.request, &newest, ignore).await?;
    let can_remove_source_branch = !blockers.contains(&Blocker::NotAllowed)
        && request.state.is_open()
        && can_remove_source_branch(app, actor, &request, &newest).await?;
    shown.request = request;
    Ok(Overview { page: shown, labels, threads, mentioned, pipeline, blockers, can_remove_source_branch })
}

async fn can_remove_source_branch(app: &App, actor: &Actor, request: &MergeRequest, newest: &Version) -> Result<bool> {
    let Some(source) = request.source_project() else { return Ok(false) };
    let (project, branch) = (ProjectRef::Id(source), &request.source_branch);
    Ok(merge::find_removable(app, actor.clone(), &project, branch, newest.head).await?.is_some())
}

/// The commits of a merge request.
pub struct RequestCommits {
    pub page: RequestPage,
    /// The newest commits of the newest version.
    pub commits: Vec<Commit>,
    pub has_more: bool,
    /// Whether a ref reaches the commits, so that they have pages of their own.
    pub are_reachable: bool,
}

/// Maximum number of commits on a page. Arbitrary.
const MAX_COMMITS: usize = 250;

#[crate::boxed]
pub async fn show_commits(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<RequestCommits> {
    let (repository, page) = load(app, actor, project, iid).await?;
    let newest = *page.newest().ok_or(Error::NotFound(Resource::Record))?;
    let mut commits = compare::list_commits(app, &repository, newest.start, newest.head, MAX_COMMITS + 1).await?;
    let has_more = commits.len() > MAX_COMMITS;
    commits.truncate(MAX_COMMITS);
    let are_reachable = is_reachable(app, &repository, &newest).await?;
    Ok(RequestCommits { page, commits, has_more, are_reachable })
}

async fn is_reachable(app: &App, repository: &OpenRepository, version: &Version) -> Result<bool> {
    let head = version.head.to_string();
    Ok(object_lookup::find_reachable(app, repository, &head, Kind::Commit).await?.is_some())
}

/// The changes of a version of a merge request.
pub struct RequestChanges {
    pub page: RequestPage,
    /// The version whose changes are shown.
    pub version: Version,
    /// The version that it is compared with, instead of its merge base.
    pub since: Option<Version>,
    /// Whether a ref reaches the version, so that its files have pages of their own.
    pub is_reachable: bool,
    pub changes: Changes,
    /// Discussions about lines of the shown version.
    pub lines: Vec<LineDiscussion>,
    /// Whether the merge request has more discussions about lines than are examined for this page.
    pub has_more_lines: bool,
    /// The comments of the viewer's review that was not submitted.
    pub drafts: Vec<DraftNote>,
    /// What the notes and drafts mention.
    pub mentioned: Mentioned,
}

/// A discussion, with its line in the version that a page shows.
pub struct LineDiscussion {
    pub discussion: DiscussionWithNotes,
    pub line: DiscussedLine,
    pub is_in_base: bool,
}

/// Maximum number of discussions whose lines are searched for a page with changes. Each has at most 128 kB of notes.
const MAX_LINE_DISCUSSIONS: i64 = 100;

/// Finds the discussions about lines of a version. Also returns whether there are more than are examined.
async fn find_lines(
    app: &App,
    actor: &Actor,
    page: &RequestPage,
    version: &Version,
) -> Result<(Vec<LineDiscussion>, bool)> {
    let (request, project) = (page.request.id, ProjectRef::Id(page.project.id));
    let mut connection = app.database.connection().await?;
    let mut found = discussions::list_about_lines(&mut connection, request, MAX_LINE_DISCUSSIONS + 1).await?;
    drop(connection);
    let has_more = i64::try_from(found.len()).is_ok_and(|count| count > MAX_LINE_DISCUSSIONS);
    found.truncate(usize::try_from(MAX_LINE_DISCUSSIONS).unwrap_or(usize::MAX));
    if found.is_empty() {
        return Ok((Vec::new(), false));
    }
    let loaded = discussion::load_with_versions(app, actor, &project, &page.versions, found).await?;
    let in_version = |discussion: DiscussionWithNotes| {
        let position = discussion.discussion.position()?;
        let line = match &discussion.current {
            CurrentLine::Found(id, line) if *id == version.id => line.clone(),
            _ if position.version == version.id => position.line,
            _ => return None,
        };
        Some(LineDiscussion { line, is_in_base: position.is_in_base, discussion })
    };
    Ok((loaded.into_iter().filter_map(in_version).collect(), has_more))
}

/// Returns the changes of a version, or of the newest one. They are those since its merge base, or since another version.
/// Versions are named by their numbers.
#[crate::boxed]
pub async fn show_changes(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    numbers: VersionNumbers,
    selection: FileSelection,
) -> Result<RequestChanges> {
    let (repository, page) = load(app, actor, project, iid).await?;
    let version = match numbers.version {
        Some(number) => find_version(&page, number)?,
        None => *page.newest().ok_or(Error::NotFound(Resource::Record))?,
    };
    let since = numbers.since.map(|number| find_version(&page, number)).transpose()?;
    let base = match &since {
        Some(since) => Some(since.head),
        None => find_base(app, &repository, &version).await?,
    };
    let is_reachable = is_reachable(app, &repository, &version).await?;
    let (lines, has_more_lines) = find_lines(app, actor, &page, &version).await?;
    let drafts = match review::own_review(actor, page.request.id).filter(|_| page.draft_count > 0) {
        Some(review) => draft_note::list_all(&mut *app.database.connection().await?, review).await?,
        None => Vec::new(),
    };
    let notes = lines.iter().flat_map(|line| &line.discussion.notes).map(|note| note.body.as_str());
    let texts = notes.chain(drafts.iter().map(|draft| draft.body.as_str()));
    let mentioned = mention::find(app, actor, &page.project, texts).await?;
    // The process is started last, so that it does not wait for statements.
    let changes = changes::show(app, &repository, base, version.head, selection).await?;
    Ok(RequestChanges { page, version, since, is_reachable, changes, lines, has_more_lines, drafts, mentioned })
}

/// The version whose changes are shown, and the one that it is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionNumbers {
    pub version: Option<i32>,
    pub since: Option<i32>,
}

fn find_version(page: &RequestPage, number: i32) -> Result<Version> {
    page.versions.iter().find(|version| version.number == number).copied().ok_or(Error::NotFound(Resource::Record))
}

/// Returns the versions of a merge request, newest first, with the numbers of their files where they are known.
#[crate::boxed]
pub async fn show_versions(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
) -> Result<(RequestPage, Vec<ComparedVersion>)> {
    let (repository, page) = load(app, actor, project, iid).await?;
    let compared = version::compare_all(app, &repository, &page.versions).await?;
    Ok((page, compared))
}

/// Pairs the commits of two versions, which are named by their numbers.
#[crate::boxed]
pub async fn show_range_diff(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    old: i32,
    new: i32,
) -> Result<(RequestPage, RangeDiff)> {
    let (repository, page) = load(app, actor, project, iid).await?;
    let (old, new) = (find_version(&page, old)?, find_version(&page, new)?);
    let pairs = version::pair_commits(app, &repository, &old, &new).await?;
    let is_old_reachable = is_reachable(app, &repository, &old).await?;
    let is_new_reachable = is_reachable(app, &repository, &new).await?;
    let project = page.project.clone();
    Ok((page, RangeDiff { project, is_old_reachable, is_new_reachable, pairs }))
}

/// Returns the pipelines of a merge request, newest first.
#[crate::boxed]
pub async fn show_pipelines(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    page: PageRequest,
) -> Result<(RequestPage, Page<RequestPipeline>)> {
    let (_, shown) = load(app, actor, project, iid).await?;
    let pipelines = pipeline::list_of(app, actor, &shown.project, &shown.request, page).await?;
    Ok((shown, pipelines))
}
