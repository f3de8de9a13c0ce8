//! Webhook events of builds and pipelines.

use chrono::TimeDelta;
use holdfast_tests::{ReceivedRequest, Receiver};
use serde_json::{Value, json};

use super::fixtures::STAGES;
use super::{CiFixture, SIMPLE};

const AVATAR: &str = "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon";

/// Creates a project with a hook that subscribes to these events only.
async fn set_up(file: &str, events: &[&str]) -> (CiFixture, Receiver) {
    let fixture = CiFixture::with_file(file).await;
    let receiver = Receiver::start().await;
    fixture.server.deliver_hooks().await;
    create_hook(&fixture, &receiver, "/hook", events).await;
    (fixture, receiver)
}

async fn create_hook(fixture: &CiFixture, receiver: &Receiver, path: &str, events: &[&str]) {
    let url = receiver.url(path);
    let mut form = vec![("url", url.as_str()), ("push_events", "false")];
    form.extend(events.iter().map(|event| (*event, "true")));
    let made = fixture.ada.post(&fixture.path("/hooks"), &form).await;
    assert_eq!(made.status, 201, "{}", made.text);
}

fn summarize(request: &ReceivedRequest) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match (request.header("x-gitlab-event"), request.body["object_kind"].as_str()) {
        ("Build Hook", Some("build")) => {
            format!("{} {}", text(&request.body["build_name"]), text(&request.body["build_status"]))
        }
        ("Pipeline Hook", Some("pipeline")) => {
            format!("pipeline {}", text(&request.body["object_attributes"]["status"]))
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the events delivered since the last call, sorted, since the order of simultaneous ones is not specified.
async fn delivered_events(fixture: &CiFixture, receiver: &Receiver) -> Vec<String> {
    fixture.server.deliver_hooks().await;
    let mut events: Vec<String> = receiver.take_received().iter().map(summarize).collect();
    events.sort();
    events
}

#[tokio::test]
async fn each_status_change_is_delivered_once() {
    let (fixture, receiver) = set_up(STAGES, &["build_events", "pipeline_events"]).await;
    let runner = fixture.runner().await;
    // The pipeline of the push was created before the hook.
    runner.finish(&runner.claim().await, "failed").await;
    fixture.server.deliver_hooks().await;
    receiver.take_received();

    fixture.start_pipeline().await;
    assert_eq!(delivered_events(&fixture, &receiver).await, ["first pending", "pipeline pending", "second created"]);
    let first = runner.claim().await;
    assert_eq!(delivered_events(&fixture, &receiver).await, ["first running", "pipeline running"]);
    runner.patch(&first, 0, b"words").await;
    runner.update(&first, "running").await;
    runner.upload_artifacts(&first, "out.zip", b"x").await;
    assert_eq!(delivered_events(&fixture, &receiver).await, [""; 0], "nothing has changed");
    runner.finish(&first, "success").await;
    // That the next build becomes pending is no event, and the pipeline keeps running.
    assert_eq!(delivered_events(&fixture, &receiver).await, ["first success"]);
    let second = runner.claim().await;
    assert_eq!(delivered_events(&fixture, &receiver).await, ["second running"]);
    runner.finish(&second, "failed").await;
    assert_eq!(delivered_events(&fixture, &receiver).await, ["pipeline failed", "second failed"]);
    assert_eq!(runner.update(&second, "success").await.status, 403);
    assert_eq!(delivered_events(&fixture, &receiver).await, [""; 0], "nothing has changed");
    let copy = fixture.build_action(&fixture.build("second").await, "retry").await;
    assert_eq!(copy.status, 201);
    assert_eq!(delivered_events(&fixture, &receiver).await, ["pipeline running", "second pending"]);
    let pipeline = fixture.pipeline().await;
    let canceled = fixture.ada.post(&fixture.path(&format!("/pipelines/{}/cancel", pipeline["id"])), &[]).await;
    assert_eq!(canceled.status, 200);
    assert_eq!(delivered_events(&fixture, &receiver).await, ["pipeline canceled", "second canceled"]);
}

/// However late they are delivered, events have the state and the order of the time at which they happened.
#[tokio::test]
async fn late_deliveries_keep_their_order_and_content() {
    let (fixture, receiver) = set_up(SIMPLE, &["build_events", "pipeline_events"]).await;
    let runner = fixture.runner().await;
    fixture.server.deliver_hooks().await;
    receiver.take_received();
    runner.finish(&runner.claim().await, "success").await;
    fixture.start_pipeline().await;
    runner.finish(&runner.claim().await, "failed").await;
    fixture.server.deliver_hooks().await;
    let received = receiver.take_received();
    let of = |kind: &str| -> Vec<String> {
        received.iter().filter(|it| it.body["object_kind"] == kind).map(summarize).collect()
    };
    assert_eq!(of("build"), ["one running", "one success", "one pending", "one running", "one failed"]);
    let pipelines = ["running", "success", "pending", "running", "failed"].map(|status| format!("pipeline {status}"));
    assert_eq!(of("pipeline"), pipelines);
    assert_eq!(received.len(), 10);
}

#[tokio::test]
async fn build_and_pipeline_events_are_enabled_separately() {
    let (fixture, receiver) = set_up(SIMPLE, &[]).await;
    let others = ["tag_push_events", "issues_events", "note_events", "merge_requests_events", "wiki_page_events"];
    create_hook(&fixture, &receiver, "/others", &others).await;
    let runner = fixture.runner().await;
    runner.finish(&runner.claim().await, "success").await;
    fixture.server.deliver_hooks().await;
    assert_eq!(receiver.take_received().len(), 0);
    create_hook(&fixture, &receiver, "/builds", &["build_events"]).await;
    create_hook(&fixture, &receiver, "/pipelines", &["pipeline_events"]).await;
    fixture.start_pipeline().await;
    runner.finish(&runner.claim().await, "success").await;
    fixture.server.deliver_hooks().await;
    let received = receiver.take_received();
    let at = |path: &str| -> Vec<String> { received.iter().filter(|it| it.path == path).map(summarize).collect() };
    assert_eq!(at("/builds"), ["one pending", "one running", "one success"]);
    assert_eq!(at("/pipelines"), ["pipeline pending", "pipeline running", "pipeline success"]);
    assert_eq!(received.len(), 6);
}

/// An external commit status is not a build, but changes the status of the pipeline.
#[tokio::test]
async fn external_statuses_cause_pipeline_events_only() {
    let (fixture, receiver) = set_up(SIMPLE, &["build_events", "pipeline_events"]).await;
    let runner = fixture.runner().await;
    runner.finish(&runner.claim().await, "success").await;
    fixture.server.deliver_hooks().await;
    receiver.take_received();
    let path = fixture.path(&format!("/statuses/{}", fixture.sha));
    assert_eq!(fixture.ada.post(&path, &[("state", "failed"), ("name", "lint")]).await.status, 201);
    assert_eq!(delivered_events(&fixture, &receiver).await, ["pipeline failed"]);
}

/// Creates a build that took ten seconds, and returns the events of the build and of its pipeline.
async fn set_up_finished(event: &str) -> (CiFixture, Value, Value) {
    let (fixture, receiver) = set_up(SIMPLE, &[event]).await;
    let runner = super::Runner::register_for(&fixture, json!({ "description": "mine" })).await;
    runner.claim().await;
    let made = fixture.start_pipeline().await;
    fixture.server.advance(TimeDelta::seconds(5));
    let job = runner.claim().await;
    fixture.server.advance(TimeDelta::seconds(10));
    assert_eq!(runner.upload_artifacts(&job, "out.zip", b"left").await.status, 201);
    runner.finish(&job, "success").await;
    fixture.server.deliver_hooks().await;
    let last = receiver.take_received().last().unwrap().body.clone();
    let ids = json!({ "build": job.id, "pipeline": made["id"], "runner": runner.id });
    (fixture, last, ids)
}

#[tokio::test]
async fn build_event_payload_is_complete() {
    let (fixture, body, ids) = set_up_finished("build_events").await;
    let message = &body["commit"]["message"];
    assert_eq!(message.as_str().unwrap().trim_end(), "First");
    assert_eq!(
        body,
        json!({
            "object_kind": "build",
            "ref": "main",
            "tag": false,
            "before_sha": "0".repeat(40),
            "sha": fixture.sha,
            "build_id": ids["build"],
            "build_name": "one",
            "build_stage": "test",
            "build_status": "success",
            "build_started_at": "2026-01-02T03:04:10.678Z",
            "build_finished_at": "2026-01-02T03:04:20.678Z",
            "build_duration": 10.0,
            "build_allow_failure": false,
            "project_id": fixture.project,
            "project_name": "ada/p",
            "user": { "id": 2, "name": "User ada", "email": "ada@example.com" },
            "commit": {
                "id": ids["pipeline"],
                "sha": fixture.sha,
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
async fn pipeline_event_payload_is_complete() {
    let (fixture, body, ids) = set_up_finished("pipeline_events").await;
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
                "sha": fixture.sha,
                "before_sha": "0".repeat(40),
                "status": "success",
                "stages": ["test"],
                "created_at": "2026-01-02T03:04:05.678Z",
                "finished_at": "2026-01-02T03:04:20.678Z",
                "duration": 10,
            },
            "user": user,
            // Without the legacy attributes of other payloads.
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
                "id": fixture.sha,
                "message": message,
                "timestamp": body["commit"]["timestamp"],
                "url": format!("http://holdfast.test/ada/p/commit/{}", fixture.sha),
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

/// A manual build, and one that no runner has claimed yet.
#[tokio::test]
async fn absent_values_in_pipeline_events_are_null() {
    let file = "stages: [a, b]\none: {stage: a, script: x}\nhand: {stage: b, script: x, when: manual}\n";
    let (fixture, receiver) = set_up(file, &["pipeline_events"]).await;
    fixture.start_pipeline().await;
    fixture.server.deliver_hooks().await;
    let body = receiver.take_received().last().unwrap().body.clone();
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
