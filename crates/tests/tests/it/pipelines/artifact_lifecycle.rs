//! Expiry of artifacts, and finding them by the name of a ref.

use chrono::TimeDelta;
use holdfast_tests::TestResponse;
use reqwest::multipart::Form;
use serde_json::json;

use super::fixtures::{count_rows, count_stored, file_part};
use super::{CiFixture, Job, Runner, SIMPLE};

async fn download_artifacts(fixture: &CiFixture, build: i64) -> TestResponse {
    fixture.ada.get(&fixture.path(&format!("/builds/{build}/artifacts"))).await
}

/// Creates a finished build with artifacts that expire after a day.
async fn set_up() -> (CiFixture, Runner, Job) {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let form = Form::new().part("file", file_part("out.zip", b"left"));
    assert_eq!(runner.upload_form(&job, "?expire_in=1+day", form).await.status, 201);
    runner.finish(&job, "success").await;
    (fixture, runner, job)
}

#[tokio::test]
async fn artifacts_expire() {
    let (fixture, _, job) = set_up().await;
    fixture.server.advance(TimeDelta::hours(24) - TimeDelta::seconds(1));
    fixture.server.sweep_builds().await;
    assert_eq!(download_artifacts(&fixture, job.id).await.text, "left");
    fixture.server.advance(TimeDelta::seconds(2));
    assert_eq!(
        download_artifacts(&fixture, job.id).await.status_and_body(),
        (404, &json!({ "message": "404 Not found" }))
    );
    let keep = fixture.build_action(&fixture.build("one").await, "artifacts/keep").await;
    assert_eq!(keep.status, 404, "too late");
    assert_eq!(count_stored(&fixture.server, "artifacts"), 1, "nobody has come by yet");
    fixture.server.sweep_builds().await;
    assert_eq!((count_rows(&fixture.server, "artifacts").await, count_stored(&fixture.server, "artifacts")), (0, 0));
    assert_eq!(count_rows(&fixture.server, "build_objects").await, 0);
    assert_eq!(fixture.build("one").await["status"], "success");
}

/// Expired artifacts are not shown.
#[tokio::test]
async fn builds_do_not_show_expired_artifacts() {
    let (fixture, ..) = set_up().await;
    assert_eq!(fixture.build("one").await["artifacts_file"], json!({ "filename": "out.zip", "size": 4 }));
    fixture.server.advance(TimeDelta::hours(25));
    assert_eq!(fixture.build("one").await.get("artifacts_file"), None);
    fixture.server.sweep_builds().await;
    assert_eq!(fixture.build("one").await.get("artifacts_file"), None);
}

/// Another build of the pipeline cannot download expired artifacts either.
#[tokio::test]
async fn builds_cannot_download_expired_artifacts() {
    let fixture = CiFixture::with_file(super::fixtures::STAGES).await;
    let runner = fixture.runner().await;
    let first = runner.claim().await;
    let form = Form::new().part("file", file_part("out.zip", b"left"));
    assert_eq!(runner.upload_form(&first, "?expire_in=1+hour", form).await.status, 201);
    runner.finish(&first, "success").await;
    fixture.server.advance(TimeDelta::hours(2));
    let second = runner.claim().await;
    assert_eq!(second.body["dependencies"][0]["id"], first.id);
    assert_eq!(second.body["dependencies"][0].get("artifacts_file"), None);
    assert_eq!(runner.download_artifacts(first.id, &second.token).await.0, 404);
}

#[tokio::test]
async fn kept_artifacts_do_not_expire() {
    let (fixture, runner, job) = set_up().await;
    let (_, reporter) = fixture.add_member("rob", "20").await;
    let path = fixture.path(&format!("/builds/{}/artifacts/keep", job.id));
    assert_eq!(reporter.post(&path, &[]).await.status, 403);
    let kept = fixture.ada.post(&path, &[]).await;
    assert_eq!((kept.status, &kept.body["id"]), (200, &json!(job.id)));
    assert_eq!(kept.body["artifacts_file"], json!({ "filename": "out.zip", "size": 4 }));
    fixture.server.advance(TimeDelta::days(1000));
    fixture.server.sweep_builds().await;
    assert_eq!(download_artifacts(&fixture, job.id).await.text, "left");
    // Artifacts of a build without artifacts cannot be kept.
    fixture.start_pipeline().await;
    let empty = runner.claim().await;
    let keep = fixture.ada.post(&fixture.path(&format!("/builds/{}/artifacts/keep", empty.id)), &[]).await;
    assert_eq!(keep.status_and_body(), (404, &json!({ "message": "404 Not found" })));
}

#[tokio::test]
async fn erased_artifacts_are_deleted() {
    let (fixture, _, job) = set_up().await;
    let (_, reporter) = fixture.add_member("rob", "20").await;
    let path = fixture.path(&format!("/builds/{}/erase", job.id));
    assert_eq!(reporter.post(&path, &[]).await.status, 403);
    let erased = fixture.ada.post(&path, &[]).await;
    assert_eq!((erased.status, erased.body.get("artifacts_file")), (201, None));
    assert_eq!(download_artifacts(&fixture, job.id).await.status, 404);
    assert_eq!(count_rows(&fixture.server, "artifacts").await, 0);
    fixture.server.sweep_builds().await;
    assert_eq!(
        (count_rows(&fixture.server, "build_objects").await, count_stored(&fixture.server, "artifacts")),
        (0, 0)
    );
    let again = fixture.ada.post(&path, &[]).await;
    assert_eq!(again.status_and_body(), (403, &json!({ "message": "403 Forbidden  - Build is not erasable!" })));
    assert_eq!(fixture.build("one").await["status"], "success");
}

#[tokio::test]
async fn running_builds_cannot_be_erased() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    assert_eq!(runner.upload_artifacts(&job, "out.zip", b"left").await.status, 201);
    let refused = fixture.build_action(&fixture.build("one").await, "erase").await;
    assert_eq!(refused.status_and_body(), (403, &json!({ "message": "403 Forbidden  - Build is not erasable!" })));
    assert_eq!(download_artifacts(&fixture, job.id).await.text, "left");
}

#[tokio::test]
async fn artifacts_are_found_by_ref_name() {
    let fixture = CiFixture::with_file("one: {script: x}\ntwo: {script: x}\n").await;
    let runner = fixture.runner().await;
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
    let path = |reference: &str, job: &str| fixture.path(&format!("/builds/artifacts/{reference}/download{job}"));
    let branch = path("feature%2Fx", "?job=one");
    fixture.push("main:feature/x").await;
    assert_eq!(fixture.ada.get(&branch).await.status_and_body(), (404, &json!({ "message": "404 Not found" })));
    finish("success", "old").await;
    assert_eq!(fixture.ada.get(&branch).await.text, "old");
    let again = async || {
        let made = fixture.ada.post(&fixture.path("/pipeline"), &[("ref", "feature/x")]).await;
        assert_eq!(made.status, 201, "{}", made.text);
    };
    again().await;
    assert_eq!(fixture.ada.get(&branch).await.text, "old", "the new one is not done yet");
    finish("success", "new").await;
    again().await;
    finish("failed", "failed").await;
    let answer = fixture.ada.get(&branch).await;
    assert_eq!((answer.status, &*answer.text), (200, "new"));
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"out.zip\""));
    assert_eq!(answer.header("content-transfer-encoding"), Some("binary"));
    assert_eq!(fixture.ada.get(&path("main", "?job=one")).await.text, "of main");
    for (reference, job) in [("main", "?job=two"), ("main", "?job=three"), ("none", "?job=one"), ("x", "?job=one")] {
        assert_eq!(fixture.ada.get(&path(reference, job)).await.status, 404, "{reference} {job}");
    }
    assert_eq!(
        fixture.ada.get(&path("main", "")).await.status_and_body(),
        (400, &json!({ "error": "job is missing" }))
    );
    let (_, guest) = fixture.add_member("gus", "10").await;
    let (_, eve) = fixture.server.user("eve").await;
    assert_eq!((guest.get(&branch).await.status, eve.get(&branch).await.status), (403, 404));
}

/// A path that exists for another method only is no file of the artifacts, whatever these contain.
#[tokio::test]
async fn keeping_artifacts_with_get_responds_like_other_wrong_methods() {
    let (fixture, _, job) = set_up().await;
    for action in ["artifacts/keep", "cancel", "erase"] {
        let path = format!("/api/v4{}", fixture.path(&format!("/jobs/{}/{action}", job.id)));
        let answer = fixture.ada.get(&path).await;
        assert_eq!(answer.status_and_body(), (404, &json!({ "error": "404 Not Found" })), "{action}");
    }
}
