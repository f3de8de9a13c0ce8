//! Merge requests that are merged when the pipeline of their head succeeds.

use holdfast_domain::ids::{MergeRequestId, ProjectId};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_store::ci::pipeline;
use holdfast_store::merge_requests::merge_request::MergeRequestRef;
use holdfast_store::merge_requests::waiting::{self, WaitingMerge};

use super::accept::{AcceptMergeRequest, accept};
use super::merge_request::{MergeRequest, find, lock};
use crate::accounts::user::actor_for_user;
use crate::projects::project::ProjectRef;
use crate::repository::edit::merge;
use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Result};

/// Merges the requests that wait for the pipeline of a commit, in the name of the users who asked for it and with the
/// rights that they have now.
#[crate::boxed]
pub(crate) async fn run(app: &App, project: ProjectId, sha: &str) -> Result<()> {
    let Ok(head) = ObjectId::from_hex(sha.as_bytes()) else { return Ok(()) };
    let mut connection = app.database.connection().await?;
    let newest = pipeline::list_newest_for_commits(&mut connection, project, &[sha.to_owned()]).await?;
    if newest.first().is_none_or(|pipeline| !pipeline.status.allows_merge()) {
        return Ok(());
    }
    let found = waiting::list(&mut connection, project, head).await?;
    drop(connection);
    // A merge request that cannot be merged does not keep the others from it.
    let mut first_error = None;
    for (request, waiting_merge) in found {
        if let Err(error) = merge_one(app, request, waiting_merge).await {
            first_error.get_or_insert(error);
        }
    }
    first_error.map_or(Ok(()), Err)
}

async fn merge_one(app: &App, request: MergeRequestRef, waiting_merge: WaitingMerge) -> Result<()> {
    let Some(actor) = actor_for_user(app, waiting_merge.user).await? else { return Ok(()) };
    let input = AcceptMergeRequest {
        sha: Some(waiting_merge.head.to_string()),
        target_branch: None,
        message: waiting_merge.message,
        removes_source_branch: waiting_merge.removes_source_branch,
        waits_for_build: false,
    };
    match accept(app, &actor, &ProjectRef::Id(request.project), request.id, input).await {
        Ok(_) => Ok(()),
        // The merge is not possible any more. The merge request stays open and still waits for this head: another
        // successful pipeline tries again, and accepting it through the API shows the reason.
        Err(
            error @ (Error::NotFound(_)
            | Error::Forbidden(_)
            | Error::Unauthenticated
            | Error::NotMergeable
            | Error::MergeConflict
            | Error::Conflict(_)
            | Error::Rejected(_)),
        ) => {
            let (project, id) = (request.project.get(), request.id.get());
            tracing::info!(%error, project, merge_request = id, "pipeline succeeded, merge request not merged");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Ends the waiting for a pipeline. Returns None if the request does not wait.
#[crate::boxed]
pub async fn cancel(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MergeRequestId,
) -> Result<Option<MergeRequest>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadMergeRequests).await?;
    let request = find(&mut *app.database.connection().await?, actor, &repository.project, id).await?;
    let is_author = actor.user_id() == Some(request.author.id);
    if !is_author && !merge::is_allowed(app, actor, &repository, &request.target_branch).await? {
        // 401 instead of 403, as existing clients expect.
        return Err(Error::Unauthenticated);
    }
    let mut transaction = app.database.begin().await?;
    let request = lock(&mut transaction, actor, &repository.project, id).await?;
    if !request.state.is_open() {
        return Err(Error::NotMergeable);
    }
    if !request.waits_for_build {
        return Ok(None);
    }
    waiting::set(&mut transaction, id, None, app.clock.now()).await?;
    let request = find(&mut transaction, actor, &repository.project, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(request))
}
