//! The response to a runner that claims a build.

use serde_json::{Value, json};

use super::fixtures::STAGES;
use super::{CiFixture, Job, Runner, SIMPLE};

const FILE: &str = "
image: ruby:2.3
services: ['postgres:9', redis]
before_script: [prepare]
after_script: [tidy]
variables: {LEVEL: file, WHERE: file}
cache: {key: k, paths: [vendor/]}
stages: [build, test]
compile:
  stage: build
  script: [make, make check]
  variables: {WHERE: job}
  tags: [linux]
  artifacts: {name: out, paths: [bin/, doc], expire_in: 1 week, when: always}
";

/// A number in place of a string makes runners drop the build.
#[tokio::test]
async fn the_job_response_is_complete() {
    let fixture = CiFixture::with_file(FILE).await;
    let runner = Runner::register_for(&fixture, json!({ "tag_list": "linux,ruby", "description": "mine" })).await;
    let job = runner.claim().await;
    let mut body = job.body.clone();
    let object = body.as_object_mut().unwrap();
    object.remove("variables").unwrap();
    let features = object.remove("features").unwrap();
    let refspecs = object["git_info"].as_object_mut().unwrap().remove("refspecs").unwrap();
    assert!(refspecs.as_array().unwrap().iter().all(Value::is_string), "{refspecs}");
    assert_eq!(features["trace_sections"], true);
    assert!(features["failure_reasons"].as_array().unwrap().contains(&json!("script_failure")));
    assert_eq!(
        body,
        json!({
            "id": fixture.build("compile").await["id"],
            "token": job.token,
            "allow_git_fetch": true,
            "job_info": { "name": "compile", "stage": "build", "project_id": fixture.project, "project_name": "p" },
            "git_info": {
                "repo_url": format!("http://gitlab-ci-token:{}@holdfast.test/ada/p.git", job.token),
                "ref": "main",
                "sha": fixture.sha,
                "before_sha": fixture.sha,
                "ref_type": "branch",
                "depth": 0,
            },
            "runner_info": { "timeout": 3600 },
            "steps": [
                {
                    "name": "script", "script": ["prepare", "make", "make check"], "timeout": 3600,
                    "when": "on_success", "allow_failure": false,
                },
                {
                    "name": "after_script", "script": ["tidy"], "timeout": 3600, "when": "always",
                    "allow_failure": true,
                },
            ],
            "image": { "name": "ruby:2.3" },
            "services": [{ "name": "postgres:9" }, { "name": "redis" }],
            "artifacts": [{
                "name": "out", "untracked": false, "paths": ["bin/", "doc"], "when": "always", "expire_in": "1 week",
                "artifact_type": "archive", "artifact_format": "zip",
            }],
            "cache": [{
                "key": "k", "untracked": false, "paths": ["vendor/"], "policy": "pull-push", "when": "on_success",
            }],
            "credentials": [],
            "dependencies": [],
        })
    );
    // The build is claimed from now on.
    let build = fixture.build("compile").await;
    assert_eq!((&build["status"], &build["runner"]["id"]), (&json!("running"), &json!(runner.id)));
    assert_eq!(build["started_at"], "2026-01-02T03:04:05.678Z");
}

#[tokio::test]
async fn absent_ci_keys_are_empty_in_the_job_response() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let body = fixture.runner().await.claim().await.body;
    let steps = json!([
        { "name": "script", "script": ["make"], "timeout": 3600, "when": "on_success", "allow_failure": false }
    ]);
    assert_eq!(body["steps"], steps);
    assert_eq!((&body["image"], &body["services"]), (&Value::Null, &json!([])));
    assert_eq!((&body["artifacts"], &body["cache"]), (&Value::Null, &json!([])));
    assert_eq!((&body["credentials"], &body["dependencies"]), (&json!([]), &json!([])));
    // If the key is present, its value must be a string.
    assert_eq!(body.get("run"), None);
}

/// Fetching the whole history includes all branches and tags.
#[tokio::test]
async fn git_info_has_refspecs_and_depth() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let expected = [json!("+refs/heads/*:refs/remotes/origin/*"), json!("+refs/tags/*:refs/tags/*")];
    let git = runner.claim().await.body["git_info"].clone();
    assert_eq!(git["depth"], 0);
    let refspecs = git["refspecs"].as_array().unwrap();
    assert!(expected.iter().all(|it| refspecs.contains(it)), "{refspecs:?}");
}

fn assert_variables(job: &Job, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        let found = job.variable(key).unwrap_or_else(|| panic!("no {key}"));
        let public =
            json!({ "key": key, "value": value, "public": true, "masked": false, "file": false, "raw": false });
        assert_eq!(*found, public);
    }
}

#[tokio::test]
async fn predefined_variables_have_old_and_new_names() {
    let fixture = CiFixture::with_file(FILE).await;
    let runner = Runner::register_for(&fixture, json!({ "tag_list": "linux,ruby", "description": "mine" })).await;
    let job = runner.claim().await;
    let (id, project, runner_id) = (job.id.to_string(), fixture.project.to_string(), runner.id.to_string());
    let pipeline = fixture.pipeline().await["id"].to_string();
    let user = fixture.ada.get("/user").await.body;
    assert_variables(
        &job,
        &[
            ("CI", "true"),
            ("GITLAB_CI", "true"),
            ("CI_BUILD_ID", &id),
            ("CI_JOB_ID", &id),
            ("CI_BUILD_REF", &fixture.sha),
            ("CI_COMMIT_SHA", &fixture.sha),
            ("CI_BUILD_BEFORE_SHA", &fixture.sha),
            ("CI_COMMIT_BEFORE_SHA", &fixture.sha),
            ("CI_BUILD_REF_NAME", "main"),
            ("CI_COMMIT_REF_NAME", "main"),
            ("CI_BUILD_REF_SLUG", "main"),
            ("CI_COMMIT_REF_SLUG", "main"),
            ("CI_BUILD_NAME", "compile"),
            ("CI_JOB_NAME", "compile"),
            ("CI_BUILD_STAGE", "build"),
            ("CI_JOB_STAGE", "build"),
            ("CI_PIPELINE_ID", &pipeline),
            ("CI_PROJECT_ID", &project),
            ("CI_PROJECT_NAME", "p"),
            ("CI_PROJECT_PATH", "ada/p"),
            ("CI_PROJECT_NAMESPACE", "ada"),
            ("CI_PROJECT_URL", "http://holdfast.test/ada/p"),
            ("CI_SERVER_HOST", "holdfast.test"),
            ("CI_CONFIG_PATH", ".gitlab-ci.yml"),
            ("CI_RUNNER_ID", &runner_id),
            ("CI_RUNNER_DESCRIPTION", "mine"),
            ("CI_RUNNER_TAGS", "linux, ruby"),
            ("GITLAB_USER_ID", &user["id"].to_string()),
            ("GITLAB_USER_EMAIL", "ada@example.com"),
            ("LEVEL", "file"),
            ("WHERE", "job"),
        ],
    );
    for key in ["CI_SERVER_NAME", "CI_SERVER_VERSION", "CI_SERVER_REVISION", "CI_SERVER_URL"] {
        assert!(job.value(key).is_some_and(|value| !value.is_empty()), "{key}");
    }
    // Tokens are not public.
    for key in ["CI_BUILD_TOKEN", "CI_JOB_TOKEN"] {
        let found = job.variable(key).unwrap();
        let hidden = json!({
            "key": key, "value": job.token, "public": false, "masked": true, "file": false, "raw": false,
        });
        assert_eq!(*found, hidden);
    }
    for key in ["CI_BUILD_REPO", "CI_REPOSITORY_URL"] {
        assert_eq!(job.value(key), job.body["git_info"]["repo_url"].as_str());
        assert_eq!(job.variable(key).unwrap()["public"], false, "{key}");
    }
    for key in ["CI_BUILD_TAG", "CI_COMMIT_TAG", "CI_PIPELINE_TRIGGERED", "CI_JOB_MANUAL"] {
        assert_eq!(job.variable(key), None, "{key}");
    }
    // Each variable has the types that a strict parser expects.
    for variable in job.body["variables"].as_array().unwrap() {
        assert!(variable["key"].is_string() && variable["value"].is_string(), "{variable}");
        assert!(["public", "masked", "file", "raw"].iter().all(|flag| variable[flag].is_boolean()), "{variable}");
    }
}

#[tokio::test]
async fn the_job_response_describes_tags_and_manual_builds() {
    let file = "one: {script: x, when: manual, environment: {name: review/$CI_COMMIT_REF_NAME}}\n";
    let fixture = CiFixture::with_file(file).await;
    fixture.tree.git(["tag", "v1/é"]).await.ok();
    fixture.push("v1/é").await;
    let runner = fixture.runner().await;
    assert!(runner.request().await.is_none());
    assert_eq!(fixture.build_action(&fixture.build("one").await, "play").await.status, 200);
    let job = runner.claim().await;
    assert_eq!(job.body["git_info"]["ref_type"], "tag");
    assert_eq!(job.body["git_info"]["ref"], "v1/é");
    assert_variables(
        &job,
        &[
            ("CI_BUILD_TAG", "v1/é"),
            ("CI_COMMIT_TAG", "v1/é"),
            ("CI_BUILD_MANUAL", "true"),
            ("CI_JOB_MANUAL", "true"),
            ("CI_ENVIRONMENT_NAME", "review/v1/é"),
        ],
    );
    for key in ["CI_COMMIT_REF_SLUG", "CI_ENVIRONMENT_SLUG"] {
        let slug = job.value(key).unwrap();
        assert!(slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{slug}");
    }
}

#[tokio::test]
async fn the_runner_maximum_timeout_limits_the_build_timeout() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = Runner::register_for(&fixture, json!({ "maximum_timeout": 700 })).await;
    let body = runner.claim().await.body;
    assert_eq!((&body["runner_info"]["timeout"], &body["steps"][0]["timeout"]), (&json!(700), &json!(700)));
    // A longer timeout of the runner does not extend that of the project.
    fixture.start_pipeline().await;
    let runner = Runner::register_for(&fixture, json!({ "maximum_timeout": 100_000 })).await;
    assert_eq!(runner.claim().await.body["runner_info"]["timeout"], 3600);
}

#[tokio::test]
async fn dependencies_list_artifacts_of_earlier_builds() {
    let file = "
stages: [a, b, c]
one: {stage: a, script: x}
two: {stage: a, script: x}
beside: {stage: b, script: x}
all: {stage: b, script: x}
none: {stage: b, script: x, dependencies: []}
some: {stage: b, script: x, dependencies: [two]}
last: {stage: c, script: x, dependencies: [one, beside]}
";
    let fixture = CiFixture::with_file(file).await;
    let runner = fixture.runner().await;
    let (one, two) = (runner.claim().await, runner.claim().await);
    assert_eq!((one.name(), two.name()), ("one", "two"));
    assert_eq!(runner.upload_artifacts(&two, "out.zip", b"of two").await.status, 201);
    runner.finish(&one, "success").await;
    runner.finish(&two, "success").await;
    let dependencies = |job: &Job| -> Vec<Value> {
        let dependencies = job.body["dependencies"].as_array().unwrap();
        assert!(dependencies.iter().all(|it| it["token"].is_string()), "{dependencies:?}");
        dependencies.iter().map(|it| json!([it["id"], it["name"], it.get("artifacts_file")])).collect()
    };
    let left = json!({ "filename": "out.zip", "size": 6 });
    let (of_one, of_two) = (json!([one.id, "one", null]), json!([two.id, "two", left]));
    let mut beside = None;
    for expected in [vec![of_one.clone(), of_two.clone()], vec![of_one.clone(), of_two.clone()], vec![], vec![of_two]] {
        let job = runner.claim().await;
        assert_eq!(dependencies(&job), expected, "{}", job.name());
        // The key is missing for builds without artifacts.
        let dependencies = job.body["dependencies"].as_array().unwrap();
        assert!(
            dependencies.iter().all(|it| it.get("artifacts_file").is_none_or(Value::is_object)),
            "{dependencies:?}"
        );
        for dependency in dependencies.iter().filter(|it| it["name"] == "two") {
            let (status, _, bytes) = runner.download_artifacts(two.id, dependency["token"].as_str().unwrap()).await;
            assert_eq!((status, bytes), (200, b"of two".to_vec()));
        }
        beside = beside.or(Some(json!([job.id, "beside", null])));
        runner.finish(&job, "success").await;
    }
    let last = runner.claim().await;
    assert_eq!(dependencies(&last), [of_one, beside.unwrap()]);
}

/// Of retried builds, only the newest is a dependency.
#[tokio::test]
async fn dependencies_use_the_newest_retried_build() {
    let fixture = CiFixture::with_file(STAGES).await;
    let runner = fixture.runner().await;
    for (state, left) in [("failed", "old"), ("success", "new")] {
        let job = runner.claim().await;
        assert_eq!(runner.upload_artifacts(&job, "out.zip", left.as_bytes()).await.status, 201);
        runner.finish(&job, state).await;
        if state == "failed" {
            assert_eq!(fixture.build_action(&fixture.build("first").await, "retry").await.status, 201);
        }
    }
    let second = runner.claim().await;
    let dependencies = second.body["dependencies"].as_array().unwrap();
    let [first] = &dependencies[..] else { panic!("{dependencies:?}") };
    assert_eq!(first["id"], fixture.build("first").await["id"]);
    let (status, _, bytes) =
        runner.download_artifacts(first["id"].as_i64().unwrap(), first["token"].as_str().unwrap()).await;
    assert_eq!((status, bytes), (200, b"new".to_vec()));
}

/// A failed build can leave artifacts for later builds, such as the report of a test. A canceled build was interrupted,
/// and what it has uploaded is not passed on.
#[tokio::test]
async fn dependencies_include_failed_builds_and_not_canceled_ones() {
    let file = "
stages: [a, b]
failing: {stage: a, script: x, allow_failure: true, artifacts: {paths: [out], when: always}}
interrupted: {stage: a, script: x, allow_failure: true, artifacts: {paths: [out], when: always}}
later: {stage: b, script: x, when: always}
";
    let ground = CiFixture::with_file(file).await;
    let runner = ground.runner().await;
    let (failing, interrupted) = (runner.claim().await, runner.claim().await);
    assert_eq!((failing.name(), interrupted.name()), ("failing", "interrupted"));
    for job in [&failing, &interrupted] {
        assert_eq!(runner.upload_artifacts(job, "out.zip", b"report").await.status, 201);
    }
    runner.finish(&failing, "failed").await;
    assert_eq!(ground.build_action(&ground.build("interrupted").await, "cancel").await.status, 201);
    let later = runner.claim().await;
    assert_eq!(later.name(), "later");
    let dependencies = later.body["dependencies"].as_array().unwrap();
    let [dependency] = &dependencies[..] else { panic!("{dependencies:?}") };
    assert_eq!((&dependency["id"], &dependency["name"]), (&json!(failing.id), &json!("failing")));
    assert_eq!(dependency["artifacts_file"], json!({ "filename": "out.zip", "size": 6 }));
    let (status, _, bytes) = runner.download_artifacts(failing.id, dependency["token"].as_str().unwrap()).await;
    assert_eq!((status, bytes), (200, b"report".to_vec()));
}
