//! The daily cleanup. Each part runs even if another part fails.

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_domain::activity::Action;
use holdfast_domain::ids::{PackId, ProjectId};
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::activity::partition::{self, PartitionedTable};
use holdfast_store::commit;
use holdfast_store::projects::upload;
use holdfast_store::repository::pack;
use holdfast_store::worker::removed_members::{self, ProjectMember};
use holdfast_store::worker::{job, maintenance};

use super::removal;
use crate::accounts::{bot, browser_session};
use crate::ci::retention;
use crate::hooks::token;
use crate::projects::project::load;
use crate::projects::upload as uploads;
use crate::{App, Error, Result, events};

#[crate::boxed]
pub async fn sweep(app: &App) -> Result<()> {
    let now = app.clock.now();
    let results = [
        create_partitions(app).await,
        delete_old_jobs(app, now).await,
        remove_unfinished_uploads(app, now).await,
        remove_expired_members(app).await,
        removal::remove_repositories(app).await,
        request_pruning(app, now).await,
        delete_unreferenced_packs(app, now).await,
        delete_old_deliveries(app, now).await,
        token::encrypt_clear_tokens(app).await,
        browser_session::delete_expired(app).await,
        bot::delete_unused(app).await,
        retention::delete_expired(app).await,
    ];
    results.into_iter().collect()
}

pub(super) async fn create_partitions(app: &App) -> Result<()> {
    Ok(partition::create_upcoming(&mut *app.database.connection().await?, app.today()).await?)
}

async fn delete_old_jobs(app: &App, now: DateTime<Utc>) -> Result<()> {
    while job::delete_finished_batch(&mut *app.database.connection().await?, now - TimeDelta::days(30), 1000).await? > 0
    {
    }
    Ok(())
}

async fn remove_unfinished_uploads(app: &App, now: DateTime<Utc>) -> Result<()> {
    loop {
        let mut connection = app.database.connection().await?;
        let batch = upload::next_unfinished_batch(&mut connection, now - TimeDelta::days(1), 100).await?;
        drop(connection);
        if batch.is_empty() {
            return Ok(());
        }
        uploads::remove(app, batch).await?;
    }
}

/// Deletes deliveries after their retention, and events one partition later, because a delivery is shown with its
/// event.
async fn delete_old_deliveries(app: &App, now: DateTime<Utc>) -> Result<()> {
    /// The time span of one partition of deliveries.
    const PARTITION: TimeDelta = TimeDelta::weeks(1);
    let before = now - app.settings.hooks.retention;
    let mut connection = app.database.connection().await?;
    partition::drop_older_than(&mut connection, PartitionedTable::Deliveries, before).await?;
    // Events are deleted before their bodies: without its body, an event would get a new one. A body without its event
    // is never read.
    partition::drop_older_than(&mut connection, PartitionedTable::Outbox, before - PARTITION).await?;
    Ok(partition::drop_older_than(&mut connection, PartitionedTable::EventBodies, before - PARTITION).await?)
}

/// Enqueues maintenance for each repository with old cruft packs. Each repository is a job of its own, which any node
/// can run.
async fn request_pruning(app: &App, now: DateTime<Utc>) -> Result<()> {
    let mut last = ProjectId::from(0);
    loop {
        let mut connection = app.database.connection().await?;
        let before = now - app.settings.maintenance.prune_after;
        let batch = pack::next_old_cruft_batch(&mut connection, before, last, 1000).await?;
        for project in &batch {
            maintenance::enqueue(&mut connection, *project).await?;
        }
        match batch.last() {
            Some(project) => last = *project,
            None => return Ok(()),
        }
    }
}

/// An upload of a pack that takes longer than this has failed.
const UPLOAD_TIMEOUT: TimeDelta = TimeDelta::days(1);

async fn delete_unreferenced_packs(app: &App, now: DateTime<Utc>) -> Result<()> {
    let mut connection = app.database.connection().await?;
    pack::mark_intents_unreferenced(&mut connection, now - UPLOAD_TIMEOUT, now).await?;
    drop(connection);
    loop {
        let batch = pack::next_unreferenced_batch(
            &mut *app.database.connection().await?,
            now - app.settings.maintenance.unreferenced_pack_retention,
            100,
        )
        .await?;
        if batch.is_empty() {
            return Ok(());
        }
        for key in batch.iter().filter_map(|pack| pack.object_key.as_deref()) {
            app.objects.delete(key).await?;
        }
        let ids: Vec<PackId> = batch.into_iter().map(|pack| pack.id).collect();
        pack::delete(&mut *app.database.connection().await?, &ids).await?;
    }
}

/// Deletes expired memberships and records an event for each. A membership grants nothing after its expiry date, even
/// before it is deleted.
async fn remove_expired_members(app: &App) -> Result<()> {
    loop {
        let now = app.clock.now();
        let mut transaction = app.database.begin().await?;
        let expired = removed_members::delete_expired(&mut transaction, app.today(), 100).await?;
        for ProjectMember { project_id, access_level, user, created_at } in &expired {
            match load(app, &mut transaction, *project_id, None).await {
                Ok(found) => {
                    let outbox_event = events::project::member_removed(&found, user, *access_level, *created_at, now);
                    let event = NewEvent::for_project(*project_id, user.id, Action::Expired);
                    event::record(&mut transaction, event, Some(&outbox_event), now).await?;
                }
                // The project has been deleted, and its events with it.
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
