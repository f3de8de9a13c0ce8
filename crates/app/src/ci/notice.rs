//! What is told of builds and pipelines: facts as they were at that moment.

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::Kind;
use holdfast_domain::ids::BuildId;
use holdfast_store::Connection;
use holdfast_store::accounts::user::Person;
use holdfast_store::activity::event::{self, Notice};
use holdfast_store::ci::build_list::{self, Build};
use holdfast_store::ci::pipeline::{self, Pipeline};
use holdfast_store::ci::queue::Waiting;
use holdfast_store::hooks::hook;
use serde_json::{Value, json};

use crate::projects::project::load;
use crate::repository::push_details::project_facts;
use crate::{App, Error, Result};

/// Nothing is written where nobody listens: builds have much to say.
pub(super) async fn tell(
    app: &App,
    connection: &mut Connection,
    pipeline: &Pipeline,
    moved: bool,
    builds: &[BuildId],
    now: DateTime<Utc>,
) -> Result<()> {
    let (of_builds, of_pipelines) = hook::hears_of_builds(connection, pipeline.project_id).await?;
    let (of_builds, of_pipelines) = (of_builds && !builds.is_empty(), of_pipelines && moved);
    if !of_builds && !of_pipelines {
        return Ok(());
    }
    let project = match load(app, connection, pipeline.project_id, None).await {
        Ok(project) => project_facts(&project),
        // It is deleted, and its hooks with it.
        Err(Error::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    let pipeline_facts = facts(pipeline);
    if of_builds {
        for build in build_list::some(connection, builds, now).await?.iter().filter(|it| !it.external) {
            let payload = json!({ "project": project, "pipeline": pipeline_facts, "build": build_facts(build) });
            event::tell(connection, Some(pipeline.project_id), &Notice { kind: Kind::Build, payload }, now).await?;
        }
    }
    if of_pipelines {
        let builds = build_list::of_pipeline(connection, pipeline.id, now).await?;
        let builds: Vec<Value> = builds.iter().map(build_facts).collect();
        let payload = json!({ "project": project, "pipeline": pipeline_facts, "builds": builds });
        event::tell(connection, Some(pipeline.project_id), &Notice { kind: Kind::Pipeline, payload }, now).await?;
    }
    Ok(())
}

pub(super) async fn tell_taken(
    app: &App,
    connection: &mut Connection,
    it: &Waiting,
    begun: bool,
    now: DateTime<Utc>,
) -> Result<()> {
    let (of_builds, of_pipelines) = hook::hears_of_builds(connection, it.project).await?;
    if !(of_builds || of_pipelines && begun) {
        return Ok(());
    }
    match pipeline::find(connection, it.project, it.pipeline).await? {
        Some(pipeline) => tell(app, connection, &pipeline, begun, &[it.build], now).await,
        None => Ok(()),
    }
}

fn person(person: &Person) -> Value {
    json!({ "id": person.id, "name": person.name, "username": person.username, "email": person.email })
}

fn facts(it: &Pipeline) -> Value {
    json!({
        "id": it.id,
        "ref": it.ref_name,
        "tag": it.tag,
        "sha": it.sha,
        "before_sha": it.before_sha,
        "status": it.status.word(),
        "duration": it.duration,
        "created_at": it.created_at,
        "started_at": it.started_at,
        "finished_at": it.finished_at,
        "user": it.user.as_ref().map(person),
        "commit": it.commit,
    })
}

fn build_facts(it: &Build) -> Value {
    json!({
        "id": it.id,
        "name": it.name,
        "stage": it.stage,
        "status": it.status.word(),
        "created_at": it.created_at,
        "started_at": it.started_at,
        "finished_at": it.finished_at,
        "when": it.run_when,
        "allow_failure": it.allow_failure,
        "user": it.user.as_ref().map(person),
        "runner": it.runner.as_ref().map(|runner| json!({
            "id": runner.id,
            "description": runner.description,
            "active": runner.active,
            "is_shared": runner.shared,
        })),
        "artifacts_file": { "filename": it.artifacts_name, "size": it.artifacts_bytes },
    })
}
