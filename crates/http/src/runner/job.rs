//! Presents a claimed build as a job of the runner protocols.

use holdfast_app::ci::job::{Dependency, Job, JobVariable};
use holdfast_domain::ci::FailureReason;
use serde_json::{Value, json};

fn variable(variable: &JobVariable) -> Value {
    json!({
        "key": variable.key,
        "value": variable.value,
        "public": variable.is_public,
        "masked": variable.is_masked,
        "file": false,
        "raw": false,
    })
}

/// Presents a dependency of a build. The token is the running build's own, which also authorizes downloads from the
/// other builds of its pipeline: their tokens are no longer valid.
fn dependency(dependency: &Dependency, token: &str) -> Value {
    let mut body = json!({ "id": dependency.id, "name": dependency.name, "token": token });
    if let Some((filename, size)) = &dependency.file {
        body["artifacts_file"] = json!({ "filename": filename, "size": size });
    }
    body
}

pub fn v4(job: &Job) -> Value {
    let build = &job.details;
    let options = &build.options.0;
    let mut steps = vec![step("script", &options.script, job.timeout_seconds, "on_success", false)];
    if !options.after_script.is_empty() {
        steps.push(step("after_script", &options.after_script, job.timeout_seconds, "always", true));
    }
    let artifacts = options.artifacts.as_ref().map(|artifacts| {
        json!([{
            "name": artifacts.name,
            "untracked": artifacts.untracked,
            "paths": artifacts.paths,
            "when": artifacts.when.as_str(),
            "expire_in": artifacts.expire_in,
            "artifact_type": "archive",
            "artifact_format": "zip",
        }])
    });
    let cache: Vec<Value> = options
        .cache
        .iter()
        .map(|cache| {
            json!({
                "key": cache.key.as_deref().unwrap_or("default"),
                "untracked": cache.untracked,
                "paths": cache.paths,
                "policy": "pull-push",
                "when": "on_success",
            })
        })
        .collect();
    json!({
        "id": build.id,
        "token": job.token,
        "allow_git_fetch": true,
        "job_info": {
            "name": build.name,
            "stage": build.stage,
            "project_id": build.project_id,
            "project_name": build.project_name,
        },
        "git_info": {
            "repo_url": job.repository_url,
            "ref": build.r#ref,
            "sha": build.sha,
            "before_sha": build.before_sha,
            "ref_type": if build.tag { "tag" } else { "branch" },
            // The whole repository is fetched: with depth 0, builds rely on tags and other branches.
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
            "failure_reasons": FailureReason::REPORTED_BY_RUNNERS.map(FailureReason::as_str),
        },
    })
}

fn step(name: &str, script: &[String], timeout: i64, when: &str, allow_failure: bool) -> Value {
    json!({ "name": name, "script": script, "timeout": timeout, "when": when, "allow_failure": allow_failure })
}

pub fn v1(job: &Job) -> Value {
    let build = &job.details;
    let options = &build.options.0;
    let mut options_json = json!({});
    if let Some(image) = &options.image {
        options_json["image"] = json!(image);
    }
    if !options.services.is_empty() {
        options_json["services"] = json!(options.services);
    }
    if let Some(artifacts) = &options.artifacts {
        options_json["artifacts"] = json!({
            "name": artifacts.name,
            "untracked": artifacts.untracked,
            "paths": artifacts.paths,
            "when": artifacts.when.as_str(),
            "expire_in": artifacts.expire_in,
        });
    }
    if let Some(cache) = &options.cache {
        options_json["cache"] = json!({ "key": cache.key, "untracked": cache.untracked, "paths": cache.paths });
    }
    if let Some(dependencies) = &options.dependencies {
        options_json["dependencies"] = json!(dependencies);
    }
    if !options.after_script.is_empty() {
        options_json["after_script"] = json!(options.after_script);
    }
    json!({
        "id": build.id,
        "ref": build.r#ref,
        "tag": build.tag,
        "sha": build.sha,
        "before_sha": build.before_sha,
        "status": "running",
        "name": build.name,
        "stage": build.stage,
        "token": job.token,
        "project_id": build.project_id,
        "project_name": build.project_name,
        "commands": options.script.join("\n"),
        "repo_url": job.repository_url,
        "allow_git_fetch": true,
        "timeout": job.timeout_seconds,
        "variables": job.variables.iter().map(variable).collect::<Vec<_>>(),
        "options": options_json,
        "depends_on_builds": job.dependencies.iter().map(|it| dependency(it, &job.token)).collect::<Vec<_>>(),
        "credentials": [],
    })
}
