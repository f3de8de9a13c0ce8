//! The order in which builds are claimed, and long polls.

use std::time::Duration;

use chrono::TimeDelta;
use holdfast_tests::{Server, Setup};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{CiFixture, Runner, RunnerResponse, SIMPLE, send};

const POLL_TIMEOUT: Duration = Duration::from_secs(120);

fn many_jobs() -> String {
    (0..20).map(|number| format!("job{number}:\n  script: make\n")).collect()
}

/// Checks that the only build of a project is among the next two, although another project has many.
async fn check_fairness(claimed: usize, is_finished: bool) {
    let fixture = CiFixture::with_file(&many_jobs()).await;
    let runner = Runner::register_shared(&fixture.server, json!({})).await;
    for _ in 0..claimed {
        let job = runner.claim().await;
        if is_finished {
            runner.finish(&job, "success").await;
        }
    }
    let other = fixture.another_project("q", SIMPLE).await;
    let next = [runner.claim().await, runner.claim().await].map(|job| job.body["job_info"]["project_id"].clone());
    assert!(next.contains(&json!(other)), "{other} is not among {next:?}");
    // The first project goes on.
    let mut left = 0;
    while runner.request().await.is_some() {
        left += 1;
    }
    assert_eq!(left, 20 - claimed - 1);
}

#[tokio::test]
async fn build_queue_is_fair_between_projects() {
    check_fairness(0, false).await;
}

#[tokio::test]
async fn build_queue_is_fair_with_many_running_builds() {
    check_fairness(5, false).await;
}

#[tokio::test]
async fn build_queue_is_fair_after_many_finished_builds() {
    check_fairness(5, true).await;
}

/// Returns the value that a runner without a build gets and sends with its next request.
async fn get_last_update(runner: &Runner) -> String {
    let response = runner.call(Method::POST, "/jobs/request", json!({ "token": runner.token })).await;
    assert_eq!((response.status, &response.body), (204, &json!("")));
    let value = response.header("x-gitlab-last-update").to_owned();
    assert_ne!(value, "");
    value
}

/// Starts a long poll, and returns when it has arrived at the server.
async fn start_polling(server: &Server, runner: &Runner) -> JoinHandle<RunnerResponse> {
    let url = format!("{}/api/v4/jobs/request", server.base_url);
    let body = json!({ "token": runner.token, "last_update": get_last_update(runner).await });
    // The time of the last contact shows that the request has arrived.
    server.advance(TimeDelta::minutes(2));
    let before = contacted_at(server, runner).await;
    let request = tokio::spawn(async move { send(&reqwest::Client::new(), Method::POST, &url, &body).await });
    let arrived = async { while contacted_at(server, runner).await == before {} };
    timeout(POLL_TIMEOUT, arrived).await.expect("the request comes");
    request
}

async fn contacted_at(server: &Server, runner: &Runner) -> Value {
    server.admin.get(&format!("/runners/{}", runner.id)).await.body["contacted_at"].clone()
}

async fn with_long_poll(seconds: u64) -> CiFixture {
    let mut setup = Setup::default();
    setup.settings.ci.long_poll_timeout = Duration::from_secs(seconds);
    setup.limits.request_timeout = Duration::from_secs(600);
    CiFixture::on_server(Server::start_with(setup).await, SIMPLE).await
}

#[tokio::test]
async fn waiting_runners_are_answered_at_shutdown() {
    let fixture = with_long_poll(300).await;
    let runner = fixture.runner().await;
    runner.finish(&runner.claim().await, "success").await;
    let request = start_polling(&fixture.server, &runner).await;
    assert!(!request.is_finished());
    fixture.server.app.shutdown.cancel();
    assert_eq!(timeout(POLL_TIMEOUT, request).await.expect("the poll ends at shutdown").unwrap().status, 204);
}

#[tokio::test]
async fn waiting_runners_get_new_builds_at_once() {
    // The timeout is much longer than the test, so a response means that the runner was notified.
    let fixture = with_long_poll(300).await;
    let own = fixture.runner().await;
    own.finish(&own.claim().await, "success").await;
    let shared = Runner::register_shared(&fixture.server, json!({})).await;
    let tagged = Runner::register_for(&fixture, json!({ "tag_list": "other", "run_untagged": false })).await;
    let paused = Runner::register_for(&fixture, json!({ "paused": true })).await;
    let elsewhere = {
        let project = fixture.another_project("q", "").await;
        let token = fixture.ada.get(&format!("/projects/{project}")).await.body["runners_token"].clone();
        Runner::register(&fixture.server, json!({ "token": token })).await
    };
    let mut bystanders = Vec::new();
    for runner in [&tagged, &elsewhere] {
        bystanders.push(start_polling(&fixture.server, runner).await);
    }
    // A paused runner does not wait.
    let request = start_polling(&fixture.server, &paused).await;
    assert_eq!(timeout(POLL_TIMEOUT, request).await.expect("the response is immediate").unwrap().status, 204);
    for runner in [&own, &shared] {
        let request = start_polling(&fixture.server, runner).await;
        assert!(!request.is_finished());
        let made = fixture.start_pipeline().await;
        let got = timeout(POLL_TIMEOUT, request).await.expect("the response is immediate").unwrap();
        assert_eq!((got.status, &got.body["job_info"]["name"]), (201, &json!("one")));
        assert_eq!(fixture.build("one").await["pipeline"]["id"], made["id"]);
        assert_eq!(fixture.build("one").await["status"], "running");
        assert_eq!(fixture.build("one").await["runner"]["id"], runner.id);
    }
    for request in bystanders {
        assert!(!request.is_finished(), "it is not for everybody");
        request.abort();
    }
}

#[tokio::test]
async fn long_polls_end_after_the_maximum_wait() {
    let fixture = with_long_poll(2).await;
    let runner = fixture.runner().await;
    runner.finish(&runner.claim().await, "success").await;
    let request = start_polling(&fixture.server, &runner).await;
    let got = timeout(POLL_TIMEOUT, request).await.expect("it is answered").unwrap();
    assert_eq!((got.status, &got.body), (204, &json!("")));
    assert_ne!(got.header("x-gitlab-last-update"), "");
}

#[tokio::test]
async fn one_of_two_waiting_runners_gets_the_build() {
    let fixture = with_long_poll(6).await;
    let (one, two) = (fixture.runner().await, fixture.runner().await);
    one.finish(&one.claim().await, "success").await;
    let requests = [start_polling(&fixture.server, &one).await, start_polling(&fixture.server, &two).await];
    fixture.start_pipeline().await;
    let mut statuses = Vec::new();
    for request in requests {
        statuses.push(timeout(POLL_TIMEOUT, request).await.expect("it is answered").unwrap().status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 204]);
}

#[tokio::test]
async fn requests_without_last_update_do_not_wait() {
    let fixture = with_long_poll(300).await;
    let runner = fixture.runner().await;
    runner.claim().await;
    let nothing = timeout(POLL_TIMEOUT, runner.request()).await.expect("it is answered at once");
    assert!(nothing.is_none());
}

/// Claiming is atomic: however many runners ask at the same time, each build goes to one of them.
#[tokio::test]
async fn no_build_is_claimed_twice() {
    let fixture = CiFixture::with_file(&many_jobs()).await;
    let runner = fixture.runner().await;
    let url = format!("{}/api/v4/jobs/request", fixture.server.base_url);
    let ask = |_| {
        let (url, body) = (url.clone(), json!({ "token": runner.token }));
        tokio::spawn(async move { send(&reqwest::Client::new(), Method::POST, &url, &body).await })
    };
    let requests: Vec<JoinHandle<RunnerResponse>> = (0..30).map(ask).collect();
    let mut ids = Vec::new();
    for request in requests {
        let got = request.await.unwrap();
        match got.status {
            201 => ids.push(got.body["id"].as_i64().unwrap()),
            // Another runner was faster, and this one has to ask again.
            204 | 409 => {}
            other => panic!("{other} {}", got.body),
        }
    }
    while let Some(job) = runner.request().await {
        ids.push(job.id);
    }
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!((all, ids.len()), (20, 20));
}
