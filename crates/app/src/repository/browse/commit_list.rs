//! Lists the commits of a revision, or those that changed a path.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::commits::{self, CommitQuery};
use holdfast_git::{ObjectId, TreePath};
use holdfast_store::ci::pipeline;
use holdfast_store::projects::project::{Project, ProjectRef};

pub use holdfast_store::ci::pipeline::CommitPipeline;

use super::changes::explain_timeout;
use super::commit::{Commit, load_listed};
use super::revision;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::objects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::ref_address::DefaultBranch;
use crate::{Actor, App, Error, Resource, Result, access};

/// A page of a list of commits.
#[derive(Clone, Debug)]
pub struct CommitList {
    pub project: Project,
    /// The revision as the address names it.
    pub revision: String,
    /// The path that the commits changed; empty for all commits.
    pub path: String,
    pub commits: Vec<Commit>,
    /// The newest pipeline of each commit that has one, by the id of the commit. Empty if the actor may not read builds.
    pub pipelines: HashMap<String, CommitPipeline>,
    /// Whether the list continues behind the last commit.
    pub has_more: bool,
    pub default_branch: Option<DefaultBranch>,
}

/// Number of commits on a page. Arbitrary.
const PAGE_SIZE: usize = 50;

/// Lists the commits that the end of a page's address names, such as `main/src`, newest first. With `after`, the id of a
/// commit, the page begins behind that commit.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    address: &str,
    after: Option<&str>,
) -> Result<CommitList> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let (revision, path) = revision::split_address(&*repository.refs, address);
    let tip = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let after = match after {
        Some(text) => Some(ObjectId::from_hex(text.as_bytes()).map_err(|_| Error::NotFound(Resource::Commit))?),
        None => None,
    };
    let mut ids = find_ids(app, &repository, tip, path, after).await?;
    let has_more = ids.len() > PAGE_SIZE;
    ids.truncate(PAGE_SIZE);
    let (commits, pipelines) = tokio::try_join!(
        load_listed(app, &repository, ids.clone()),
        find_pipelines(app, actor, &repository.project, &ids)
    )?;
    Ok(CommitList {
        default_branch: DefaultBranch::find(&repository.refs),
        revision: revision.to_owned(),
        path: path.to_owned(),
        project: repository.project,
        commits,
        pipelines,
        has_more,
    })
}

/// The commits that a client asks for.
#[derive(Clone, Debug, Default)]
pub struct ListCommits {
    /// The default branch if None.
    pub revision: Option<String>,
    /// Only commits that changed this path.
    pub path: Option<String>,
    pub since: Option<DateTime<Utc>>,
    pub until: Option<DateTime<Utc>>,
    /// The number of commits before the first one that is returned.
    pub skip: u64,
    pub limit: usize,
}

/// Lists the commits of a revision, newest first. The list is empty if there is no such revision or path.
#[crate::boxed]
pub async fn list_since(app: &App, actor: &Actor, project: &ProjectRef, input: ListCommits) -> Result<Vec<Commit>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    list_opened(app, &repository, input).await
}

/// Commits, newest first, with the project whose address their URLs contain.
#[derive(Clone, Debug)]
pub struct ProjectCommits {
    pub project: Project,
    pub commits: Vec<Commit>,
}

/// Like [`list_since`], but also returns the project.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListCommits,
) -> Result<ProjectCommits> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commits = list_opened(app, &repository, input).await?;
    Ok(ProjectCommits { project: repository.project, commits })
}

async fn list_opened(app: &App, repository: &OpenRepository, input: ListCommits) -> Result<Vec<Commit>> {
    let tip = revision::resolve_or_head(app, repository, input.revision.as_deref()).await?;
    let Some(tip) = tip else { return Ok(Vec::new()) };
    let path = match input.path.as_deref().map(|path| path.trim_matches('/')) {
        None | Some("") => None,
        Some(path) => match TreePath::new(path) {
            Some(path) => Some(path),
            None => return Ok(Vec::new()),
        },
    };
    let seconds = |time: Option<DateTime<Utc>>| time.map(|time| u64::try_from(time.timestamp()).unwrap_or(0));
    // No commit was made before 1970, and git counts with 31 bits.
    if input.until.is_some_and(|until| until.timestamp() <= 0) || input.skip > i32::MAX as u64 {
        return Ok(Vec::new());
    }
    let query = CommitQuery {
        path: path.as_ref(),
        skip: input.skip,
        since: seconds(input.since),
        until: seconds(input.until),
        ..CommitQuery::new(tip)
    };
    let slot = FetchSlot::acquire(app, repository).await?;
    let found = commits::list(&app.git_runtime.git, &slot.cached_repository.bare, query, input.limit).await;
    let ids = found.map_err(|error| explain_timeout(error, HISTORY_TOO_LONG))?;
    load_listed(app, repository, ids).await
}

const HISTORY_TOO_LONG: &str = "The history is too long for this list";

/// Returns the ids of one more commit than a page has, if there are so many.
async fn find_ids(
    app: &App,
    repository: &OpenRepository,
    tip: ObjectId,
    path: &str,
    after: Option<ObjectId>,
) -> Result<Vec<ObjectId>> {
    // The first page of a history is read without starting git.
    if path.is_empty() && after.is_none() {
        return objects::read(app, repository, move |reader| Ok(reader.newest_commits(tip, PAGE_SIZE + 1)?)).await;
    }
    let path = match path {
        "" => None,
        path => Some(TreePath::new(path).ok_or(Error::NotFound(Resource::File))?),
    };
    let slot = FetchSlot::acquire(app, repository).await?;
    let query = CommitQuery { path: path.as_ref(), after, ..CommitQuery::new(tip) };
    let found = commits::list(&app.git_runtime.git, &slot.cached_repository.bare, query, PAGE_SIZE + 1).await;
    found.map_err(|error| explain_timeout(error, HISTORY_TOO_LONG))
}

/// Returns the newest pipeline of each commit, by the id of the commit, in one statement.
pub(super) async fn find_pipelines(
    app: &App,
    actor: &Actor,
    project: &Project,
    ids: &[ObjectId],
) -> Result<HashMap<String, CommitPipeline>> {
    if ids.is_empty() || !access::is_authorized(actor, project, ProjectAction::ReadBuilds) {
        return Ok(HashMap::new());
    }
    let shas: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let found = pipeline::list_newest_for_commits(&mut *app.database.connection().await?, project.id, &shas).await?;
    Ok(found.into_iter().map(|pipeline| (pipeline.sha.clone(), pipeline)).collect())
}
