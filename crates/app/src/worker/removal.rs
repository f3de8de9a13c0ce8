//! Deletes the data of deleted projects and users. Every step is small and idempotent, so an interrupted job continues
//! where it stopped. The events about what is deleted are published earlier, by `events::removal`.

use holdfast_domain::ids::{JobId, ProjectId, UserId};
use holdfast_store::accounts::ghost;
use holdfast_store::activity::event;
use holdfast_store::ci::{build, pipeline, queue, runner};
use holdfast_store::commit;
use holdfast_store::hooks::hook;
use holdfast_store::merge_requests::merge_request;
use holdfast_store::planning::{issue, note};
use holdfast_store::projects::deploy_key;
use holdfast_store::projects::upload;
use holdfast_store::repository::{commit_comment, pack, repository};
use holdfast_store::worker::{job, removal};

use crate::ci::retention;
use crate::projects::upload as uploads;
use crate::{App, Result};

/// Maximum number of rows that one statement changes.
const BATCH_SIZE: i64 = 1000;
/// Maximum number of objects that are deleted between two queries.
const OBJECT_BATCH_SIZE: i64 = 100;
/// Maximum number of builds that one statement deletes. Their traces, artifacts and queue entries are deleted with them.
const BUILD_BATCH_SIZE: i64 = 100;

#[crate::boxed]
pub async fn remove_projects(app: &App, id: JobId) -> Result<()> {
    while let Some(project) = removal::next_project(&mut *app.database.connection().await?, id).await? {
        remove_uploads(app, project).await?;
        // Issues come before events: deleting an issue waits for transactions that add notes to it, and their events
        // are visible afterwards.
        while issue::delete_project_batch(&mut *app.database.connection().await?, project, BATCH_SIZE).await? > 0 {}
        while merge_request::delete_project_batch(&mut *app.database.connection().await?, project, BATCH_SIZE).await?
            > 0
        {}
        while commit_comment::delete_project_batch(&mut *app.database.connection().await?, project, BATCH_SIZE).await?
            > 0
        {}
        while event::delete_project_batch(&mut *app.database.connection().await?, project, BATCH_SIZE).await? > 0 {}
        remove_hooks(app, project).await?;
        remove_deploy_keys(app, project).await?;
        remove_builds(app, project).await?;
        let mut transaction = app.database.begin().await?;
        let deleted = removal::delete(&mut transaction, project).await?;
        job::advance(&mut transaction, id, deleted as i64).await?;
        commit(transaction).await?;
        remove_repositories(app).await?;
    }
    job::finish(&mut *app.database.connection().await?, id, app.clock.now()).await?;
    Ok(())
}

/// Deletes repositories whose project has been deleted. Packs that no fork lists become unreferenced; the sweep deletes
/// them later.
pub(super) async fn remove_repositories(app: &App) -> Result<()> {
    loop {
        let batch = repository::next_orphaned_batch(&mut *app.database.connection().await?, 100).await?;
        if batch.is_empty() {
            return Ok(());
        }
        for id in batch {
            while repository::delete_row_batch(&mut *app.database.connection().await?, id, BATCH_SIZE).await? > 0 {}
            let mut transaction = app.database.begin().await?;
            repository::lock_orphaned_exclusive(&mut transaction, id).await?;
            pack::unlist_all(&mut transaction, id, app.clock.now()).await?;
            repository::delete(&mut transaction, id).await?;
            commit(transaction).await?;
        }
    }
}

async fn remove_hooks(app: &App, project: ProjectId) -> Result<()> {
    loop {
        let mut transaction = app.database.begin().await?;
        let deleted = hook::delete_project_batch(&mut transaction, project, BATCH_SIZE).await?;
        commit(transaction).await?;
        if deleted == 0 {
            return Ok(());
        }
    }
}

async fn remove_deploy_keys(app: &App, project: ProjectId) -> Result<()> {
    loop {
        let mut transaction = app.database.begin().await?;
        let removed = deploy_key::unlink_project_batch(&mut transaction, project, BATCH_SIZE).await?;
        commit(transaction).await?;
        if removed == 0 {
            return Ok(());
        }
    }
}

async fn remove_uploads(app: &App, project: ProjectId) -> Result<()> {
    // Uploads in progress are left to the sweep.
    upload::detach_unfinished(&mut *app.database.connection().await?, project).await?;
    loop {
        let batch =
            upload::next_project_batch(&mut *app.database.connection().await?, project, OBJECT_BATCH_SIZE).await?;
        if batch.is_empty() {
            return Ok(());
        }
        uploads::remove(app, batch).await?;
    }
}

/// Deletes all CI data of a project.
async fn remove_builds(app: &App, project: ProjectId) -> Result<()> {
    while build::delete_project_batch(&mut *app.database.connection().await?, project, BUILD_BATCH_SIZE).await? > 0 {}
    while pipeline::delete_project_batch(&mut *app.database.connection().await?, project, BATCH_SIZE).await? > 0 {}
    runner::delete_for_project(&mut *app.database.connection().await?, project).await?;
    queue::delete_project_turns(&mut *app.database.connection().await?, project).await?;
    retention::delete_unreferenced_objects(app).await
}

/// Reassigns the contributions of a deleted user in projects of others to the ghost account, in batches. Issues and merge
/// requests that were assigned to the user become unassigned.
#[crate::boxed]
pub async fn reassign_author(app: &App, id: JobId, author: UserId) -> Result<()> {
    let ghost = ghost::find_or_insert(&mut *app.database.connection().await?, app.clock.now()).await?;
    while issue::reassign_batch(&mut *app.database.connection().await?, author, ghost, BATCH_SIZE).await? > 0 {}
    while issue::unassign_batch(&mut *app.database.connection().await?, author, BATCH_SIZE).await? > 0 {}
    while merge_request::reassign_batch(&mut *app.database.connection().await?, author, ghost, BATCH_SIZE).await? > 0 {}
    while merge_request::unassign_batch(&mut *app.database.connection().await?, author, BATCH_SIZE).await? > 0 {}
    while note::reassign_batch(&mut *app.database.connection().await?, author, ghost, BATCH_SIZE).await? > 0 {}
    while commit_comment::reassign_batch(&mut *app.database.connection().await?, author, ghost, BATCH_SIZE).await? > 0 {
    }
    event::reassign_author_index(&mut *app.database.connection().await?, author, ghost).await?;
    loop {
        let mut transaction = app.database.begin().await?;
        let reassigned = event::reassign_batch(&mut transaction, author, ghost, BATCH_SIZE).await?;
        job::advance(&mut transaction, id, reassigned as i64).await?;
        commit(transaction).await?;
        if reassigned == 0 {
            break;
        }
    }
    job::finish(&mut *app.database.connection().await?, id, app.clock.now()).await?;
    Ok(())
}
