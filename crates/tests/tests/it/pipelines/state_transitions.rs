//! State transitions of builds and pipelines.

use chrono::TimeDelta;

use super::{CiFixture, Runner, pairs};

const FILE: &str = "
stages: [build, test, deploy]
compile: {stage: build, script: make}
lint: {stage: build, script: lint, allow_failure: true}
check: {stage: test, script: test}
mourn: {stage: test, script: mail, when: on_failure}
ship: {stage: deploy, script: ship}
hand: {stage: deploy, script: hand, when: manual}
";

async fn finish_next(fixture: &CiFixture, runner: &Runner, name: &str, state: &str) {
    let job = runner.claim().await;
    assert_eq!(job.body["job_info"]["name"], name);
    fixture.server.advance(TimeDelta::seconds(10));
    runner.finish(&job, state).await;
}

#[tokio::test]
async fn stages_run_in_order() {
    let fixture = CiFixture::with_file(FILE).await;
    let runner = fixture.runner().await;
    fixture.server.advance(TimeDelta::seconds(5));
    finish_next(&fixture, &runner, "compile", "success").await;
    assert_eq!(fixture.pipeline().await["status"], "running");
    finish_next(&fixture, &runner, "lint", "failed").await;
    let waiting =
        [("compile", "success"), ("lint", "failed"), ("check", "pending"), ("mourn", "skipped"), ("ship", "created")];
    assert_eq!(fixture.statuses().await[..5], pairs(&waiting));
    finish_next(&fixture, &runner, "check", "success").await;
    finish_next(&fixture, &runner, "ship", "success").await;
    let done = fixture.pipeline().await;
    assert_eq!((done["status"].as_str(), done["duration"].as_i64()), (Some("success"), Some(40)));
    assert_eq!(done["started_at"], "2026-01-02T03:04:10.678Z");
    assert_eq!(done["finished_at"], "2026-01-02T03:04:50.678Z");
    assert!(runner.request().await.is_none());
    // A user plays the skipped manual build.
    let hand = fixture.build("hand").await;
    assert_eq!(hand["status"], "skipped");
    let played = fixture.build_action(&hand, "play").await;
    assert_eq!((played.status, played.body["status"].as_str()), (200, Some("pending")));
    assert_eq!(fixture.build_action(&hand, "play").await.status, 400);
    finish_next(&fixture, &runner, "hand", "success").await;
    assert_eq!(fixture.pipeline().await["status"], "success");
}

#[tokio::test]
async fn failed_builds_can_be_retried() {
    let fixture = CiFixture::with_file(FILE).await;
    let runner = fixture.runner().await;
    finish_next(&fixture, &runner, "compile", "success").await;
    finish_next(&fixture, &runner, "lint", "success").await;
    finish_next(&fixture, &runner, "check", "failed").await;
    let failed = [("check", "failed"), ("mourn", "skipped"), ("ship", "skipped"), ("hand", "skipped")];
    assert_eq!(fixture.statuses().await[2..], pairs(&failed));
    let pipeline = fixture.pipeline().await;
    assert_eq!(pipeline["status"], "failed");
    let retried = fixture.ada.post(&fixture.path(&format!("/pipelines/{}/retry", pipeline["id"])), &[]).await;
    assert_eq!((retried.status, retried.body["status"].as_str()), (201, Some("pending")));
    let again = [("mourn", "skipped"), ("ship", "created"), ("hand", "created"), ("check", "pending")];
    assert_eq!(fixture.statuses().await[3..], pairs(&again));
    assert_eq!(fixture.pipeline().await["status"], "running");
    finish_next(&fixture, &runner, "check", "success").await;
    finish_next(&fixture, &runner, "ship", "success").await;
    assert_eq!(fixture.pipeline().await["status"], "success");
    let nothing = fixture.ada.post(&fixture.path(&format!("/pipelines/{}/retry", pipeline["id"])), &[]).await;
    assert_eq!((nothing.status, nothing.body["status"].as_str()), (201, Some("success")));
    // A single build is retried.
    let check = fixture.build("check").await;
    let copy = fixture.build_action(&check, "retry").await;
    assert_eq!(
        (copy.status, copy.body["status"].as_str(), copy.body["name"].as_str()),
        (201, Some("pending"), Some("check"))
    );
    assert_ne!(copy.body["id"], check["id"]);
    let refused = fixture.build_action(&check, "retry").await;
    assert_eq!(refused.body["message"], "403 Forbidden  - Build is not retryable");
}

#[tokio::test]
async fn canceled_pipelines_stop_their_builds() {
    let fixture = CiFixture::with_file(FILE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let pipeline = fixture.pipeline().await;
    let canceled = fixture.ada.post(&fixture.path(&format!("/pipelines/{}/cancel", pipeline["id"])), &[]).await;
    assert_eq!((canceled.status, canceled.body["status"].as_str()), (200, Some("canceled")));
    assert!(
        fixture
            .statuses()
            .await
            .iter()
            .all(|(name, status)| { status == "canceled" || ["mourn", "hand"].contains(&name.as_str()) }),
        "{:?}",
        fixture.statuses().await
    );
    assert!(runner.request().await.is_none());
    // The runner is rejected, and its later requests change nothing.
    let response = runner.patch(&job, 0, b"late").await;
    assert_eq!((response.status, response.header("job-status")), (403, "canceled"));
    let response = runner.update(&job, "success").await;
    assert_eq!((response.status, response.header("job-status")), (403, "canceled"));
    assert_eq!(fixture.build("compile").await["status"], "canceled");
    let again = fixture.ada.post(&fixture.path(&format!("/pipelines/{}/cancel", pipeline["id"])), &[]).await;
    assert_eq!(again.status, 200);
}

#[tokio::test]
async fn stale_builds_fail() {
    let fixture = CiFixture::with_file(FILE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    fixture.server.advance(TimeDelta::minutes(59));
    assert_eq!(runner.update(&job, "running").await.status, 200);
    fixture.server.fail_stale_builds().await;
    assert_eq!(fixture.build("compile").await["status"], "running");
    // Heartbeats do not extend the timeout.
    fixture.server.advance(TimeDelta::minutes(17));
    fixture.server.fail_stale_builds().await;
    assert_eq!(fixture.build("compile").await["status"], "failed");
    let response = runner.update(&job, "success").await;
    assert_eq!((response.status, response.header("job-status")), (403, "failed"));
    fixture.server.advance(TimeDelta::hours(25));
    fixture.server.fail_stale_builds().await;
    assert_eq!(fixture.build("lint").await["status"], "failed");
    // The build with `when: on_failure` runs.
    finish_next(&fixture, &runner, "mourn", "success").await;
    assert_eq!(fixture.pipeline().await["status"], "failed");
}
