//! Handing builds to runners.

use std::collections::HashSet;
use std::time::Duration;

use chrono::TimeDelta;
use holdfast_domain::ids::BuildId;
use holdfast_store::ci::job;
use holdfast_store::ci::queue;
use holdfast_store::ci::runner::{self, Info, Runner};
use holdfast_store::{Connection, commit};
use tokio::time::Instant;

pub use holdfast_store::ci::job::{Dependency, Job as Facts};

pub use super::predefined::Variable;

use super::course::{self, Course};
use super::{predefined, trace, variable, waiting};
use crate::accounts::secret::digest;
use crate::{App, Error, Result};

/// How far `contacted_at` may lag.
const CONTACT_LAG: TimeDelta = TimeDelta::minutes(1);

/// All that a runner is told.
pub struct Job {
    pub facts: Facts,
    pub token: String,
    pub repository_url: String,
    pub timeout_seconds: i64,
    pub variables: Vec<Variable>,
    pub dependencies: Vec<Dependency>,
}

pub enum Requested {
    Job(Box<Job>),
    /// To be repeated by the next request, which then may wait.
    Nothing {
        last_update: String,
    },
    /// Somebody wants this runner to take none.
    Paused {
        last_update: String,
    },
}

/// A build for this runner. Who says when it asked last, waits for one.
pub async fn request(app: &App, token: &str, info: &Info, last_update: Option<&str>) -> Result<Requested> {
    let until = Instant::now() + last_update.map_or(Duration::ZERO, |_| app.settings.ci.longest_wait);
    loop {
        let now = app.clock.now();
        let mut connection = app.database.connection().await?;
        let found = runner::find_by_token(&mut connection, &digest(token)).await?.ok_or(Error::Forbidden(None))?;
        if found.contacted_at.is_none_or(|at| at < now - CONTACT_LAG) {
            runner::hear(&mut connection, found.id, info, now).await?;
        }
        drop(connection);
        let last_update = now.timestamp_millis().to_string();
        if !found.active {
            return Ok(Requested::Paused { last_update });
        }
        if let Some(job) = take(app, &found).await? {
            return Ok(Requested::Job(Box::new(job)));
        }
        if Instant::now() >= until {
            return Ok(Requested::Nothing { last_update });
        }
        let projects = match found.shared {
            true => HashSet::new(),
            false => {
                let own = runner::projects(&mut *app.database.connection().await?, found.id, i64::MAX).await?;
                own.into_iter().collect()
            }
        };
        let seat = app.waiting.sit(&found, projects);
        // What came before it sat down calls nobody.
        if let Some(job) = take(app, &found).await? {
            return Ok(Requested::Job(Box::new(job)));
        }
        waiting::wait(app, &seat, until).await?;
    }
}

async fn take(app: &App, runner: &Runner) -> Result<Option<Job>> {
    loop {
        let now = app.clock.now();
        let mut transaction = app.database.begin().await?;
        let Some(waiting) = queue::pick(&mut transaction, runner).await? else { return Ok(None) };
        let token = format!("hfj_{}", app.entropy.hex::<20>());
        let taken = course::take(app, &mut transaction, &waiting, runner, &digest(&token), now).await?;
        let told = match taken.taken {
            true => tell(app, &mut transaction, waiting.build, runner, token).await,
            // Somebody canceled it meanwhile, or the project builds nothing any more.
            false => Ok(None),
        };
        let job = match told {
            Ok(job) => job,
            // One that cannot be told would be in everybody's way for ever.
            Err(Error::Internal(cause)) => {
                tracing::error!(%cause, build = %waiting.build, "a build cannot be handed out");
                let mut course = Course::open(&mut transaction, waiting.pipeline).await?;
                course.fail(waiting.build, "runner_system_failure", now);
                let text =
                    b"ERROR: The server cannot read the secrets of this build; its operators find more in their log.\n";
                trace::append(app, &mut transaction, waiting.build, 0, text).await?;
                course.close(app, &mut transaction, now).await?;
                None
            }
            Err(error) => return Err(error),
        };
        commit(transaction).await?;
        if let Some(job) = job {
            metrics::counter!("holdfast_builds_taken_total").increment(1);
            return Ok(Some(job));
        }
    }
}

async fn tell(
    app: &App,
    connection: &mut Connection,
    build: BuildId,
    runner: &Runner,
    token: String,
) -> Result<Option<Job>> {
    let facts = job::load(connection, build).await?;
    let mut dependencies = match facts.stage_index {
        0 => Vec::new(),
        stage => job::dependencies(connection, facts.pipeline_id, stage, app.clock.now()).await?,
    };
    if let Some(names) = &facts.options.dependencies {
        dependencies.retain(|it| names.contains(&it.name));
    }
    let path = format!("{}/{}", facts.namespace_path, facts.project_path);
    let address = app.settings.site.url(&format!("/{path}.git"));
    let repository_url = address.replacen("://", &format!("://gitlab-ci-token:{token}@"), 1);
    let own = app.settings.ci.build_timeout.num_seconds();
    let timeout_seconds = runner.longest_run.map_or(own, |longest| own.min(longest.into()));
    let secrets = variable::open_all(app, &facts)?;
    let variables = predefined::all(&app.settings.site, &facts, runner, &token, &repository_url, secrets);
    Ok(Some(Job { facts, token, repository_url, timeout_seconds, variables, dependencies }))
}
