//! A build as runners are told of it.

use holdfast_app::ci::job::{Dependency, Job, Variable};
use serde_json::{Value, json};

fn variable(it: &Variable) -> Value {
    json!({
        "key": it.key,
        "value": it.value,
        "public": it.public,
        "masked": it.masked,
        "file": false,
        "raw": false,
    })
}

/// The build's own token opens what the others of its pipeline left, while it runs: theirs are worth nothing any more.
fn dependency(it: &Dependency, token: &str) -> Value {
    let mut body = json!({ "id": it.id, "name": it.name, "token": token });
    if let Some((filename, size)) = &it.file {
        body["artifacts_file"] = json!({ "filename": filename, "size": size });
    }
    body
}

pub fn v4(job: &Job) -> Value {
    let it = &job.facts;
    let options = &it.options.0;
    let mut steps = vec![step("script", &options.script, job.timeout_seconds, "on_success", false)];
    if !options.after_script.is_empty() {
        steps.push(step("after_script", &options.after_script, job.timeout_seconds, "always", true));
    }
    let artifacts = options.artifacts.as_ref().map(|it| {
        json!([{
            "name": it.name,
            "untracked": it.untracked,
            "paths": it.paths,
            "when": it.when.word(),
            "expire_in": it.expire_in,
            "artifact_type": "archive",
            "artifact_format": "zip",
        }])
    });
    let cache: Vec<Value> = options
        .cache
        .iter()
        .map(|it| {
            json!({
                "key": it.key.as_deref().unwrap_or("default"),
                "untracked": it.untracked,
                "paths": it.paths,
                "policy": "pull-push",
                "when": "on_success",
            })
        })
        .collect();
    json!({
        "id": it.id,
        "token": job.token,
        "allow_git_fetch": true,
        "job_info": {
            "name": it.name,
            "stage": it.stage,
            "project_id": it.project_id,
            "project_name": it.project_name,
        },
        "git_info": {
            "repo_url": job.repository_url,
            "ref": it.r#ref,
            "sha": it.sha,
            "before_sha": it.before_sha,
            "ref_type": if it.tag { "tag" } else { "branch" },
            // All of it: with depth 0 builds count on tags and other branches.
            "refspecs": ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"],
            "depth": 0,
        },
        "runner_info": { "timeout": job.timeout_seconds },
        "variables": job.variables.iter().map(variable).collect::<Vec<_>>(),
        "steps": steps,
        "image": options.image.as_ref().map(|name| json!({ "name": name })),
        "services": options.services.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>(),
        "artifacts": artifacts,
        "cache": cache,
        "credentials": [],
        "dependencies": job.dependencies.iter().map(|it| dependency(it, &job.token)).collect::<Vec<_>>(),
        "features": {
            "trace_sections": true,
            "failure_reasons": ["script_failure", "runner_system_failure", "job_execution_timeout", "unknown_failure"],
        },
    })
}

fn step(name: &str, script: &[String], timeout: i64, when: &str, allow_failure: bool) -> Value {
    json!({ "name": name, "script": script, "timeout": timeout, "when": when, "allow_failure": allow_failure })
}

pub fn v1(job: &Job) -> Value {
    let it = &job.facts;
    let options = &it.options.0;
    let mut told = json!({});
    if let Some(image) = &options.image {
        told["image"] = json!(image);
    }
    if !options.services.is_empty() {
        told["services"] = json!(options.services);
    }
    if let Some(it) = &options.artifacts {
        told["artifacts"] = json!({
            "name": it.name,
            "untracked": it.untracked,
            "paths": it.paths,
            "when": it.when.word(),
            "expire_in": it.expire_in,
        });
    }
    if let Some(it) = &options.cache {
        told["cache"] = json!({ "key": it.key, "untracked": it.untracked, "paths": it.paths });
    }
    if let Some(dependencies) = &options.dependencies {
        told["dependencies"] = json!(dependencies);
    }
    if !options.after_script.is_empty() {
        told["after_script"] = json!(options.after_script);
    }
    json!({
        "id": it.id,
        "ref": it.r#ref,
        "tag": it.tag,
        "sha": it.sha,
        "before_sha": it.before_sha,
        "status": "running",
        "name": it.name,
        "stage": it.stage,
        "token": job.token,
        "project_id": it.project_id,
        "project_name": it.project_name,
        "commands": options.script.join("\n"),
        "repo_url": job.repository_url,
        "allow_git_fetch": true,
        "timeout": job.timeout_seconds,
        "variables": job.variables.iter().map(variable).collect::<Vec<_>>(),
        "options": told,
        "depends_on_builds": job.dependencies.iter().map(|it| dependency(it, &job.token)).collect::<Vec<_>>(),
        "credentials": [],
    })
}
