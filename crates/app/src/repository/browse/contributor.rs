//! Counts the contributions of each author to the default branch.

use std::collections::HashSet;
use std::time::Duration;

use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::contributions::{self, CommitSelection, Contribution, Contributions};
use holdfast_git::reader::{Kind, Reader};
use holdfast_store::commit as commit_transaction;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::contributor::{self as rows, Checkpoint};
use holdfast_store::repository::repository;
use holdfast_store::worker::contributors;
use tokio::time::Instant;

pub use holdfast_store::repository::contributor::Contributor;

use crate::repository::fetch_slot::FetchSlot;
use crate::repository::objects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

/// Maximum number of commits that are counted during a request. More are counted by a job.
const MAX_INLINE_COMMITS: usize = 1000;
/// How long a request waits for that job.
const JOB_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Lists the contributors to the default branch, the one with the newest commit first. Merges are not counted.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Contributor>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let tip = repository.refs.head_target().ok_or(Error::NotFound(Resource::Literal("404 Not Found")))?;
    list_opened(app, &repository, tip, page).await
}

/// The contributors to the default branch, with what their page shows.
#[derive(Debug)]
pub struct ProjectContributors {
    pub project: Project,
    /// Empty if there is no default branch.
    pub contributors: Page<Contributor>,
}

/// Like [`list`], but also returns the project.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectContributors> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let contributors = match repository.refs.head_target() {
        Some(tip) => list_opened(app, &repository, tip, page).await?,
        None => Page::with_total(Vec::new(), page, 0),
    };
    Ok(ProjectContributors { project: repository.project, contributors })
}

async fn list_opened(
    app: &App,
    repository: &OpenRepository,
    tip: ObjectId,
    page: PageRequest,
) -> Result<Page<Contributor>> {
    let id = repository.project.repository.id;
    let mut connection = app.database.connection().await?;
    let checkpoint = rows::find_checkpoint(&mut connection, id).await?;
    if is_current(checkpoint, repository, tip) {
        return Ok(rows::list(&mut connection, id, page).await?);
    }
    drop(connection);
    if is_small_delta(app, repository, checkpoint, tip).await? {
        count(app, repository, tip).await?;
    } else {
        wait_for_job(app, repository, tip).await?;
    }
    Ok(rows::list(&mut *app.database.connection().await?, id, page).await?)
}

/// Returns whether the stored counts include this tip, or are newer than the refs that were read.
fn is_current(checkpoint: Option<Checkpoint>, repository: &OpenRepository, tip: ObjectId) -> bool {
    checkpoint.is_some_and(|checkpoint| checkpoint.tip == tip || checkpoint.generation > repository.refs.generation)
}

async fn is_small_delta(
    app: &App,
    repository: &OpenRepository,
    checkpoint: Option<Checkpoint>,
    tip: ObjectId,
) -> Result<bool> {
    objects::read(app, repository, move |reader| {
        let Some(base) = checkpoint_base(reader, checkpoint) else {
            return Ok(!reader.is_longer_than(MAX_INLINE_COMMITS, tip)?);
        };
        Ok(reader.commits_excluding(&[base], tip)?.len() + reader.commits_excluding(&[tip], base)?.len()
            <= MAX_INLINE_COMMITS)
    })
    .await
}

/// Returns the commit from which counting continues, if it still exists.
fn checkpoint_base(reader: &Reader, checkpoint: Option<Checkpoint>) -> Option<ObjectId> {
    checkpoint.map(|checkpoint| checkpoint.tip).filter(|tip| matches!(reader.kind(*tip), Ok(Some(Kind::Commit))))
}

async fn wait_for_job(app: &App, repository: &OpenRepository, tip: ObjectId) -> Result<()> {
    contributors::enqueue(&mut *app.database.connection().await?, repository.project.id).await?;
    // The job may run on any node, so the database is polled for its result.
    let (deadline, mut interval) = (Instant::now() + JOB_TIMEOUT, tokio::time::interval(POLL_INTERVAL));
    while interval.tick().await < deadline {
        let checkpoint =
            rows::find_checkpoint(&mut *app.database.connection().await?, repository.project.repository.id).await?;
        if is_current(checkpoint, repository, tip) {
            return Ok(());
        }
    }
    Err(Error::TemporarilyUnavailable("The contributors are being counted; try again later"))
}

pub(crate) async fn run(app: &App, project: ProjectId) -> Result<()> {
    let repository = open_repository(app, &Actor::Operator, &ProjectRef::Id(project), ProjectAction::ReadCode).await?;
    match repository.refs.head_target() {
        Some(tip) => count(app, &repository, tip).await,
        None => Ok(()),
    }
}

/// Counts the commits that were added since the last count, and subtracts those that were removed: a forced push costs
/// only what it changed.
async fn count(app: &App, repository: &OpenRepository, tip: ObjectId) -> Result<()> {
    let id = repository.project.repository.id;
    loop {
        let checkpoint = rows::find_checkpoint(&mut *app.database.connection().await?, id).await?;
        if is_current(checkpoint, repository, tip) {
            return Ok(());
        }
        let delta = objects::read(app, repository, move |reader| {
            let full_count = (None, CommitSelection::ReachableFrom(tip), Vec::new());
            let Some(base) = checkpoint_base(reader, checkpoint) else { return Ok(full_count) };
            // The counts are persistent, so the commits must be exact even if commit dates are wrong.
            let removed = reader.commits_excluding_exact(&[tip], base)?;
            if !removed.is_empty() && !reader.is_longer_than(removed.len(), tip)? {
                return Ok(full_count);
            }
            Ok((Some(base), CommitSelection::Exactly(reader.commits_excluding_exact(&[base], tip)?), removed))
        });
        let (base, added, removed) = delta.await?;
        let slot = FetchSlot::acquire(app, repository).await?;
        let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
        let added_contributors = to_contributors(contributions::count(git, bare, added, true).await?);
        let (mut removed_contributors, mut names) = (Vec::new(), Vec::new());
        if !removed.is_empty() {
            removed_contributors =
                to_contributors(contributions::count(git, bare, CommitSelection::Exactly(removed), true).await?);
            let affected_emails: HashSet<&str> = removed_contributors.iter().map(|it| &*it.email).collect();
            names = to_contributors(contributions::count(git, bare, CommitSelection::ReachableFrom(tip), false).await?);
            names.retain(|it| affected_emails.contains(&*it.email));
        }
        let mut transaction = app.database.begin().await?;
        repository::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::Project))?;
        // Another request or job may have updated the counts first.
        if rows::find_checkpoint(&mut transaction, id).await? != checkpoint {
            continue;
        }
        if base.is_none() {
            rows::clear(&mut transaction, id).await?;
        }
        let checkpoint = Checkpoint { tip, generation: repository.refs.generation };
        rows::set_checkpoint(&mut transaction, id, checkpoint, app.clock.now()).await?;
        rows::add(&mut transaction, id, &added_contributors).await?;
        rows::subtract(&mut transaction, id, &removed_contributors).await?;
        rows::rename(&mut transaction, id, &names).await?;
        return Ok(commit_transaction(transaction).await?);
    }
}

fn to_contributors(contributions: Contributions) -> Vec<Contributor> {
    let figure = |figure: u64| i64::try_from(figure).unwrap_or(i64::MAX);
    let row = |(email, it): (String, Contribution)| Contributor {
        email,
        name: it.name,
        newest: it.newest,
        commits: figure(it.commits),
        additions: figure(it.additions),
        deletions: figure(it.deletions),
    };
    contributions.into_iter().map(row).collect()
}
