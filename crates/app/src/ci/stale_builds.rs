//! Fails stale builds. Called by the task `tend_builds` of `worker`, once a minute.

use chrono::TimeDelta;
use holdfast_domain::ci::{FailureReason, Status};
use holdfast_domain::ids::{BuildId, PipelineId};
use holdfast_store::ci::{queue, running_build};
use holdfast_store::commit;

use super::pipeline_state::LockedPipeline;
use crate::{App, Error, Result};

/// A build that no runner claims within this time fails.
pub(super) const PENDING_TIMEOUT: TimeDelta = TimeDelta::days(1);
const BATCH_SIZE: i64 = 100;

/// Fails all builds that are stale now. An error does not affect the other builds; the next run tries again.
#[crate::boxed]
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
        let candidates = [(stale, StaleReason::SilentOrTimedOut), (stuck, StaleReason::NeverClaimed)];
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
    /// Its runner sent no heartbeat in time, or it has run for longer than its timeout.
    SilentOrTimedOut,
    /// No runner claimed it in time.
    NeverClaimed,
}

async fn fail_build(app: &App, pipeline: PipelineId, build: BuildId, stale_reason: StaleReason) -> Result<()> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let mut locked = match LockedPipeline::lock(&mut transaction, pipeline).await {
        Ok(locked) => locked,
        Err(Error::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    // A heartbeat or a claim may have arrived while this waited for the row lock of the pipeline.
    let status = locked.find(build).map(|it| it.step.status);
    let (is_stale, reason) = match stale_reason {
        StaleReason::SilentOrTimedOut => {
            let silent_since = now - app.settings.ci.runner_heartbeat_timeout;
            (
                running_build::is_stale(&mut transaction, build, silent_since, now).await?,
                FailureReason::RunnerSystemFailure,
            )
        }
        StaleReason::NeverClaimed => (status == Some(Status::Pending), FailureReason::StuckOrTimeoutFailure),
    };
    if is_stale && locked.fail(build, reason, now) {
        tracing::warn!(%build, reason = reason.as_str(), "stale build failed");
        locked.save(app, &mut transaction, now).await?;
        commit(transaction).await?;
    }
    Ok(())
}
