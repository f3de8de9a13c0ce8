//! A commit with the number of lines that it changes and the status of its pipeline.

use holdfast_domain::ci::Status;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::diff::{self, ChangedLines};
use holdfast_git::{ObjectId, SHA1};
use holdfast_store::projects::project::ProjectRef;

use super::changes::{TIMED_OUT, explain_timeout};
use super::commit::{self, Commit};
use super::commit_list::find_pipelines;
use super::revision;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::open_repository;
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
    let count_lines = async {
        let slot = FetchSlot::acquire(app, &repository).await?;
        let parent = commit.parents.first().copied().unwrap_or(ObjectId::empty_tree(SHA1));
        let counted = diff::summarize(&app.git_runtime.git, &slot.cached_repository.bare, parent, id).await;
        Ok(counted.map_err(|error| explain_timeout(error, TIMED_OUT))?.lines)
    };
    let find_pipelines = find_pipelines(app, actor, &repository.project, std::slice::from_ref(&id));
    let (lines, pipelines) = tokio::try_join!(count_lines, find_pipelines)?;
    Ok(CommitDetail { commit, lines, status: pipelines.into_values().next().map(|pipeline| pipeline.status) })
}
