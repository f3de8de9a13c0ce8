//! The use cases of runners: registration, heartbeats, traces and results of builds.
//!
//! A runner authenticates with its own token. Access to a claimed build needs the token that the runner received with
//! it.

use holdfast_domain::Violations;
use holdfast_domain::ci::{BuildEvent, FailureReason, Status};
use holdfast_domain::ids::{BuildId, RunnerId, UserId};
use holdfast_domain::violations::INVALID;
use holdfast_store::ci::build;
use holdfast_store::ci::runner::{self as store_runner, RegistrationScope};
use holdfast_store::ci::{pipeline, running_build};
use holdfast_store::{Connection, commit};

pub use holdfast_store::ci::build::ClaimedBuild;
pub use holdfast_store::ci::runner::{Runner, RunnerAttributes, RunnerInfo};

use super::pipeline_state::LockedPipeline;
use super::runner;
use super::trace::{self, TraceAppend};
use crate::accounts::secret::digest;
use crate::{App, Error, Result};

/// The reason why a runner may not update a build.
pub enum RunnerError {
    /// The credential does not belong to such a build.
    UnknownBuild,
    /// The build is not running any more; this is its status.
    NotRunning(Status),
    Other(Error),
}

impl From<Error> for RunnerError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<holdfast_store::Error> for RunnerError {
    fn from(error: holdfast_store::Error) -> Self {
        Self::Other(error.into())
    }
}

pub struct RegisteredRunner {
    pub id: RunnerId,
    pub token: String,
}

fn new_token(app: &App) -> String {
    // Runners use the first eight characters of the token as their short name.
    app.entropy.hex::<20>()
}

/// Registers a runner with the registration token of the instance or of a project.
#[crate::boxed]
pub async fn register(
    app: &App,
    secret: &str,
    attributes: RunnerAttributes,
    info: &RunnerInfo,
) -> Result<RegisteredRunner> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let scope = store_runner::find_registration_scope(&mut transaction, secret).await?.ok_or(Error::Forbidden(None))?;
    runner::check_attributes(&attributes)?;
    let mut violations = Violations::default();
    for text in [&info.name, &info.version, &info.revision, &info.platform, &info.architecture].into_iter().flatten() {
        if text.len() > 255 || text.contains('\0') {
            violations.add("info", INVALID);
        }
    }
    violations.into_result()?;
    let token = new_token(app);
    let id = store_runner::insert(&mut transaction, &scope, &digest(&token), &attributes, info, now).await?;
    commit(transaction).await?;
    let project = match scope {
        RegistrationScope::Instance => None,
        RegistrationScope::Project(id) => Some(id.get()),
    };
    tracing::info!(runner = %id, project, "runner registered");
    Ok(RegisteredRunner { id, token })
}

#[crate::boxed]
pub async fn verify(app: &App, token: &str) -> Result<Runner> {
    let found = store_runner::find_by_token(&mut *app.database.connection().await?, &digest(token)).await?;
    found.ok_or(Error::Forbidden(None))
}

#[crate::boxed]
pub async fn unregister(app: &App, token: &str) -> Result<()> {
    let id = verify(app, token).await?.id;
    Ok(store_runner::delete(&mut *app.database.connection().await?, id).await?)
}

/// Replaces the token of a runner. The old token becomes invalid.
#[crate::boxed]
pub async fn reset_token(app: &App, token: &str) -> Result<RegisteredRunner> {
    let id = verify(app, token).await?.id;
    let token = new_token(app);
    store_runner::set_token(&mut *app.database.connection().await?, id, &digest(&token)).await?;
    Ok(RegisteredRunner { id, token })
}

/// The credential of a runner for a build that it has claimed.
#[derive(Clone, Copy)]
pub enum BuildCredential<'a> {
    /// The token that the runner received with the build.
    JobToken(&'a str),
    /// The runner's own token, as in the older protocol.
    RunnerToken(&'a str),
}

/// Returns a build if it is running and the credential matches.
pub(super) async fn authorize_build(
    connection: &mut Connection,
    id: BuildId,
    credential: BuildCredential<'_>,
) -> std::result::Result<ClaimedBuild, RunnerError> {
    let found = match credential {
        BuildCredential::JobToken(token) => {
            build::find_by_token(connection, id, &digest(token)).await?.ok_or(RunnerError::UnknownBuild)?
        }
        BuildCredential::RunnerToken(token) => {
            let runner =
                store_runner::find_by_token(connection, &digest(token)).await?.ok_or(RunnerError::UnknownBuild)?;
            build::find_by_runner(connection, id, runner.id).await?.ok_or(RunnerError::NotRunning(Status::Canceled))?
        }
    };
    match found.status {
        Status::Running if !found.is_erased => Ok(found),
        status => Err(RunnerError::NotRunning(status)),
    }
}

/// Returns a build if it is running and the credential matches. Called before the body of a request is read.
#[crate::boxed]
pub async fn verify_build<'a>(
    app: &'a App,
    id: BuildId,
    credential: BuildCredential<'a>,
) -> std::result::Result<ClaimedBuild, RunnerError> {
    authorize_build(&mut *app.database.connection().await?, id, credential).await
}

/// Returns the user that uploads of a build are counted for: the user of its pipeline, or `None` if that user is gone.
#[crate::boxed]
pub async fn find_pipeline_user(app: &App, build: &ClaimedBuild) -> Result<Option<UserId>> {
    let found = pipeline::find(&mut *app.database.connection().await?, build.project, build.pipeline).await?;
    Ok(found.and_then(|pipeline| pipeline.user_id))
}

/// The result of appending a chunk to a trace.
pub enum AppendResult {
    /// The chunk was appended; this is the new length.
    Accepted(i64),
    /// The chunk does not begin at the end of the trace; this is the current length.
    RangeMismatch(i64),
}

/// Appends a chunk to the trace of a running build. Fails the build if the trace becomes too long.
#[crate::boxed]
pub async fn append_trace(
    app: &App,
    id: BuildId,
    token: &str,
    start: i64,
    content: &[u8],
) -> std::result::Result<AppendResult, RunnerError> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    authorize_build(&mut transaction, id, BuildCredential::JobToken(token)).await?;
    // Lock the trace before the running build, in the same order as `finish_build`.
    let appended = trace::append(app, &mut transaction, id, start, content).await?;
    running_build::heartbeat(&mut transaction, id, now).await?;
    match appended {
        TraceAppend::Accepted(length) => {
            commit(transaction).await?;
            trace::archive_if_large(app, id, length).await;
            Ok(AppendResult::Accepted(length.bytes))
        }
        TraceAppend::OffsetMismatch(length) => {
            commit(transaction).await?;
            Ok(AppendResult::RangeMismatch(length))
        }
        TraceAppend::TooLong => {
            drop(transaction);
            finish_build(
                app,
                id,
                BuildCredential::JobToken(token),
                BuildOutcome::Failed(FailureReason::TraceTooLong),
                None,
            )
            .await?;
            Err(RunnerError::NotRunning(Status::Failed))
        }
    }
}

pub enum BuildOutcome {
    Success,
    Failed(FailureReason),
}

/// Records a heartbeat of a running build. The runner may send the whole trace so far with it.
#[crate::boxed]
pub async fn heartbeat<'a>(
    app: &'a App,
    id: BuildId,
    credential: BuildCredential<'a>,
    full_trace: Option<&'a [u8]>,
) -> std::result::Result<(), RunnerError> {
    let mut transaction = app.database.begin().await?;
    authorize_build(&mut transaction, id, credential).await?;
    if let Some(full_trace) = full_trace {
        trace::replace(app, &mut transaction, id, full_trace).await?;
    }
    running_build::heartbeat(&mut transaction, id, app.clock.now()).await?;
    Ok(commit(transaction).await?)
}

/// Finishes a running build with the outcome that its runner reports.
#[crate::boxed]
pub async fn finish_build<'a>(
    app: &'a App,
    id: BuildId,
    credential: BuildCredential<'a>,
    outcome: BuildOutcome,
    full_trace: Option<&'a [u8]>,
) -> std::result::Result<(), RunnerError> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let pipeline = authorize_build(&mut transaction, id, credential).await?.pipeline;
    let mut locked = LockedPipeline::lock(&mut transaction, pipeline).await?;
    // The build may have been canceled while this waited for the row lock of the pipeline.
    authorize_build(&mut transaction, id, credential).await?;
    match outcome {
        BuildOutcome::Success => locked.apply_event(id, BuildEvent::Succeed, now),
        BuildOutcome::Failed(reason) => locked.fail(id, reason, now),
    };
    if let Some(full_trace) = full_trace {
        trace::replace(app, &mut transaction, id, full_trace).await?;
    }
    locked.save(app, &mut transaction, now).await?;
    commit(transaction).await?;
    // If archiving fails, the sweep does it later.
    if let Err(error) = trace::archive_chunks(app, id).await {
        tracing::warn!(%error, build = %id, "archiving trace failed, retrying later");
    }
    if let Err(error) = trace::record_coverage(app, id).await {
        tracing::warn!(%error, build = %id, "extracting coverage failed");
    }
    Ok(())
}
