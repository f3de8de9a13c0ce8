//! A commit with the number of lines that it changes and the status of its pipeline.

use holdfast_domain::ci::Status;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::diff::{self, ChangedLines};
use holdfast_git::{ObjectId, SHA1};
use holdfast_store::ci::pipeline::{self, Pipeline};
use holdfast_store::projects::project::{Project, ProjectRef};

use super::changes::{TIMED_OUT, explain_timeout};
use super::commit::{self, Commit};
use super::commit_list::find_pipelines;
use super::revision;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

#[derive(Clone, Debug)]
pub struct CommitDetail {
    pub commit: Commit,
    /// The lines that the commit adds and removes, compared with its first parent.
    pub lines: ChangedLines,
    /// The status of the newest pipeline. None if there is none, or if the actor may not read builds.
    pub status: Option<Status>,
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, revision: &str) -> Result<CommitDetail> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let id = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let commit = commit::load(app, &repository, id).await?;
    let count_lines = count_lines(app, &repository, &commit);
    let find_pipelines = find_pipelines(app, actor, &repository.project, std::slice::from_ref(&id));
    let (lines, pipelines) = tokio::try_join!(count_lines, find_pipelines)?;
    Ok(CommitDetail { commit, lines, status: pipelines.into_values().next().map(|pipeline| pipeline.status) })
}

/// Counts the lines that a commit adds and removes, compared with its first parent.
async fn count_lines(app: &App, repository: &OpenRepository, commit: &Commit) -> Result<ChangedLines> {
    let slot = FetchSlot::acquire(app, repository).await?;
    let parent = commit.parents.first().copied().unwrap_or(ObjectId::empty_tree(SHA1));
    let counted = diff::summarize(&app.git_runtime.git, &slot.cached_repository.bare, parent, commit.id).await;
    Ok(counted.map_err(|error| explain_timeout(error, TIMED_OUT))?.lines)
}

/// A commit with its newest pipeline.
#[derive(Clone, Debug)]
pub struct CommitWithPipeline {
    pub project: Project,
    pub commit: Commit,
    /// None if they were not asked for.
    pub lines: Option<ChangedLines>,
    /// None if there is none, or if the actor may not read builds.
    pub pipeline: Option<Pipeline>,
}

/// Like [`show`], but with the whole pipeline. Lines are counted only if the client asks for them.
#[crate::boxed]
pub async fn show_with_pipeline(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    counts_lines: bool,
) -> Result<CommitWithPipeline> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let id = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let commit = commit::load(app, &repository, id).await?;
    let count_lines = async {
        match counts_lines {
            true => count_lines(app, &repository, &commit).await.map(Some),
            false => Ok(None),
        }
    };
    let find_pipeline = async {
        let newest = find_pipelines(app, actor, &repository.project, std::slice::from_ref(&id)).await?;
        match newest.into_values().next() {
            Some(newest) => {
                let mut connection = app.database.connection().await?;
                Ok(pipeline::find(&mut connection, repository.project.id, newest.id).await?)
            }
            None => Ok(None),
        }
    };
    let (lines, pipeline) = tokio::try_join!(count_lines, find_pipeline)?;
    Ok(CommitWithPipeline { project: repository.project, commit, lines, pipeline })
}
