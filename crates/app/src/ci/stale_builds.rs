//! Fails stale builds, and deletes expired and orphaned data of builds. Called by background jobs.

use std::time::Duration;

use chrono::TimeDelta;
use holdfast_domain::ci::Status;
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId};
use holdfast_store::ci::{artifact, build, build_object, pipeline, queue, runner, running_build, trace};
use holdfast_store::commit;

use super::pipeline_state::LockedPipeline;
use super::trace::archive_chunks;
use super::trigger;
use crate::{App, Error, Result};

/// A build that no runner claims within this time fails.
const PENDING_TIMEOUT: TimeDelta = TimeDelta::days(1);
const BATCH_SIZE: i64 = 100;

/// Fails stale builds, once a minute. An error does not affect the other builds; the next run tries again.
pub async fn run(app: &App) -> Result<()> {
    let mut last_error = None;
    let mut after = 0;
    loop {
        let now = app.clock.now();
        let silent_since = now - app.settings.ci.runner_heartbeat_timeout;
        let mut connection = app.database.connection().await?;
        let stale = running_build::next_stale_batch(&mut connection, silent_since, now, after, BATCH_SIZE).await?;
        let stuck = queue::next_stale_batch(&mut connection, now - PENDING_TIMEOUT, after, BATCH_SIZE).await?;
        drop(connection);
        let candidates = [(stale, StaleReason::RunnerSilent), (stuck, StaleReason::NeverClaimed)];
        let candidates: Vec<_> = candidates
            .into_iter()
            .flat_map(|(builds, reason)| builds.into_iter().map(move |it| (it, reason)))
            .collect();
        // If one of the batches was full, builds with ids below `last` may be skipped. The next run finds them.
        let Some(last) = candidates.iter().map(|((_, build), _)| build.get()).max() else { break };
        for ((pipeline, build), reason) in candidates {
            if let Err(error) = fail_build(app, pipeline, build, reason).await {
                last_error = Some(error);
            }
        }
        after = last;
    }
    last_error.map_or(Ok(()), Err)
}

/// The reason why a build is stale.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StaleReason {
    /// There was no heartbeat of its runner, or it has run for too long.
    RunnerSilent,
    /// No runner claimed it in time.
    NeverClaimed,
}

async fn fail_build(app: &App, pipeline: PipelineId, build: BuildId, stale_reason: StaleReason) -> Result<()> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let mut locked = match LockedPipeline::lock(&mut transaction, pipeline).await {
        Ok(course) => course,
        Err(Error::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    // A heartbeat or a claim may have arrived while this waited for the row lock of the pipeline.
    let status = locked.find(build).map(|it| it.step.status);
    let (is_stale, reason) = match stale_reason {
        StaleReason::RunnerSilent => {
            let silent_since = now - app.settings.ci.runner_heartbeat_timeout;
            (running_build::is_stale(&mut transaction, build, silent_since, now).await?, "runner_system_failure")
        }
        StaleReason::NeverClaimed => (status == Some(Status::Pending), "stuck_or_timeout_failure"),
    };
    if is_stale && locked.fail(build, reason, now) {
        tracing::warn!(%build, reason, "stale build failed");
        locked.save(app, &mut transaction, now).await?;
        commit(transaction).await?;
    }
    Ok(())
}

/// Deletes expired artifacts and unreferenced objects, archives traces that are still buffered, and converts trigger
/// tokens that are stored in clear. Part of the daily cleanup.
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

async fn delete_unreferenced_objects(app: &App) -> Result<()> {
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

/// Deletes all CI data of a deleted project.
pub(crate) async fn delete_project_builds(app: &App, project: ProjectId) -> Result<()> {
    while build::delete_project_batch(&mut *app.database.connection().await?, project, BATCH_SIZE).await? > 0 {}
    while pipeline::delete_project_batch(&mut *app.database.connection().await?, project, 1000).await? > 0 {}
    runner::delete_for_project(&mut *app.database.connection().await?, project).await?;
    queue::delete_project_turns(&mut *app.database.connection().await?, project).await?;
    delete_unreferenced_objects(app).await
}

/// Statistics of the build queue, for operators.
#[derive(Clone, Copy, Debug)]
pub struct BuildQueueStats {
    pub pending: i64,
    pub oldest_pending: Duration,
}

pub async fn queue_stats(app: &App) -> Result<BuildQueueStats> {
    let (pending, oldest) = queue::overview(&mut *app.database.connection().await?).await?;
    let oldest_pending = oldest.and_then(|since| (app.clock.now() - since).to_std().ok()).unwrap_or_default();
    Ok(BuildQueueStats { pending, oldest_pending })
}
