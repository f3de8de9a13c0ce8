use chrono::{DateTime, Utc};
use holdfast_domain::Site;
use serde_json::{Value, json};

use super::{Addresses, new_project, user, whole_repository};

pub(super) fn build(facts: &Value, site: &Site) -> Value {
    let at = Addresses::of(&facts["project"], site);
    let (build, pipeline) = (&facts["build"], &facts["pipeline"]);
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
        "build_duration": seconds(build),
        "build_allow_failure": build["allow_failure"],
        "project_id": facts["project"]["id"],
        "project_name": facts["project"]["path_with_namespace"],
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
        "repository": whole_repository(&facts["project"], &at),
    })
}

pub(super) fn pipeline(facts: &Value, site: &Site) -> Value {
    let at = Addresses::of(&facts["project"], site);
    let it = &facts["pipeline"];
    let builds = facts["builds"].as_array().map_or(&[][..], Vec::as_slice);
    let mut stages: Vec<&Value> = builds.iter().map(|build| &build["stage"]).collect();
    stages.dedup();
    json!({
        "object_kind": "pipeline",
        "object_attributes": {
            "id": it["id"],
            "ref": it["ref"],
            "tag": it["tag"],
            "sha": it["sha"],
            "before_sha": it["before_sha"],
            "status": it["status"],
            "stages": stages,
            "created_at": it["created_at"],
            "finished_at": it["finished_at"],
            "duration": it["duration"],
        },
        "user": person(&it["user"], site),
        "project": new_project(&facts["project"], &at),
        "commit": {
            "id": it["commit"]["id"],
            "message": it["commit"]["message"],
            "timestamp": it["commit"]["created_at"],
            "url": format!("{}/commit/{}", at.home, it["sha"].as_str().unwrap_or_default()),
            "author": { "name": it["commit"]["author_name"], "email": it["commit"]["author_email"] },
        },
        "builds": builds.iter().map(|build| one(build, site)).collect::<Vec<_>>(),
    })
}

fn one(build: &Value, site: &Site) -> Value {
    let mut body = build.clone();
    body["manual"] = (build["when"] == "manual").into();
    body["user"] = person(&build["user"], site);
    if let Some(fields) = body.as_object_mut() {
        fields.remove("allow_failure");
    }
    body
}

fn person(facts: &Value, site: &Site) -> Value {
    if facts.is_null() { Value::Null } else { user(facts, site) }
}

fn seconds(build: &Value) -> Option<f64> {
    let time = |name: &str| build[name].as_str()?.parse::<DateTime<Utc>>().ok();
    Some((time("finished_at")? - time("started_at")?).num_milliseconds() as f64 / 1000.0)
}
