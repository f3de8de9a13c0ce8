//! Bodies of build and pipeline events.

use chrono::{DateTime, Utc};
use holdfast_domain::InstanceUrls;
use serde_json::{Value, json};

use super::{ProjectUrls, base_project, full_repository, user};

pub(super) fn build(payload: &Value, site: &InstanceUrls) -> Value {
    let urls = ProjectUrls::new(&payload["project"], site);
    let (build, pipeline) = (&payload["build"], &payload["pipeline"]);
    let commit = &pipeline["commit"];
    json!({
        "object_kind": "build",
        "ref": pipeline["ref"],
        "tag": pipeline["tag"],
        "before_sha": pipeline["before_sha"],
        "sha": pipeline["sha"],
        "build_id": build["id"],
        "build_name": build["name"],
        "build_stage": build["stage"],
        "build_status": build["status"],
        "build_started_at": build["started_at"],
        "build_finished_at": build["finished_at"],
        "build_duration": duration_seconds(build),
        "build_allow_failure": build["allow_failure"],
        "project_id": payload["project"]["id"],
        "project_name": payload["project"]["path_with_namespace"],
        "user": { "id": build["user"]["id"], "name": build["user"]["name"], "email": build["user"]["email"] },
        "commit": {
            "id": pipeline["id"],
            "sha": pipeline["sha"],
            "message": commit["message"],
            "author_name": commit["author_name"],
            "author_email": commit["author_email"],
            "status": pipeline["status"],
            "duration": pipeline["duration"],
            "started_at": pipeline["started_at"],
            "finished_at": pipeline["finished_at"],
        },
        "repository": full_repository(&payload["project"], &urls),
    })
}

pub(super) fn pipeline(payload: &Value, site: &InstanceUrls) -> Value {
    let urls = ProjectUrls::new(&payload["project"], site);
    let pipeline = &payload["pipeline"];
    let builds = payload["builds"].as_array().map_or(&[][..], Vec::as_slice);
    let mut stages: Vec<&Value> = builds.iter().map(|build| &build["stage"]).collect();
    stages.dedup();
    json!({
        "object_kind": "pipeline",
        "object_attributes": {
            "id": pipeline["id"],
            "ref": pipeline["ref"],
            "tag": pipeline["tag"],
            "sha": pipeline["sha"],
            "before_sha": pipeline["before_sha"],
            "status": pipeline["status"],
            "stages": stages,
            "created_at": pipeline["created_at"],
            "finished_at": pipeline["finished_at"],
            "duration": pipeline["duration"],
        },
        "user": user_or_null(&pipeline["user"], site),
        "project": base_project(&payload["project"], &urls),
        "commit": {
            "id": pipeline["commit"]["id"],
            "message": pipeline["commit"]["message"],
            "timestamp": pipeline["commit"]["created_at"],
            "url": urls.commit(&pipeline["sha"]),
            "author": { "name": pipeline["commit"]["author_name"], "email": pipeline["commit"]["author_email"] },
        },
        "builds": builds.iter().map(|build| build_json(build, site)).collect::<Vec<_>>(),
    })
}

fn build_json(build: &Value, site: &InstanceUrls) -> Value {
    let mut body = build.clone();
    body["manual"] = (build["when"] == "manual").into();
    body["user"] = user_or_null(&build["user"], site);
    if let Some(fields) = body.as_object_mut() {
        fields.remove("allow_failure");
    }
    body
}

fn user_or_null(stored: &Value, site: &InstanceUrls) -> Value {
    if stored.is_null() { Value::Null } else { user(stored, site) }
}

fn duration_seconds(build: &Value) -> Option<f64> {
    let time = |name: &str| build[name].as_str()?.parse::<DateTime<Utc>>().ok();
    Some((time("finished_at")? - time("started_at")?).num_milliseconds() as f64 / 1000.0)
}
