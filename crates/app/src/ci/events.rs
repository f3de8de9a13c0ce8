//! Outbox events about builds and pipelines. A payload contains the state at the time of the event.

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::EventKind;
use holdfast_domain::ids::BuildId;
use holdfast_store::Connection;
use holdfast_store::activity::event::{self, OutboxEvent};
use holdfast_store::ci::build_list::{self, Build};
use holdfast_store::ci::pipeline::{self, Pipeline};
use holdfast_store::ci::queue::QueuedBuild;
use holdfast_store::hooks::hook;
use serde_json::{Value, json};

use crate::events::{format_time, project_json, user_json};
use crate::projects::project::load;
use crate::{App, Error, Result};

/// Publishes events for these builds and, if its status has changed, for the pipeline. Writes nothing if no hook
/// subscribes to them, because builds cause many events.
pub(super) async fn publish_changes(
    app: &App,
    connection: &mut Connection,
    pipeline: &Pipeline,
    has_status_changed: bool,
    builds: &[BuildId],
    now: DateTime<Utc>,
) -> Result<()> {
    let (has_build_hooks, has_pipeline_hooks) = hook::ci_subscriptions(connection, pipeline.project_id).await?;
    let (has_build_hooks, has_pipeline_hooks) =
        (has_build_hooks && !builds.is_empty(), has_pipeline_hooks && has_status_changed);
    if !has_build_hooks && !has_pipeline_hooks {
        return Ok(());
    }
    let project = match load(app, connection, pipeline.project_id, None).await {
        Ok(project) => project_json(&project),
        // The project has been deleted, and its hooks with it.
        Err(Error::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    let pipeline_value = pipeline_json(pipeline);
    if has_build_hooks {
        for build in build_list::find_many(connection, builds, now).await?.iter().filter(|it| !it.external) {
            let payload = json!({ "project": project, "pipeline": pipeline_value, "build": build_json(build) });
            event::publish(
                connection,
                Some(pipeline.project_id),
                &OutboxEvent { kind: EventKind::Build, payload },
                now,
            )
            .await?;
        }
    }
    if has_pipeline_hooks {
        let builds = build_list::list_latest(connection, pipeline.id, now).await?;
        let builds: Vec<Value> = builds.iter().map(build_json).collect();
        let payload = json!({ "project": project, "pipeline": pipeline_value, "builds": builds });
        event::publish(connection, Some(pipeline.project_id), &OutboxEvent { kind: EventKind::Pipeline, payload }, now)
            .await?;
    }
    Ok(())
}

/// Publishes the events of a build that a runner has claimed.
pub(super) async fn publish_claim(
    app: &App,
    connection: &mut Connection,
    queued: &QueuedBuild,
    has_pipeline_started: bool,
    now: DateTime<Utc>,
) -> Result<()> {
    let (has_build_hooks, has_pipeline_hooks) = hook::ci_subscriptions(connection, queued.project).await?;
    if !(has_build_hooks || has_pipeline_hooks && has_pipeline_started) {
        return Ok(());
    }
    match pipeline::find(connection, queued.project, queued.pipeline).await? {
        Some(pipeline) => publish_changes(app, connection, &pipeline, has_pipeline_started, &[queued.build], now).await,
        None => Ok(()),
    }
}

fn pipeline_json(pipeline: &Pipeline) -> Value {
    json!({
        "id": pipeline.id,
        "ref": pipeline.ref_name,
        "tag": pipeline.tag,
        "sha": pipeline.sha,
        "before_sha": pipeline.before_sha,
        "status": pipeline.status.as_str(),
        "duration": pipeline.duration,
        "created_at": format_time(pipeline.created_at),
        "started_at": pipeline.started_at.map(format_time),
        "finished_at": pipeline.finished_at.map(format_time),
        "user": pipeline.user.as_ref().map(user_json),
        "commit": pipeline.commit,
    })
}

fn build_json(build: &Build) -> Value {
    json!({
        "id": build.id,
        "name": build.name,
        "stage": build.stage,
        "status": build.status.as_str(),
        "created_at": format_time(build.created_at),
        "started_at": build.started_at.map(format_time),
        "finished_at": build.finished_at.map(format_time),
        "when": build.run_when.as_str(),
        "allow_failure": build.allow_failure,
        "user": build.user.as_ref().map(user_json),
        "runner": build.runner.as_ref().map(|runner| json!({
            "id": runner.id,
            "description": runner.description,
            "active": runner.active,
            "is_shared": runner.shared,
        })),
        "artifacts_file": { "filename": build.artifacts_name, "size": build.artifacts_bytes },
    })
}
