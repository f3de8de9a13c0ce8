//! Removing what was deleted. Every step can be repeated, and each is small: a job that is cut off goes on where it was.

use holdfast_domain::ids::{JobId, ProjectId, UserId};
use holdfast_store::accounts::ghost;
use holdfast_store::activity::event;
use holdfast_store::commit;
use holdfast_store::hooks::hook;
use holdfast_store::planning::{issue, note};
use holdfast_store::projects::upload;
use holdfast_store::repository::{pack, repository};
use holdfast_store::worker::{job, removal};

use crate::ci::tending;
use crate::{App, Result};

/// Rows that one statement takes.
const BATCH: i64 = 1000;
/// Objects between two looks at the database.
const OBJECTS: i64 = 100;

pub async fn projects(app: &App, id: JobId) -> Result<()> {
    while let Some(project) = removal::next(&mut *app.database.connection().await?, id).await? {
        remove_uploads(app, project).await?;
        // First the issues: what is being said about them now is in the feed once they are gone.
        while issue::delete_some_of_project(&mut *app.database.connection().await?, project, BATCH).await? > 0 {}
        while event::delete_some_of_project(&mut *app.database.connection().await?, project, BATCH).await? > 0 {}
        remove_hooks(app, project).await?;
        tending::remove_project(app, project).await?;
        let mut transaction = app.database.begin().await?;
        let gone = removal::delete(&mut transaction, project).await?;
        job::advance(&mut transaction, id, gone as i64).await?;
        commit(transaction).await?;
        remove_repositories(app).await?;
    }
    job::finish(&mut *app.database.connection().await?, id, app.clock.now()).await?;
    Ok(())
}

/// Those whose project is gone. Their packs go with them, unless forks use them; the bytes follow after a while.
pub(super) async fn remove_repositories(app: &App) -> Result<()> {
    loop {
        let some = repository::some_orphaned(&mut *app.database.connection().await?, 100).await?;
        if some.is_empty() {
            return Ok(());
        }
        for id in some {
            while repository::delete_some_rows(&mut *app.database.connection().await?, id, BATCH).await? > 0 {}
            let mut transaction = app.database.begin().await?;
            repository::lock_orphaned(&mut transaction, id).await?;
            pack::remove_all(&mut transaction, id, app.clock.now()).await?;
            repository::delete(&mut transaction, id).await?;
            commit(transaction).await?;
        }
    }
}

async fn remove_hooks(app: &App, project: ProjectId) -> Result<()> {
    loop {
        let mut transaction = app.database.begin().await?;
        let gone = hook::delete_some_of_project(&mut transaction, project, BATCH).await?;
        commit(transaction).await?;
        if gone == 0 {
            return Ok(());
        }
    }
}

async fn remove_uploads(app: &App, project: ProjectId) -> Result<()> {
    // What is still on its way is left to the sweeper.
    upload::abandon(&mut *app.database.connection().await?, project).await?;
    loop {
        let some = upload::some_of(&mut *app.database.connection().await?, project, OBJECTS).await?;
        if some.is_empty() {
            return Ok(());
        }
        remove_objects(app, some).await?;
    }
}

/// The bytes first, then the rows that know of them.
pub(super) async fn remove_objects(app: &App, uploads: Vec<(i64, String)>) -> Result<()> {
    let mut gone = Vec::with_capacity(uploads.len());
    for (id, key) in uploads {
        app.objects.delete(&key).await?;
        gone.push(id);
    }
    upload::forget(&mut *app.database.connection().await?, &gone).await?;
    Ok(())
}

/// Gives what a deleted user wrote in the projects of others to the ghost account, in batches. What was assigned to the
/// user is nobody's afterwards.
pub async fn author(app: &App, id: JobId, author: UserId) -> Result<()> {
    let ghost = ghost::find_or_insert(&mut *app.database.connection().await?, app.clock.now()).await?;
    while issue::reassign_batch(&mut *app.database.connection().await?, author, ghost, BATCH).await? > 0 {}
    while issue::unassign_some(&mut *app.database.connection().await?, author, BATCH).await? > 0 {}
    while note::reassign_batch(&mut *app.database.connection().await?, author, ghost, BATCH).await? > 0 {}
    event::reassign_places(&mut *app.database.connection().await?, author, ghost).await?;
    loop {
        let mut transaction = app.database.begin().await?;
        let reassigned = event::reassign_batch(&mut transaction, author, ghost, BATCH).await?;
        job::advance(&mut transaction, id, reassigned as i64).await?;
        commit(transaction).await?;
        if reassigned == 0 {
            break;
        }
    }
    job::finish(&mut *app.database.connection().await?, id, app.clock.now()).await?;
    Ok(())
}
