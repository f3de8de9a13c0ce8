//! What nobody asks for and must be done: builds whose runner is lost, builds that nobody takes, files whose time is over.

use std::time::Duration;

use chrono::TimeDelta;
use holdfast_domain::ci::Status;
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId};
use holdfast_store::ci::{artifact, build, object, pipeline, queue, run, runner, trace};
use holdfast_store::commit;

use super::course::Course;
use super::trace::seal;
use super::trigger;
use crate::{App, Error, Result};

/// A build that no runner takes for so long is given up.
const PENDING: TimeDelta = TimeDelta::days(1);
const SOME: i64 = 100;

/// Once a minute. What fails is tried again the next time, and the others are tended all the same.
pub async fn tend(app: &App) -> Result<()> {
    let mut failed = None;
    let mut after = 0;
    loop {
        let now = app.clock.now();
        let silent = now - app.settings.ci.silent_after;
        let mut connection = app.database.connection().await?;
        let lost = run::some_lost(&mut connection, silent, now, after, SOME).await?;
        let stuck = queue::some_older(&mut connection, now - PENDING, after, SOME).await?;
        drop(connection);
        let all = [(lost, Lost::Silent), (stuck, Lost::Waiting)];
        let all: Vec<_> = all.into_iter().flat_map(|(some, how)| some.into_iter().map(move |it| (it, how))).collect();
        // Those with more than this many before them are looked at again in the next round.
        let Some(last) = all.iter().map(|((_, build), _)| build.get()).max() else { break };
        for ((pipeline, build), how) in all {
            if let Err(error) = fail(app, pipeline, build, how).await {
                failed = Some(error);
            }
        }
        after = last;
    }
    failed.map_or(Ok(()), Err)
}

/// How a build was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Its runner was not heard of, or has it for too long.
    Silent,
    /// No runner took it.
    Waiting,
}

async fn fail(app: &App, pipeline: PipelineId, build: BuildId, how: Lost) -> Result<()> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let mut course = match Course::open(&mut transaction, pipeline).await {
        Ok(course) => course,
        Err(Error::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    // It may have been heard of, or taken, while this waited for the pipeline.
    let status = course.find(build).map(|it| it.step.status);
    let (is_lost, reason) = match how {
        Lost::Silent => {
            let silent = now - app.settings.ci.silent_after;
            (run::is_lost(&mut transaction, build, silent, now).await?, "runner_system_failure")
        }
        Lost::Waiting => (status == Some(Status::Pending), "stuck_or_timeout_failure"),
    };
    if is_lost && course.fail(build, reason, now) {
        tracing::warn!(%build, reason, "a build is given up");
        course.close(app, &mut transaction, now).await?;
        commit(transaction).await?;
    }
    Ok(())
}

/// Once a day.
pub async fn sweep(app: &App) -> Result<()> {
    let now = app.clock.now();
    while artifact::delete_some_expired(&mut *app.database.connection().await?, now, SOME).await? > 0 {}
    let mut after = 0;
    loop {
        let some = trace::some_unsealed(&mut *app.database.connection().await?, after, SOME).await?;
        let Some(last) = some.last() else { break };
        after = last.get();
        for build in some {
            seal(app, build).await?;
        }
    }
    trigger::convert_clear_tokens(app).await?;
    remove_unwanted(app).await
}

/// An upload that takes longer has failed.
const LONGEST_UPLOAD: TimeDelta = TimeDelta::days(1);

async fn remove_unwanted(app: &App) -> Result<()> {
    loop {
        let before = app.clock.now() - LONGEST_UPLOAD;
        let some = object::some_unwanted(&mut *app.database.connection().await?, before, SOME).await?;
        if some.is_empty() {
            return Ok(());
        }
        for key in &some {
            app.objects.delete(key).await?;
        }
        object::forget(&mut *app.database.connection().await?, &some).await?;
    }
}

/// All of a project that is deleted.
pub(crate) async fn remove_project(app: &App, project: ProjectId) -> Result<()> {
    while build::delete_some_of_project(&mut *app.database.connection().await?, project, SOME).await? > 0 {}
    while pipeline::delete_some_of_project(&mut *app.database.connection().await?, project, 1000).await? > 0 {}
    runner::delete_of_project(&mut *app.database.connection().await?, project).await?;
    queue::forget_project(&mut *app.database.connection().await?, project).await?;
    remove_unwanted(app).await
}

/// How the instance does, for operators.
#[derive(Clone, Copy, Debug)]
pub struct Overview {
    pub waiting: i64,
    pub oldest_waiting: Duration,
}

pub async fn overview(app: &App) -> Result<Overview> {
    let (waiting, oldest) = queue::overview(&mut *app.database.connection().await?).await?;
    let oldest_waiting = oldest.and_then(|since| (app.clock.now() - since).to_std().ok()).unwrap_or_default();
    Ok(Overview { waiting, oldest_waiting })
}
