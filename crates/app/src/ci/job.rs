//! Assigns builds to runners that request a job, which is the word of the runner protocol for a build. Background jobs
//! are in `worker`.

use std::collections::HashSet;
use std::time::Duration;

use chrono::TimeDelta;
use holdfast_domain::ci::FailureReason;
use holdfast_domain::ids::BuildId;
use holdfast_domain::site::ProjectLinks;
use holdfast_store::ci::job;
use holdfast_store::ci::queue;
use holdfast_store::ci::runner::{self, Runner, RunnerInfo};
use holdfast_store::{Connection, commit};
use tokio::time::Instant;

pub use holdfast_store::ci::job::{Dependency, JobDetails};

pub use super::predefined::JobVariable;

use super::pipeline_state::{self, LockedPipeline};
use super::{long_poll, predefined, trace, variable};
use crate::accounts::secret::digest;
use crate::{App, Error, Result};

/// Maximum lag of `contacted_at`, so that not every request writes it.
const CONTACT_PRECISION: TimeDelta = TimeDelta::minutes(1);

/// A claimed build, with everything that the runner needs to execute it.
pub struct Job {
    pub details: JobDetails,
    pub token: String,
    pub repository_url: String,
    pub timeout_seconds: i64,
    pub variables: Vec<JobVariable>,
    pub dependencies: Vec<Dependency>,
}

pub enum JobResponse {
    Job(Box<Job>),
    /// There is no build. If the next request repeats `last_update`, it waits for one.
    NoJob {
        last_update: String,
    },
    /// The runner is paused and gets no builds.
    Paused {
        last_update: String,
    },
}

/// Claims a build for a runner. A request with `last_update` waits for one, up to the timeout of long polls.
#[crate::boxed]
pub async fn request(app: &App, token: &str, info: &RunnerInfo, last_update: Option<&str>) -> Result<JobResponse> {
    let deadline = Instant::now() + last_update.map_or(Duration::ZERO, |_| app.settings.ci.long_poll_timeout);
    loop {
        let now = app.clock.now();
        let mut connection = app.database.connection().await?;
        let found = runner::find_by_token(&mut connection, &digest(token)).await?.ok_or(Error::Forbidden(None))?;
        if found.contacted_at.is_none_or(|at| at < now - CONTACT_PRECISION) {
            runner::record_contact(&mut connection, found.id, info, now).await?;
        }
        drop(connection);
        let last_update = now.timestamp_millis().to_string();
        if !found.active {
            return Ok(JobResponse::Paused { last_update });
        }
        if let Some(job) = claim_next(app, &found).await? {
            return Ok(JobResponse::Job(Box::new(job)));
        }
        if Instant::now() >= deadline || app.shutdown.is_cancelled() {
            return Ok(JobResponse::NoJob { last_update });
        }
        let projects = match found.shared {
            true => HashSet::new(),
            false => {
                let own = runner::list_project_ids(&mut *app.database.connection().await?, found.id, i64::MAX).await?;
                own.into_iter().collect()
            }
        };
        let waiter = app.runner_polls.register(&found, projects);
        // Builds that were queued before the registration do not wake up this request.
        if let Some(job) = claim_next(app, &found).await? {
            return Ok(JobResponse::Job(Box::new(job)));
        }
        long_poll::wait(app, &waiter, deadline).await?;
    }
}

async fn claim_next(app: &App, runner: &Runner) -> Result<Option<Job>> {
    loop {
        let now = app.clock.now();
        let mut transaction = app.database.begin().await?;
        let Some(queued) = queue::lock_next(&mut transaction, runner).await? else { return Ok(None) };
        let token = format!("hfj_{}", app.entropy.hex::<20>());
        let claim = pipeline_state::claim_build(app, &mut transaction, &queued, runner, &digest(&token), now).await?;
        let loaded = match claim.is_claimed {
            true => load_job(app, &mut transaction, queued.build, runner, token).await,
            // The build was canceled meanwhile, or its project no longer allows this runner to claim it.
            false => Ok(None),
        };
        let job = match loaded {
            Ok(job) => job,
            // Fail the build: if it stayed in the queue, runners would try to claim it again and again.
            Err(Error::Internal(cause)) => {
                tracing::error!(%cause, build = %queued.build, "building the job response failed");
                let mut locked = LockedPipeline::lock(&mut transaction, queued.pipeline).await?;
                locked.fail(queued.build, FailureReason::RunnerSystemFailure, now);
                let text =
                    b"ERROR: The server could not decrypt this project's variables. Ask an administrator to check the server log.\n";
                trace::append(app, &mut transaction, queued.build, 0, text).await?;
                locked.save(app, &mut transaction, now).await?;
                None
            }
            Err(error) => return Err(error),
        };
        commit(transaction).await?;
        if let Some(job) = job {
            metrics::counter!("holdfast_builds_claimed_total").increment(1);
            return Ok(Some(job));
        }
    }
}

async fn load_job(
    app: &App,
    connection: &mut Connection,
    build: BuildId,
    runner: &Runner,
    token: String,
) -> Result<Option<Job>> {
    let details = job::load(connection, build).await?;
    let mut dependencies = match details.stage_index {
        0 => Vec::new(),
        stage => job::list_dependencies(connection, details.pipeline_id, stage, app.clock.now()).await?,
    };
    if let Some(names) = &details.options.dependencies {
        dependencies.retain(|it| names.contains(&it.name));
    }
    let path = format!("{}/{}", details.namespace_path, details.project_path);
    let address = app.settings.site.url(&ProjectLinks::new(&path).git());
    let repository_url = address.replacen("://", &format!("://gitlab-ci-token:{token}@"), 1);
    let default_timeout = app.settings.ci.build_timeout.num_seconds();
    let timeout_seconds = runner.max_run_seconds.map_or(default_timeout, |seconds| default_timeout.min(seconds.into()));
    let secrets = variable::decrypt_all(app, &details)?;
    let variables =
        predefined::variables_for_build(&app.settings.site, &details, runner, &token, &repository_url, secrets);
    Ok(Some(Job { details, token, repository_url, timeout_seconds, variables, dependencies }))
}
