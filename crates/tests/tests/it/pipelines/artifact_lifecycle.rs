//! Expiry of artifacts, and finding them by the name of a ref.

use chrono::TimeDelta;
use holdfast_tests::TestResponse;
use reqwest::multipart::Form;
use serde_json::json;

use super::fixtures::{count_rows, count_stored, file_part};
use super::{CiFixture, Job, Runner, SIMPLE};

async fn download_artifacts(ground: &CiFixture, build: i64) -> TestResponse {
    ground.ada.get(&ground.path(&format!("/builds/{build}/artifacts"))).await
}

/// Creates a finished build with artifacts that expire after a day.
async fn set_up() -> (CiFixture, Runner, Job) {
    let ground = CiFixture::with_file(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.claim().await;
    let form = Form::new().part("file", file_part("out.zip", b"left"));
    assert_eq!(runner.upload_form(&job, "?expire_in=1+day", form).await.status, 201);
    runner.finish(&job, "success").await;
    (ground, runner, job)
}

#[tokio::test]
async fn artifacts_expire() {
    let (ground, _, job) = set_up().await;
    ground.server.advance(TimeDelta::hours(24) - TimeDelta::seconds(1));
    ground.server.sweep_builds().await;
    assert_eq!(download_artifacts(&ground, job.id).await.text, "left");
    ground.server.advance(TimeDelta::seconds(2));
    assert_eq!(
        download_artifacts(&ground, job.id).await.status_and_body(),
        (404, &json!({ "message": "404 Not found" }))
    );
    let keep = ground.build_action(&ground.build("one").await, "artifacts/keep").await;
    assert_eq!(keep.status, 404, "too late");
    assert_eq!(count_stored(&ground.server, "artifacts"), 1, "nobody has come by yet");
    ground.server.sweep_builds().await;
    assert_eq!((count_rows(&ground.server, "artifacts").await, count_stored(&ground.server, "artifacts")), (0, 0));
    assert_eq!(count_rows(&ground.server, "build_objects").await, 0);
    assert_eq!(ground.build("one").await["status"], "success");
}

/// Expired artifacts are not shown.
#[tokio::test]
async fn builds_do_not_show_expired_artifacts() {
    let (ground, ..) = set_up().await;
    assert_eq!(ground.build("one").await["artifacts_file"], json!({ "filename": "out.zip", "size": 4 }));
    ground.server.advance(TimeDelta::hours(25));
    assert_eq!(ground.build("one").await.get("artifacts_file"), None);
    ground.server.sweep_builds().await;
    assert_eq!(ground.build("one").await.get("artifacts_file"), None);
}

/// Another build of the pipeline cannot download expired artifacts either.
#[tokio::test]
async fn builds_cannot_download_expired_artifacts() {
    let ground = CiFixture::with_file(super::fixtures::STAGES).await;
    let runner = ground.runner().await;
    let first = runner.claim().await;
    let form = Form::new().part("file", file_part("out.zip", b"left"));
    assert_eq!(runner.upload_form(&first, "?expire_in=1+hour", form).await.status, 201);
    runner.finish(&first, "success").await;
    ground.server.advance(TimeDelta::hours(2));
    let second = runner.claim().await;
    assert_eq!(second.body["dependencies"][0]["id"], first.id);
    assert_eq!(second.body["dependencies"][0].get("artifacts_file"), None);
    assert_eq!(runner.download_artifacts(first.id, &second.token).await.0, 404);
}

#[tokio::test]
async fn kept_artifacts_do_not_expire() {
    let (ground, runner, job) = set_up().await;
    let (_, reporter) = ground.add_member("rob", "20").await;
    let path = ground.path(&format!("/builds/{}/artifacts/keep", job.id));
    assert_eq!(reporter.post(&path, &[]).await.status, 403);
    let kept = ground.ada.post(&path, &[]).await;
    assert_eq!((kept.status, &kept.body["id"]), (200, &json!(job.id)));
    assert_eq!(kept.body["artifacts_file"], json!({ "filename": "out.zip", "size": 4 }));
    ground.server.advance(TimeDelta::days(1000));
    ground.server.sweep_builds().await;
    assert_eq!(download_artifacts(&ground, job.id).await.text, "left");
    // Artifacts of a build without artifacts cannot be kept.
    ground.start_pipeline().await;
    let empty = runner.claim().await;
    let keep = ground.ada.post(&ground.path(&format!("/builds/{}/artifacts/keep", empty.id)), &[]).await;
    assert_eq!(keep.status_and_body(), (404, &json!({ "message": "404 Not found" })));
}

#[tokio::test]
async fn erased_artifacts_are_deleted() {
    let (ground, _, job) = set_up().await;
    let (_, reporter) = ground.add_member("rob", "20").await;
    let path = ground.path(&format!("/builds/{}/erase", job.id));
    assert_eq!(reporter.post(&path, &[]).await.status, 403);
    let erased = ground.ada.post(&path, &[]).await;
    assert_eq!((erased.status, erased.body.get("artifacts_file")), (201, None));
    assert_eq!(download_artifacts(&ground, job.id).await.status, 404);
    assert_eq!(count_rows(&ground.server, "artifacts").await, 0);
    ground.server.sweep_builds().await;
    assert_eq!((count_rows(&ground.server, "build_objects").await, count_stored(&ground.server, "artifacts")), (0, 0));
    let again = ground.ada.post(&path, &[]).await;
    assert_eq!(again.status_and_body(), (403, &json!({ "message": "403 Forbidden  - Build is not erasable!" })));
    assert_eq!(ground.build("one").await["status"], "success");
}

#[tokio::test]
async fn running_builds_cannot_be_erased() {
    let ground = CiFixture::with_file(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.claim().await;
    assert_eq!(runner.upload_artifacts(&job, "out.zip", b"left").await.status, 201);
    let refused = ground.build_action(&ground.build("one").await, "erase").await;
    assert_eq!(refused.status_and_body(), (403, &json!({ "message": "403 Forbidden  - Build is not erasable!" })));
    assert_eq!(download_artifacts(&ground, job.id).await.text, "left");
}

#[tokio::test]
async fn artifacts_are_found_by_ref_name() {
    let ground = CiFixture::with_file("one: {script: x}\ntwo: {script: x}\n").await;
    let runner = ground.runner().await;
    // Pipelines of `main`, which are not requested, and then three of a branch: two that succeed and one that fails.
    let finish = async |state: &str, content: &str| {
        for _ in 0..2 {
            let job = runner.claim().await;
            if job.name() == "one" {
                assert_eq!(runner.upload_artifacts(&job, "out.zip", content.as_bytes()).await.status, 201);
            }
            runner.finish(&job, state).await;
        }
    };
    finish("success", "of main").await;
    let path = |reference: &str, job: &str| ground.path(&format!("/builds/artifacts/{reference}/download{job}"));
    let branch = path("feature%2Fx", "?job=one");
    ground.push("main:feature/x").await;
    assert_eq!(ground.ada.get(&branch).await.status_and_body(), (404, &json!({ "message": "404 Not found" })));
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
    assert_eq!(ground.ada.get(&path("main", "")).await.status_and_body(), (400, &json!({ "error": "job is missing" })));
    let (_, guest) = ground.add_member("gus", "10").await;
    let (_, eve) = ground.server.user("eve").await;
    assert_eq!((guest.get(&branch).await.status, eve.get(&branch).await.status), (403, 404));
}
