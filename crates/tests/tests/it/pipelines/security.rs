//! Secrets of CI, access to builds of others, and invalid requests of runners.

use holdfast_tests::database::tables_containing;
use holdfast_tests::{Receiver, WorkTree, log};
use reqwest::Method;
use serde_json::{Value, json};

use super::fixtures::instance_token;
use super::old_protocol::OldRunner;
use super::{CiFixture, Job, Runner, SIMPLE, send_request};

/// A user who reads the database, a backup of it or the log must not be able to act as a runner or a build.
#[tokio::test]
async fn runner_and_build_tokens_are_never_logged_nor_stored() {
    let fixture = CiFixture::with_file("one: {script: x}\ntwo: {script: x}\nthree: {script: x}\n").await;
    let server = &fixture.server;
    let receiver = Receiver::start().await;
    let hook = [("url", &*receiver.url("/")), ("build_events", "true"), ("pipeline_events", "true")];
    assert_eq!(fixture.ada.post(&fixture.path("/hooks"), &hook).await.status, 201);
    let (of_project, of_instance) = (fixture.registration_token().await, instance_token(server).await);
    let mut runner = Runner::register_for(&fixture, json!({ "description": "mine" })).await;
    let shared = Runner::register_shared(server, json!({})).await;
    let old = OldRunner::register(&fixture, json!({})).await;
    let first = runner.token.clone();
    let reset = runner.call(Method::POST, "/runners/reset_authentication_token", json!({ "token": first })).await;
    runner.token = reset.body["token"].as_str().unwrap().to_owned();
    runner.call(Method::POST, "/runners/verify", json!({ "token": runner.token })).await;
    runner.call(Method::POST, "/runners/verify", json!({ "token": "canary-guess-51d0" })).await;
    runner.call(Method::POST, &format!("/runners/verify?token={}", runner.token), json!({})).await;
    let (one, two, three) = (runner.claim().await, shared.claim().await, old.claim().await);
    let url = format!("http://gitlab-ci-token:{}@{}/ada/p.git", one.token, server.address());
    WorkTree::clone(&url, &[]).await.0.ok();
    runner.patch(&one, 0, b"words").await;
    runner.upload_artifacts(&one, "out.zip", b"left").await;
    let by_query = format!("{}/api/v4/jobs/{}/artifacts?token={}", server.base_url, one.id, one.token);
    send_request(reqwest::Client::new().get(by_query)).await;
    runner.finish(&one, "success").await;
    shared.finish(&two, "failed").await;
    old.put(&three, json!({ "state": "success", "trace": "words" })).await;
    fixture.server.deliver_hooks().await;

    let contents = server.dump_database().await;
    let (logged, received) = (log::captured(), receiver.take_received());
    assert_ne!(received.len(), 0);
    assert!(logged.contains("/api/v4/jobs/request"), "the log is captured");
    let three = three["token"].as_str().unwrap();
    let secrets =
        [&*first, &runner.token, &shared.token, &old.token, &one.token, &two.token, three, "canary-guess-51d0"];
    for secret in secrets {
        assert_eq!(tables_containing(&contents, secret), [""; 0], "{secret}");
        assert!(!logged.contains(secret), "{secret} was logged");
        assert!(received.iter().all(|it| !it.body.to_string().contains(secret)), "{secret} was delivered");
    }
    // Registration tokens are shown to those who manage the project or the instance, so they are stored in the clear,
    // each in one table.
    assert_eq!(tables_containing(&contents, &of_project), ["projects"]);
    assert_eq!(tables_containing(&contents, &of_instance), ["runner_registration"]);
    for secret in [of_project, of_instance] {
        assert!(!logged.contains(&secret), "{secret} was logged");
    }
}

/// The token of a trigger may be part of a URL. Reading the log or the database must not suffice to start pipelines.
#[tokio::test]
async fn trigger_tokens_are_neither_logged_nor_stored() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let token = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body["token"].as_str().unwrap().to_owned();
    let form = [("ref", "main"), ("token", &*token)];
    assert_eq!(fixture.server.anonymous().post(&fixture.path("/trigger/builds"), &form).await.status, 201);
    let fire = fixture.path(&format!("/trigger/builds?ref=main&token={token}"));
    assert_eq!(fixture.server.anonymous().post(&fire, &[]).await.status, 201);
    assert_eq!(tables_containing(&fixture.server.dump_database().await, &token), [""; 0], "the token is stored");
    assert_eq!(fixture.ada.get(&fixture.path(&format!("/triggers/{token}"))).await.status, 200);
    // The path is part of the search: random numbers repeat between tests, so the same characters may be logged as
    // something else.
    assert!(!log::captured().contains(&format!("triggers/{token}")), "the token of a trigger was logged");
}

/// A build that prints its environment must not reveal the project's registration token to all who can read builds.
#[tokio::test]
async fn registration_tokens_are_masked_in_traces() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let token = fixture.registration_token().await;
    let words = format!("before {token} after\n");
    assert_eq!(runner.patch(&job, 0, words.as_bytes()).await.status, 202);
    let path = fixture.path(&format!("/builds/{}/trace", job.id));
    let while_it_runs = fixture.ada.get(&path).await.text;
    runner.finish(&job, "success").await;
    for shown in [while_it_runs, fixture.ada.get(&path).await.text] {
        assert!(shown.starts_with("before ") && shown.ends_with(" after\n"), "{shown}");
        assert!(!shown.contains(&token), "{shown}");
    }
}

/// Broken object level authorization: build ids can be guessed, so access depends on the token.
#[tokio::test]
async fn build_tokens_access_only_their_own_build() {
    let fixture = CiFixture::with_file("one: {script: x}\ntwo: {script: x}\n").await;
    let runner = fixture.runner().await;
    let (one, two) = (runner.claim().await, runner.claim().await);
    let other = fixture.another_project("q", SIMPLE).await;
    let token = fixture.ada.get(&format!("/projects/{other}")).await.body["runners_token"].clone();
    let theirs = Runner::register(&fixture.server, json!({ "token": token })).await.claim().await;
    assert_eq!(runner.patch(&one, 0, b"words").await.status, 202);
    assert_eq!(runner.upload_artifacts(&one, "out.zip", b"left").await.status, 201);
    let before = fixture.server.dump_database().await;
    let forbidden = json!({ "message": "403 Forbidden" });
    for token in ["", "wrong", fixture.ada.token(), &two.token, &theirs.token, &runner.token] {
        let as_other = Job { id: one.id, token: token.to_owned(), body: Value::Null };
        for state in ["running", "success", "failed"] {
            let answer = runner.update(&as_other, state).await;
            assert_eq!((answer.status, &answer.body), (403, &forbidden), "{token} {state}");
            assert_eq!(answer.header("job-status"), "", "the status is not disclosed");
        }
        let body = json!({ "token": token, "state": "success", "trace": "other" });
        assert_eq!(runner.call(Method::PUT, &format!("/jobs/{}", one.id), body).await.status, 403);
        let answer = runner.patch(&as_other, 5, b"more").await;
        assert_eq!((answer.status, answer.header("range")), (403, ""), "{token}");
        assert_eq!(runner.upload_artifacts(&as_other, "out.zip", b"other").await.status, 403, "{token}");
    }
    // Artifacts are accessible only to builds of the same pipeline.
    for token in ["", "wrong", fixture.ada.token(), &theirs.token, &runner.token] {
        assert_eq!(runner.download_artifacts(one.id, token).await.0, 403, "{token}");
    }
    assert_eq!(runner.download_artifacts(theirs.id, &one.token).await.0, 403);
    // An unknown build has the same response.
    let nowhere = Job { id: 999, token: one.token.clone(), body: Value::Null };
    assert_eq!(runner.update(&nowhere, "success").await.status, 403);
    assert_eq!(runner.patch(&nowhere, 0, b"x").await.status, 403);
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn invalid_trace_chunks_are_rejected() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    assert_eq!(runner.patch(&job, 0, b"words").await.status, 202);
    let before = fixture.server.dump_database().await;
    let url = format!("{}/api/v4/jobs/{}/trace", fixture.server.base_url, job.id);
    let patch = || reqwest::Client::new().patch(&url).header("JOB-TOKEN", &job.token);
    assert_eq!(send_request(patch().body("x")).await.status, 400, "no range");
    for range in ["", "-", "x", "-5-9", "--5", "bytes 5-9/10", "5.0-9", "0x5-9", "99999999999999999999-1", "é"] {
        let answer = send_request(patch().header("Content-Range", range.as_bytes()).body("x")).await;
        assert_eq!(answer.status, 400, "{range}: {}", answer.body);
    }
    for range in ["9223372036854775807-9223372036854775807", "4-5", "6-7", "0-0"] {
        let answer = send_request(patch().header("Content-Range", range).body("x")).await;
        assert_eq!((answer.status, answer.header("range")), (416, "0-5"), "{range}");
    }
    let large = send_request(patch().header("Content-Range", "5-9").body(vec![b'x'; 17 << 20])).await;
    assert_eq!((large.status, &large.body), (413, &json!({ "message": "413 Request Entity Too Large" })));
    assert_eq!(fixture.server.dump_database().await, before);
    // Only the start of the range is used, and all bytes are accepted.
    for (range, bytes) in [("5-4", &b"\0\xff\n"[..]), ("8-1000", &b"\x1b[0K"[..])] {
        let answer = send_request(patch().header("Content-Range", range).body(bytes.to_vec())).await;
        assert_eq!(answer.status, 202, "{range}: {}", answer.body);
    }
    let trace = fixture.ada.request("GET", &fixture.path(&format!("/builds/{}/trace", job.id))).send().await.unwrap();
    assert_eq!(trace.bytes().await.unwrap(), &b"words\0\xff\n\x1b[0K"[..]);
    assert_eq!(fixture.build("one").await["status"], "running");
}

#[tokio::test]
async fn malformed_runner_requests_are_rejected() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let before = fixture.server.dump_database().await;
    let api = format!("{}/api/v4", fixture.server.base_url);
    let client = reqwest::Client::new();
    let nested = format!("{{\"token\":{}", "[".repeat(100_000));
    let bodies: [&[u8]; 7] =
        [b"{", b"[]", b"\"x\"", b"null", b"{\"token\":\"\xff\"}", b"no json at all", nested.as_bytes()];
    let calls = [
        (Method::POST, "/runners".to_owned()),
        (Method::DELETE, "/runners".to_owned()),
        (Method::POST, "/runners/verify".to_owned()),
        (Method::POST, "/jobs/request".to_owned()),
        (Method::PUT, format!("/jobs/{}", job.id)),
    ];
    for (method, path) in &calls {
        for body in bodies {
            let request = client.request(method.clone(), format!("{api}{path}")).body(body.to_vec());
            let answer =
                send_request(request.header("Content-Type", "application/json").header("JOB-TOKEN", &job.token)).await;
            assert_eq!(answer.status, 400, "{path}: {}", answer.body);
        }
        // A value that is not a string is not a token.
        for token in [json!(null), json!(1), json!({}), json!(["x"]), json!("a\u{0}b"), json!("x".repeat(100_000))] {
            let answer =
                send_request(client.request(method.clone(), format!("{api}{path}")).json(&json!({ "token": token })))
                    .await;
            assert_eq!(answer.status, 403, "{path}: {}", answer.body);
        }
        let large = json!({ "token": "x", "description": "x".repeat(17 << 20) });
        let answer = send_request(client.request(method.clone(), format!("{api}{path}")).json(&large)).await;
        assert_eq!(answer.status, 413, "{path}: {}", answer.body);
    }
    for state in ["", "canceled", "created", "SUCCESS", "x"] {
        let answer = runner.update(&job, state).await;
        assert_eq!(answer.status, 400, "{state}: {}", answer.body);
    }
    let body = json!({ "token": job.token, "state": "success" });
    for id in ["x", "1.5", "99999999999999999999", "%00", "1%2F2", "é"] {
        for (method, below) in [(Method::PUT, ""), (Method::PATCH, "/trace"), (Method::POST, "/artifacts")] {
            let request = client.request(method, format!("{api}/jobs/{id}{below}")).header("Content-Range", "0-1");
            let answer = send_request(request.header("JOB-TOKEN", &job.token).json(&body)).await;
            assert!([400, 404].contains(&answer.status), "{id}{below}: {} {}", answer.status, answer.body);
        }
    }
    for id in ["-1", "0", "9223372036854775807"] {
        let answer = runner.call(Method::PUT, &format!("/jobs/{id}"), body.clone()).await;
        assert_eq!(answer.status, 403, "{id}: {}", answer.body);
    }
    // Users list runners; the token of a job does not.
    for (method, path, status) in
        [(Method::GET, "/jobs/request", 404), (Method::GET, "/runners", 401), (Method::POST, "/jobs", 404)]
    {
        let answer = send_request(client.request(method, format!("{api}{path}")).header("JOB-TOKEN", &job.token)).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
    }
    assert_eq!(fixture.server.dump_database().await, before);
    runner.finish(&job, "success").await;
}

/// Attributes that a runner sends about itself are shown to users, so they are truncated and sanitized.
#[tokio::test]
async fn runner_info_is_sanitized() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let info = json!({ "name": "x".repeat(10_000), "version": 7, "platform": ["x"], "architecture": "a\u{0}b" });
    let body = json!({ "token": runner.token, "info": info, "last_update": null, "session": { "url": "http://x" } });
    let got = runner.call(Method::POST, "/jobs/request", body).await;
    assert_eq!(got.status, 201, "{}", got.body);
    let shown = fixture.ada.get(&format!("/runners/{}", runner.id)).await;
    assert_eq!((shown.status, &shown.body["version"]), (200, &Value::Null));
    assert!(shown.body["name"].as_str().unwrap().len() <= 255);
    for info in [json!("x"), json!(null), json!([1]), json!(7)] {
        let body = json!({ "token": runner.token, "info": info });
        assert_eq!(runner.call(Method::POST, "/jobs/request", body).await.status, 204);
    }
}
