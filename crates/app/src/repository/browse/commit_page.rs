//! A commit with what its page shows: message, refs, statuses and changes.

use bytes::Bytes;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::{ObjectId, SHA1, diff};
use holdfast_store::ci::build_list::{self, Build, BuildFilter};
use holdfast_store::projects::project::{Project, ProjectRef};

use super::changes::{self, Changes, FileSelection};
use super::commit::{self, Commit};
use super::commit_list::{CommitPipeline, find_pipelines};
use super::revision::{self, FoundCommit};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::containing_refs;
pub use crate::repository::refs::containing_refs::ContainingRefs;
use crate::repository::transfer::fetch::{self, ResponseStream};
use crate::{Actor, App, Error, Resource, Result, access};

/// A commit with what its page shows.
pub struct CommitPage {
    pub project: Project,
    /// The commit, shortened as in a list.
    pub commit: Commit,
    /// Whether a ref reaches the commit, so that its files and parents have pages.
    pub is_reachable: bool,
    pub refs: ContainingRefs,
    /// The newest pipeline of the commit. None if the actor may not read builds.
    pub pipeline: Option<CommitPipeline>,
    /// The newest statuses of the commit. Empty if the actor may not read builds.
    pub statuses: Page<Build>,
    /// The changes since the first parent.
    pub changes: Changes,
}

/// Number of statuses on a page. Arbitrary; the page of the pipeline has all.
const MAX_STATUSES: i64 = 20;

/// Returns a commit with its changes. A commit that no ref reaches is shown if `update` is the generation of a ref update
/// from or to it that can be restored, to those who may read the ref log.
#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    update: Option<i64>,
    selection: FileSelection,
) -> Result<CommitPage> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let FoundCommit { id, is_reachable } = find(app, actor, &repository, revision, update).await?;
    let commit = commit::load_one_listed(app, &repository, id).await?;
    let load_changes = async {
        let slot = FetchSlot::acquire(app, &repository).await?;
        changes::start(app, slot, first_parent(&commit), id, selection).await
    };
    let load_statuses = async {
        let pipelines = find_pipelines(app, actor, &repository.project, &[id]).await?;
        let statuses = list_statuses(app, actor, &repository.project, id).await?;
        Ok((pipelines.into_values().next(), statuses))
    };
    let load_refs = containing_refs::list_containing(app, &repository, id);
    let (refs, (pipeline, statuses), changes) = tokio::try_join!(load_refs, load_statuses, load_changes)?;
    Ok(CommitPage { project: repository.project, commit, is_reachable, refs, pipeline, statuses, changes })
}

async fn find(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    revision: &str,
    update: Option<i64>,
) -> Result<FoundCommit> {
    let found = revision::resolve_or_retained(app, actor, repository, revision, update).await?;
    found.ok_or(Error::NotFound(Resource::Commit))
}

/// Returns the commit that a commit is compared with, or an empty tree for the first commit.
fn first_parent(commit: &Commit) -> ObjectId {
    commit.parents.first().copied().unwrap_or(ObjectId::empty_tree(SHA1))
}

async fn list_statuses(app: &App, actor: &Actor, project: &Project, id: ObjectId) -> Result<Page<Build>> {
    let page = PageRequest::new(None, Some(MAX_STATUSES));
    if !access::is_authorized(actor, project, ProjectAction::ReadBuilds) {
        return Ok(Page::with_total(Vec::new(), page, 0));
    }
    let sha = id.to_string();
    let filter = BuildFilter::Statuses { sha, ref_name: None, stage: None, name: None, include_superseded: false };
    Ok(build_list::list(&app.database, project.id, &filter, page, app.clock.now()).await?)
}

/// The form of a commit as plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFormat {
    /// The changes alone.
    Diff,
    /// An email with the message and the changes, as `git am` reads it.
    Patch,
}

/// A commit as plain text.
pub struct CommitText {
    pub project: Project,
    pub content: ResponseStream,
}

/// Returns a commit as plain text.
#[crate::boxed]
pub async fn show_text(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    update: Option<i64>,
    format: CommitFormat,
) -> Result<CommitText> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let FoundCommit { id, .. } = find(app, actor, &repository, revision, update).await?;
    let commit = commit::load_one_listed(app, &repository, id).await?;
    let slot = FetchSlot::acquire(app, &repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    let command = match format {
        CommitFormat::Diff => diff::command(git, bare, first_parent(&commit), id),
        CommitFormat::Patch => diff::email_command(git, bare, id),
    };
    let content = fetch::run_unshared(app, command, Bytes::new(), slot).await?;
    Ok(CommitText { project: repository.project, content })
}
