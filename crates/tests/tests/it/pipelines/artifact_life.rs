//! How long the files that builds leave are kept, and finding them by the name of a ref.

use chrono::TimeDelta;
use holdfast_tests::Answer;
use reqwest::multipart::Form;
use serde_json::json;

use super::scene::{file, rows, stored};
use super::{Ground, Job, Runner, SIMPLE};

async fn left(ground: &Ground, build: i64) -> Answer {
    ground.ada.get(&ground.path(&format!("/builds/{build}/artifacts"))).await
}

/// A build that left something for a day, and is over.
async fn world() -> (Ground, Runner, Job) {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    let form = Form::new().part("file", file("out.zip", b"left"));
    assert_eq!(runner.leave_form(&job, "?expire_in=1+day", form).await.status, 201);
    runner.finish(&job, "success").await;
    (ground, runner, job)
}

#[tokio::test]
async fn they_go_when_their_time_is_over() {
    let (ground, _, job) = world().await;
    ground.server.advance(TimeDelta::hours(24) - TimeDelta::seconds(1));
    ground.server.sweep().await;
    assert_eq!(left(&ground, job.id).await.text, "left");
    ground.server.advance(TimeDelta::seconds(2));
    assert_eq!(left(&ground, job.id).await.both(), (404, &json!({ "message": "404 Not found" })));
    let keep = ground.act(&ground.build("one").await, "artifacts/keep").await;
    assert_eq!(keep.status, 404, "too late");
    assert_eq!(stored(&ground.server, "artifacts"), 1, "nobody has come by yet");
    ground.server.sweep().await;
    assert_eq!((rows(&ground.server, "artifacts").await, stored(&ground.server, "artifacts")), (0, 0));
    assert_eq!(rows(&ground.server, "build_objects").await, 0);
    assert_eq!(ground.build("one").await["status"], "success");
}

/// What cannot be had is not shown as something that is there.
#[tokio::test]
async fn a_build_does_not_show_what_is_over() {
    let (ground, ..) = world().await;
    assert_eq!(ground.build("one").await["artifacts_file"], json!({ "filename": "out.zip", "size": 4 }));
    ground.server.advance(TimeDelta::hours(25));
    assert_eq!(ground.build("one").await.get("artifacts_file"), None);
    ground.server.sweep().await;
    assert_eq!(ground.build("one").await.get("artifacts_file"), None);
}

/// Another build of the pipeline finds nothing there any more either.
#[tokio::test]
async fn what_is_over_is_over_for_builds_too() {
    let ground = Ground::with(super::scene::STAGES).await;
    let runner = ground.runner().await;
    let first = runner.take().await;
    let form = Form::new().part("file", file("out.zip", b"left"));
    assert_eq!(runner.leave_form(&first, "?expire_in=1+hour", form).await.status, 201);
    runner.finish(&first, "success").await;
    ground.server.advance(TimeDelta::hours(2));
    let second = runner.take().await;
    assert_eq!(second.body["dependencies"][0]["id"], first.id);
    assert_eq!(second.body["dependencies"][0].get("artifacts_file"), None);
    assert_eq!(runner.fetch(first.id, &second.token).await.0, 404);
}

#[tokio::test]
async fn they_can_be_kept() {
    let (ground, runner, job) = world().await;
    let (_, reporter) = ground.member("rob", "20").await;
    let path = ground.path(&format!("/builds/{}/artifacts/keep", job.id));
    assert_eq!(reporter.post(&path, &[]).await.status, 403);
    let kept = ground.ada.post(&path, &[]).await;
    assert_eq!((kept.status, &kept.body["id"]), (200, &json!(job.id)));
    assert_eq!(kept.body["artifacts_file"], json!({ "filename": "out.zip", "size": 4 }));
    ground.server.advance(TimeDelta::days(1000));
    ground.server.sweep().await;
    assert_eq!(left(&ground, job.id).await.text, "left");
    // Of a build that left nothing, nothing can be kept.
    ground.start().await;
    let empty = runner.take().await;
    let keep = ground.ada.post(&ground.path(&format!("/builds/{}/artifacts/keep", empty.id)), &[]).await;
    assert_eq!(keep.both(), (404, &json!({ "message": "404 Not found" })));
}

#[tokio::test]
async fn they_can_be_erased_and_then_are_nowhere() {
    let (ground, _, job) = world().await;
    let (_, reporter) = ground.member("rob", "20").await;
    let path = ground.path(&format!("/builds/{}/erase", job.id));
    assert_eq!(reporter.post(&path, &[]).await.status, 403);
    let erased = ground.ada.post(&path, &[]).await;
    assert_eq!((erased.status, erased.body.get("artifacts_file")), (201, None));
    assert_eq!(left(&ground, job.id).await.status, 404);
    assert_eq!(rows(&ground.server, "artifacts").await, 0);
    ground.server.sweep().await;
    assert_eq!((rows(&ground.server, "build_objects").await, stored(&ground.server, "artifacts")), (0, 0));
    let again = ground.ada.post(&path, &[]).await;
    assert_eq!(again.both(), (403, &json!({ "message": "403 Forbidden  - Build is not erasable!" })));
    assert_eq!(ground.build("one").await["status"], "success");
}

#[tokio::test]
async fn one_that_runs_is_not_erased() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    assert_eq!(runner.leave(&job, "out.zip", b"left").await.status, 201);
    let refused = ground.act(&ground.build("one").await, "erase").await;
    assert_eq!(refused.both(), (403, &json!({ "message": "403 Forbidden  - Build is not erasable!" })));
    assert_eq!(left(&ground, job.id).await.text, "left");
}

#[tokio::test]
async fn by_the_name_of_a_ref() {
    let ground = Ground::with("one: {script: x}\ntwo: {script: x}\n").await;
    let runner = ground.runner().await;
    // Pipelines of `main` that are not asked for, and then three of a branch: two that succeed and one that does not.
    let finish = async |state: &str, content: &str| {
        for _ in 0..2 {
            let job = runner.take().await;
            if job.name() == "one" {
                assert_eq!(runner.leave(&job, "out.zip", content.as_bytes()).await.status, 201);
            }
            runner.finish(&job, state).await;
        }
    };
    finish("success", "of main").await;
    let path = |reference: &str, job: &str| ground.path(&format!("/builds/artifacts/{reference}/download{job}"));
    let branch = path("feature%2Fx", "?job=one");
    ground.push("main:feature/x").await;
    assert_eq!(ground.ada.get(&branch).await.both(), (404, &json!({ "message": "404 Not found" })));
    finish("success", "old").await;
    assert_eq!(ground.ada.get(&branch).await.text, "old");
    let again = async || {
        let made = ground.ada.post(&ground.path("/pipeline"), &[("ref", "feature/x")]).await;
        assert_eq!(made.status, 201, "{}", made.text);
    };
    again().await;
    assert_eq!(ground.ada.get(&branch).await.text, "old", "the new one is not done yet");
    finish("success", "new").await;
    again().await;
    finish("failed", "failed").await;
    let answer = ground.ada.get(&branch).await;
    assert_eq!((answer.status, &*answer.text), (200, "new"));
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"out.zip\""));
    assert_eq!(answer.header("content-transfer-encoding"), Some("binary"));
    assert_eq!(ground.ada.get(&path("main", "?job=one")).await.text, "of main");
    for (reference, job) in [("main", "?job=two"), ("main", "?job=three"), ("none", "?job=one"), ("x", "?job=one")] {
        assert_eq!(ground.ada.get(&path(reference, job)).await.status, 404, "{reference} {job}");
    }
    assert_eq!(ground.ada.get(&path("main", "")).await.both(), (400, &json!({ "error": "job is missing" })));
    let (_, guest) = ground.member("gus", "10").await;
    let (_, eve) = ground.server.user("eve").await;
    assert_eq!((guest.get(&branch).await.status, eve.get(&branch).await.status), (403, 404));
}
