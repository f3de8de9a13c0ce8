//! What a project's hooks are told of builds and pipelines.

use chrono::TimeDelta;
use holdfast_tests::{Received, Receiver};
use serde_json::{Value, json};

use super::scene::STAGES;
use super::{Ground, SIMPLE};

const AVATAR: &str = "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon";

/// A project whose hook hears of these events and of nothing else.
async fn world(file: &str, events: &[&str]) -> (Ground, Receiver) {
    let ground = Ground::with(file).await;
    let receiver = Receiver::start().await;
    ground.server.deliver().await;
    listen(&ground, &receiver, "/hook", events).await;
    (ground, receiver)
}

async fn listen(ground: &Ground, receiver: &Receiver, path: &str, events: &[&str]) {
    let url = receiver.url(path);
    let mut form = vec![("url", url.as_str()), ("push_events", "false")];
    form.extend(events.iter().map(|event| (*event, "true")));
    let made = ground.ada.post(&ground.path("/hooks"), &form).await;
    assert_eq!(made.status, 201, "{}", made.text);
}

fn short(it: &Received) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match (it.header("x-gitlab-event"), it.body["object_kind"].as_str()) {
        ("Build Hook", Some("build")) => {
            format!("{} {}", text(&it.body["build_name"]), text(&it.body["build_status"]))
        }
        ("Pipeline Hook", Some("pipeline")) => format!("pipeline {}", text(&it.body["object_attributes"]["status"])),
        other => panic!("{other:?}"),
    }
}

/// What came since this was asked last. Which of what happened at once comes first is left open.
async fn told(ground: &Ground, receiver: &Receiver) -> Vec<String> {
    ground.server.deliver().await;
    let mut told: Vec<String> = receiver.take().iter().map(short).collect();
    told.sort();
    told
}

#[tokio::test]
async fn each_change_is_told_once() {
    let (ground, receiver) = world(STAGES, &["build_events", "pipeline_events"]).await;
    let runner = ground.runner().await;
    // The pipeline of the push came before the hook.
    runner.finish(&runner.take().await, "failed").await;
    ground.server.deliver().await;
    receiver.take();

    ground.start().await;
    assert_eq!(told(&ground, &receiver).await, ["first pending", "pipeline pending", "second created"]);
    let first = runner.take().await;
    assert_eq!(told(&ground, &receiver).await, ["first running", "pipeline running"]);
    runner.patch(&first, 0, b"words").await;
    runner.update(&first, "running").await;
    runner.leave(&first, "out.zip", b"x").await;
    assert_eq!(told(&ground, &receiver).await, [""; 0], "nothing has changed");
    runner.finish(&first, "success").await;
    // That the next one waits for a runner is no news; the pipeline goes on running.
    assert_eq!(told(&ground, &receiver).await, ["first success"]);
    let second = runner.take().await;
    assert_eq!(told(&ground, &receiver).await, ["second running"]);
    runner.finish(&second, "failed").await;
    assert_eq!(told(&ground, &receiver).await, ["pipeline failed", "second failed"]);
    assert_eq!(runner.update(&second, "success").await.status, 403);
    assert_eq!(told(&ground, &receiver).await, [""; 0], "nothing has changed");
    let copy = ground.act(&ground.build("second").await, "retry").await;
    assert_eq!(copy.status, 201);
    assert_eq!(told(&ground, &receiver).await, ["pipeline running", "second pending"]);
    let pipeline = ground.pipeline().await;
    let canceled = ground.ada.post(&ground.path(&format!("/pipelines/{}/cancel", pipeline["id"])), &[]).await;
    assert_eq!(canceled.status, 200);
    assert_eq!(told(&ground, &receiver).await, ["pipeline canceled", "second canceled"]);
}

/// However late it is told, each is told of as it was then, in the order in which it was.
#[tokio::test]
async fn what_is_told_late_is_told_in_order() {
    let (ground, receiver) = world(SIMPLE, &["build_events", "pipeline_events"]).await;
    let runner = ground.runner().await;
    ground.server.deliver().await;
    receiver.take();
    runner.finish(&runner.take().await, "success").await;
    ground.start().await;
    runner.finish(&runner.take().await, "failed").await;
    ground.server.deliver().await;
    let received = receiver.take();
    let of = |kind: &str| -> Vec<String> {
        received.iter().filter(|it| it.body["object_kind"] == kind).map(short).collect()
    };
    assert_eq!(of("build"), ["one running", "one success", "one pending", "one running", "one failed"]);
    let pipelines = ["running", "success", "pending", "running", "failed"].map(|status| format!("pipeline {status}"));
    assert_eq!(of("pipeline"), pipelines);
    assert_eq!(received.len(), 10);
}

#[tokio::test]
async fn each_switch_switches_its_own() {
    let (ground, receiver) = world(SIMPLE, &[]).await;
    let others = ["tag_push_events", "issues_events", "note_events", "merge_requests_events", "wiki_page_events"];
    listen(&ground, &receiver, "/others", &others).await;
    let runner = ground.runner().await;
    runner.finish(&runner.take().await, "success").await;
    ground.server.deliver().await;
    assert_eq!(receiver.take().len(), 0);
    listen(&ground, &receiver, "/builds", &["build_events"]).await;
    listen(&ground, &receiver, "/pipelines", &["pipeline_events"]).await;
    ground.start().await;
    runner.finish(&runner.take().await, "success").await;
    ground.server.deliver().await;
    let received = receiver.take();
    let at = |path: &str| -> Vec<String> { received.iter().filter(|it| it.path == path).map(short).collect() };
    assert_eq!(at("/builds"), ["one pending", "one running", "one success"]);
    assert_eq!(at("/pipelines"), ["pipeline pending", "pipeline running", "pipeline success"]);
    assert_eq!(received.len(), 6);
}

/// What other services say of a commit is no build, but it moves the pipeline.
#[tokio::test]
async fn what_others_say_is_told_by_the_pipeline() {
    let (ground, receiver) = world(SIMPLE, &["build_events", "pipeline_events"]).await;
    let runner = ground.runner().await;
    runner.finish(&runner.take().await, "success").await;
    ground.server.deliver().await;
    receiver.take();
    let path = ground.path(&format!("/statuses/{}", ground.sha));
    assert_eq!(ground.ada.post(&path, &[("state", "failed"), ("name", "lint")]).await.status, 201);
    assert_eq!(told(&ground, &receiver).await, ["pipeline failed"]);
}

/// A build that took ten seconds, and its pipeline.
async fn finished(event: &str) -> (Ground, Value, Value) {
    let (ground, receiver) = world(SIMPLE, &[event]).await;
    let runner = super::Runner::of(&ground, json!({ "description": "mine" })).await;
    runner.take().await;
    let made = ground.start().await;
    ground.server.advance(TimeDelta::seconds(5));
    let job = runner.take().await;
    ground.server.advance(TimeDelta::seconds(10));
    assert_eq!(runner.leave(&job, "out.zip", b"left").await.status, 201);
    runner.finish(&job, "success").await;
    ground.server.deliver().await;
    let last = receiver.take().last().unwrap().body.clone();
    let ids = json!({ "build": job.id, "pipeline": made["id"], "runner": runner.id });
    (ground, last, ids)
}

#[tokio::test]
async fn all_of_a_build() {
    let (ground, body, ids) = finished("build_events").await;
    let message = &body["commit"]["message"];
    assert_eq!(message.as_str().unwrap().trim_end(), "First");
    assert_eq!(
        body,
        json!({
            "object_kind": "build",
            "ref": "main",
            "tag": false,
            "before_sha": "0".repeat(40),
            "sha": ground.sha,
            "build_id": ids["build"],
            "build_name": "one",
            "build_stage": "test",
            "build_status": "success",
            "build_started_at": "2026-01-02T03:04:10.678Z",
            "build_finished_at": "2026-01-02T03:04:20.678Z",
            "build_duration": 10.0,
            "build_allow_failure": false,
            "project_id": ground.project,
            "project_name": "ada/p",
            "user": { "id": 2, "name": "User ada", "email": "ada@example.com" },
            "commit": {
                "id": ids["pipeline"],
                "sha": ground.sha,
                "message": message,
                "author_name": "Ada",
                "author_email": "ada@example.com",
                "status": "success",
                "duration": 10,
                "started_at": "2026-01-02T03:04:10.678Z",
                "finished_at": "2026-01-02T03:04:20.678Z",
            },
            "repository": {
                "name": "p",
                "url": "git@holdfast.test:ada/p.git",
                "description": null,
                "homepage": "http://holdfast.test/ada/p",
                "git_http_url": "http://holdfast.test/ada/p.git",
                "git_ssh_url": "git@holdfast.test:ada/p.git",
                "visibility_level": 0,
            },
        })
    );
}

#[tokio::test]
async fn all_of_a_pipeline() {
    let (ground, body, ids) = finished("pipeline_events").await;
    let user = json!({ "name": "User ada", "username": "ada", "avatar_url": AVATAR });
    let message = &body["commit"]["message"];
    assert_eq!(message.as_str().unwrap().trim_end(), "First");
    assert_eq!(
        body,
        json!({
            "object_kind": "pipeline",
            "object_attributes": {
                "id": ids["pipeline"],
                "ref": "main",
                "tag": false,
                "sha": ground.sha,
                "before_sha": "0".repeat(40),
                "status": "success",
                "stages": ["test"],
                "created_at": "2026-01-02T03:04:05.678Z",
                "finished_at": "2026-01-02T03:04:20.678Z",
                "duration": 10,
            },
            "user": user,
            // Without the old names that other payloads have.
            "project": {
                "name": "p",
                "description": null,
                "web_url": "http://holdfast.test/ada/p",
                "avatar_url": null,
                "git_ssh_url": "git@holdfast.test:ada/p.git",
                "git_http_url": "http://holdfast.test/ada/p.git",
                "namespace": "ada",
                "visibility_level": 0,
                "path_with_namespace": "ada/p",
                "default_branch": "main",
            },
            "commit": {
                "id": ground.sha,
                "message": message,
                "timestamp": body["commit"]["timestamp"],
                "url": format!("http://holdfast.test/ada/p/commit/{}", ground.sha),
                "author": { "name": "Ada", "email": "ada@example.com" },
            },
            "builds": [{
                "id": ids["build"],
                "stage": "test",
                "name": "one",
                "status": "success",
                "created_at": "2026-01-02T03:04:05.678Z",
                "started_at": "2026-01-02T03:04:10.678Z",
                "finished_at": "2026-01-02T03:04:20.678Z",
                "when": "on_success",
                "manual": false,
                "user": user,
                "runner": { "id": ids["runner"], "description": "mine", "active": true, "is_shared": false },
                "artifacts_file": { "filename": "out.zip", "size": 4 },
            }],
        })
    );
    assert!(body["commit"]["timestamp"].as_str().unwrap().starts_with("2026-01-02T03:04:0"));
}

/// A manual build and one that nobody has taken yet.
#[tokio::test]
async fn what_is_not_there_is_null() {
    let file = "stages: [a, b]\none: {stage: a, script: x}\nhand: {stage: b, script: x, when: manual}\n";
    let (ground, receiver) = world(file, &["pipeline_events"]).await;
    ground.start().await;
    ground.server.deliver().await;
    let body = receiver.take().last().unwrap().body.clone();
    assert_eq!(body["object_attributes"]["stages"], json!(["a", "b"]));
    assert_eq!(body["object_attributes"]["finished_at"], Value::Null);
    assert_eq!(body["object_attributes"]["duration"], Value::Null);
    let builds = body["builds"].as_array().unwrap();
    assert_eq!(builds.len(), 2);
    for (build, manual) in builds.iter().zip([false, true]) {
        assert_eq!((&build["runner"], &build["started_at"]), (&Value::Null, &Value::Null));
        assert_eq!(build["artifacts_file"], json!({ "filename": null, "size": null }));
        assert_eq!(build["manual"], manual, "{build}");
    }
    assert_eq!(builds[1]["when"], "manual");
}
