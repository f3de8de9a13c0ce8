//! Whose build is next, and runners that wait for one.

use std::time::Duration;

use chrono::TimeDelta;
use holdfast_tests::{Server, Setup};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Ground, Runner, SIMPLE, Said, send};

const SOON: Duration = Duration::from_secs(120);

fn many() -> String {
    (0..20).map(|number| format!("job{number}:\n  script: make\n")).collect()
}

/// One project has much to do, another has one build: that one is the next but one at the latest.
async fn another_has_its_turn(taken: usize, is_over: bool) {
    let ground = Ground::with(&many()).await;
    let runner = Runner::shared(&ground.server, json!({})).await;
    for _ in 0..taken {
        let job = runner.take().await;
        if is_over {
            runner.finish(&job, "success").await;
        }
    }
    let other = ground.another_project("q", SIMPLE).await;
    let next = [runner.take().await, runner.take().await].map(|job| job.body["job_info"]["project_id"].clone());
    assert!(next.contains(&json!(other)), "{other} is not among {next:?}");
    // And the first one goes on.
    let mut left = 0;
    while runner.request().await.is_some() {
        left += 1;
    }
    assert_eq!(left, 20 - taken - 1);
}

#[tokio::test]
async fn a_project_does_not_wait_for_all_that_another_wants() {
    another_has_its_turn(0, false).await;
}

#[tokio::test]
async fn a_project_does_not_wait_for_one_of_which_much_runs() {
    another_has_its_turn(5, false).await;
}

#[tokio::test]
async fn a_project_does_not_wait_for_one_of_which_much_is_done() {
    another_has_its_turn(5, true).await;
}

/// What has nothing to do is told so, with a word to be said by the next request.
async fn last_update(runner: &Runner) -> String {
    let nothing = runner.call(Method::POST, "/jobs/request", json!({ "token": runner.token })).await;
    assert_eq!((nothing.status, &nothing.body), (204, &json!("")));
    let word = nothing.header("x-gitlab-last-update").to_owned();
    assert_ne!(word, "");
    word
}

/// A request that may wait, begun.
async fn waiting(server: &Server, runner: &Runner) -> JoinHandle<Said> {
    let url = format!("{}/api/v4/jobs/request", server.base);
    let body = json!({ "token": runner.token, "last_update": last_update(runner).await });
    // By the time at which it was heard of last it is seen that its request has come.
    server.advance(TimeDelta::minutes(2));
    let before = contact(server, runner).await;
    let request = tokio::spawn(async move { send(&reqwest::Client::new(), Method::POST, &url, &body).await });
    let come = async { while contact(server, runner).await == before {} };
    timeout(SOON, come).await.expect("the request comes");
    request
}

async fn contact(server: &Server, runner: &Runner) -> Value {
    server.admin.get(&format!("/runners/{}", runner.id)).await.body["contacted_at"].clone()
}

async fn with_wait(seconds: u64) -> Ground {
    let mut setup = Setup::default();
    setup.settings.ci.longest_wait = Duration::from_secs(seconds);
    setup.limits.request_timeout = Duration::from_secs(600);
    Ground::on(Server::with(setup).await, SIMPLE).await
}

#[tokio::test]
async fn who_waits_gets_a_build_as_soon_as_there_is_one() {
    // Much longer than anything here takes: whoever is answered was called.
    let ground = with_wait(300).await;
    let own = ground.runner().await;
    own.finish(&own.take().await, "success").await;
    let shared = Runner::shared(&ground.server, json!({})).await;
    let tagged = Runner::of(&ground, json!({ "tag_list": "other", "run_untagged": false })).await;
    let paused = Runner::of(&ground, json!({ "paused": true })).await;
    let elsewhere = {
        let project = ground.another_project("q", "").await;
        let token = ground.ada.get(&format!("/projects/{project}")).await.body["runners_token"].clone();
        Runner::register(&ground.server, json!({ "token": token })).await
    };
    let mut bystanders = Vec::new();
    for runner in [&tagged, &elsewhere] {
        bystanders.push(waiting(&ground.server, runner).await);
    }
    // One that is paused has nothing to wait for.
    let request = waiting(&ground.server, &paused).await;
    assert_eq!(timeout(SOON, request).await.expect("it is told at once").unwrap().status, 204);
    for runner in [&own, &shared] {
        let request = waiting(&ground.server, runner).await;
        assert!(!request.is_finished());
        let made = ground.start().await;
        let got = timeout(SOON, request).await.expect("it is told at once").unwrap();
        assert_eq!((got.status, &got.body["job_info"]["name"]), (201, &json!("one")));
        assert_eq!(ground.build("one").await["pipeline"]["id"], made["id"]);
        assert_eq!(ground.build("one").await["status"], "running");
        assert_eq!(ground.build("one").await["runner"]["id"], runner.id);
    }
    for request in bystanders {
        assert!(!request.is_finished(), "it is not for everybody");
        request.abort();
    }
}

#[tokio::test]
async fn nobody_waits_for_ever() {
    let ground = with_wait(2).await;
    let runner = ground.runner().await;
    runner.finish(&runner.take().await, "success").await;
    let request = waiting(&ground.server, &runner).await;
    let got = timeout(SOON, request).await.expect("it is answered").unwrap();
    assert_eq!((got.status, &got.body), (204, &json!("")));
    assert_ne!(got.header("x-gitlab-last-update"), "");
}

#[tokio::test]
async fn of_two_who_wait_one_gets_it() {
    let ground = with_wait(6).await;
    let (one, two) = (ground.runner().await, ground.runner().await);
    one.finish(&one.take().await, "success").await;
    let requests = [waiting(&ground.server, &one).await, waiting(&ground.server, &two).await];
    ground.start().await;
    let mut statuses = Vec::new();
    for request in requests {
        statuses.push(timeout(SOON, request).await.expect("it is answered").unwrap().status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 204]);
}

#[tokio::test]
async fn who_says_nothing_of_the_last_time_does_not_wait() {
    let ground = with_wait(300).await;
    let runner = ground.runner().await;
    runner.take().await;
    let nothing = timeout(SOON, runner.request()).await.expect("it is answered at once");
    assert!(nothing.is_none());
}

/// Taking is one step: however many ask at the same time, each build goes to one of them.
#[tokio::test]
async fn no_build_is_given_twice() {
    let ground = Ground::with(&many()).await;
    let runner = ground.runner().await;
    let url = format!("{}/api/v4/jobs/request", ground.server.base);
    let ask = |_| {
        let (url, body) = (url.clone(), json!({ "token": runner.token }));
        tokio::spawn(async move { send(&reqwest::Client::new(), Method::POST, &url, &body).await })
    };
    let requests: Vec<JoinHandle<Said>> = (0..30).map(ask).collect();
    let mut ids = Vec::new();
    for request in requests {
        let got = request.await.unwrap();
        match got.status {
            201 => ids.push(got.body["id"].as_i64().unwrap()),
            // Another was faster: it is to ask again.
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
