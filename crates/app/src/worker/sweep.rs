//! What is done once a day. Each part is done whether or not another fails.

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_domain::activity::Action;
use holdfast_domain::ids::{PackId, ProjectId};
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::activity::partition::{self, Log};
use holdfast_store::commit;
use holdfast_store::projects::{expiry, upload};
use holdfast_store::repository::pack;
use holdfast_store::worker::{job, maintenance};

use super::removal::{self, remove_objects};
use crate::ci::tending;
use crate::hooks::token;
use crate::projects::notice;
use crate::projects::project::load;
use crate::{App, Error, Result};

pub async fn sweep(app: &App) -> Result<()> {
    let now = app.clock.now();
    let parts = [
        make_partitions(app).await,
        forget_jobs(app, now).await,
        remove_unfinished_uploads(app, now).await,
        remove_expired_members(app).await,
        removal::remove_repositories(app).await,
        request_pruning(app, now).await,
        remove_packs(app, now).await,
        forget_deliveries(app, now).await,
        token::seal_clear(app).await,
        tending::sweep(app).await,
    ];
    parts.into_iter().collect()
}

pub(super) async fn make_partitions(app: &App) -> Result<()> {
    Ok(partition::make(&mut *app.database.connection().await?, app.today()).await?)
}

async fn forget_jobs(app: &App, now: DateTime<Utc>) -> Result<()> {
    while job::forget(&mut *app.database.connection().await?, now - TimeDelta::days(30), 1000).await? > 0 {}
    Ok(())
}

async fn remove_unfinished_uploads(app: &App, now: DateTime<Utc>) -> Result<()> {
    loop {
        let mut connection = app.database.connection().await?;
        let some = upload::some_unfinished(&mut connection, now - TimeDelta::days(1), 100).await?;
        drop(connection);
        if some.is_empty() {
            return Ok(());
        }
        remove_objects(app, some).await?;
    }
}

/// What was delivered goes first: what it told of is shown with it.
async fn forget_deliveries(app: &App, now: DateTime<Utc>) -> Result<()> {
    /// What one partition of deliveries holds.
    const PARTITION: TimeDelta = TimeDelta::weeks(1);
    let before = now - app.settings.hooks.kept;
    let mut connection = app.database.connection().await?;
    partition::forget(&mut connection, Log::Deliveries, before).await?;
    // An event without its body would be given another one; a body without its event is never looked up.
    partition::forget(&mut connection, Log::Outbox, before - PARTITION).await?;
    Ok(partition::forget(&mut connection, Log::EventBodies, before - PARTITION).await?)
}

/// Each repository is a job of its own, for any node.
async fn request_pruning(app: &App, now: DateTime<Utc>) -> Result<()> {
    let mut last = ProjectId::from(0);
    loop {
        let mut connection = app.database.connection().await?;
        let before = now - app.settings.maintenance.prune_after;
        let some = pack::some_with_old_cruft(&mut connection, before, last, 1000).await?;
        for project in &some {
            maintenance::enqueue(&mut connection, *project).await?;
        }
        match some.last() {
            Some(project) => last = *project,
            None => return Ok(()),
        }
    }
}

/// An upload that takes longer than this has failed.
const LONGEST_UPLOAD: TimeDelta = TimeDelta::days(1);

async fn remove_packs(app: &App, now: DateTime<Utc>) -> Result<()> {
    let mut connection = app.database.connection().await?;
    pack::condemn_intents(&mut connection, now - LONGEST_UPLOAD, now).await?;
    drop(connection);
    loop {
        let some = pack::some_condemned(
            &mut *app.database.connection().await?,
            now - app.settings.maintenance.backup_window,
            100,
        )
        .await?;
        if some.is_empty() {
            return Ok(());
        }
        for key in some.iter().filter_map(|(_, key)| key.as_deref()) {
            app.objects.delete(key).await?;
        }
        let ids: Vec<PackId> = some.into_iter().map(|(id, _)| id).collect();
        pack::forget(&mut *app.database.connection().await?, &ids).await?;
    }
}

/// A membership that has run out counts for nothing already; here it leaves the table, and the feed tells of it.
async fn remove_expired_members(app: &App) -> Result<()> {
    loop {
        let now = app.clock.now();
        let mut transaction = app.database.begin().await?;
        let expired = expiry::take_expired_members(&mut transaction, app.today(), 100).await?;
        for (project, user, level) in &expired {
            match load(app, &mut transaction, *project, None).await {
                Ok(found) => {
                    let left = notice::left(&found, user, *level, now);
                    let event = NewEvent::of_project(*project, user.id, Action::Expired);
                    event::record(&mut transaction, event, Some(&left), now).await?;
                }
                // It is deleted, and so is its feed.
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        commit(transaction).await?;
        if expired.is_empty() {
            return Ok(());
        }
    }
}
