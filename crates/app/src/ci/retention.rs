//! Deletes traces and artifacts that have expired or lost their build. Called by background jobs.

use chrono::TimeDelta;
use holdfast_store::ci::{artifact, build_object, trace};

use super::trace::archive_chunks;
use super::trigger;
use crate::{App, Result};

const BATCH_SIZE: i64 = 100;

/// Deletes expired artifacts and unreferenced objects, archives traces that are still buffered, and converts trigger
/// tokens that are stored in clear. Part of the daily cleanup.
#[crate::boxed]
pub async fn delete_expired(app: &App) -> Result<()> {
    let now = app.clock.now();
    while artifact::delete_expired_batch(&mut *app.database.connection().await?, now, BATCH_SIZE).await? > 0 {}
    let mut after = 0;
    loop {
        let batch = trace::next_buffered_batch(&mut *app.database.connection().await?, after, BATCH_SIZE).await?;
        let Some(last) = batch.last() else { break };
        after = last.get();
        for build in batch {
            archive_chunks(app, build).await?;
        }
    }
    trigger::convert_clear_tokens(app).await?;
    delete_unreferenced_objects(app).await
}

/// An upload that takes longer than this has failed.
const UPLOAD_TIMEOUT: TimeDelta = TimeDelta::days(1);

/// Deletes objects of builds that no row references any more.
pub(crate) async fn delete_unreferenced_objects(app: &App) -> Result<()> {
    loop {
        let before = app.clock.now() - UPLOAD_TIMEOUT;
        let batch =
            build_object::next_unreferenced_batch(&mut *app.database.connection().await?, before, BATCH_SIZE).await?;
        if batch.is_empty() {
            return Ok(());
        }
        for key in &batch {
            app.objects.delete(key).await?;
        }
        build_object::delete(&mut *app.database.connection().await?, &batch).await?;
    }
}
