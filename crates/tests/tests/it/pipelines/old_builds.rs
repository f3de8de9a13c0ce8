//! Builds in the protocol of 8.x runners (v1).

use chrono::TimeDelta;
use reqwest::multipart::Form;
use serde_json::{Value, json};

use super::fixtures::file_part;
use super::old_protocol::OldRunner;
use super::{CiFixture, SIMPLE, send_request};

async fn set_up() -> (CiFixture, OldRunner, Value) {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = OldRunner::register(&fixture, json!({})).await;
    let build = runner.claim().await;
    (fixture, runner, build)
}

async fn read_trace(fixture: &CiFixture, build: &Value) -> String {
    fixture.ada.get(&fixture.path(&format!("/builds/{}/trace", build["id"]))).await.text
}

/// The last update of a short build contains the whole trace.
#[tokio::test]
async fn v1_updates_can_contain_the_whole_trace() {
    for state in ["success", "failed"] {
        let (fixture, runner, build) = set_up().await;
        let response = runner.put(&build, json!({ "state": "running" })).await;
        assert_eq!(response.status, 200, "{}", response.body);
        assert_eq!(
            (&*read_trace(&fixture, &build).await, &fixture.build("one").await["status"]),
            ("", &json!("running"))
        );
        assert_eq!(runner.put(&build, json!({ "state": "running", "trace": "so far é" })).await.status, 200);
        assert_eq!(read_trace(&fixture, &build).await, "so far é");
        assert_eq!(runner.put(&build, json!({ "state": "running", "trace": "other" })).await.status, 200);
        assert_eq!(read_trace(&fixture, &build).await, "other");
        fixture.server.advance(TimeDelta::seconds(7));
        assert_eq!(runner.put(&build, json!({ "state": state, "trace": "all of it\n" })).await.status, 200);
        assert_eq!(read_trace(&fixture, &build).await, "all of it\n");
        let shown = fixture.build("one").await;
        assert_eq!((&shown["status"], &shown["finished_at"]), (&json!(state), &json!("2026-01-02T03:04:12.678Z")));
        assert_eq!((&shown["runner"]["id"], &fixture.pipeline().await["status"]), (&json!(runner.id), &json!(state)));
        // The runner does not have the build any more.
        let late = runner.put(&build, json!({ "state": "failed", "trace": "late" })).await;
        assert_eq!(late.status, 404, "{}", late.body);
        assert_eq!(read_trace(&fixture, &build).await, "all of it\n");
        assert_eq!(fixture.build("one").await["status"], state);
    }
}

#[tokio::test]
async fn v1_updates_without_a_trace_keep_it() {
    let (fixture, runner, build) = set_up().await;
    assert_eq!(runner.patch(&build, "0-5", b"hello").await.status, 202);
    assert_eq!(runner.put(&build, json!({ "state": "success" })).await.status, 200);
    assert_eq!(read_trace(&fixture, &build).await, "hello");
}

#[tokio::test]
async fn v1_traces_are_appended_in_chunks() {
    let (fixture, runner, build) = set_up().await;
    let response = runner.patch(&build, "0-6", b"hello ").await;
    assert_eq!((response.status, response.header("range"), response.header("build-status")), (202, "0-6", "running"));
    // An empty part is a heartbeat.
    let response = runner.patch(&build, "6-6", b"").await;
    assert_eq!((response.status, response.header("range"), response.header("build-status")), (202, "0-6", "running"));
    let response = runner.patch(&build, "6-11", b"world").await;
    assert_eq!((response.status, response.header("range")), (202, "0-11"));
    // Without the header the runner would crash.
    for range in ["0-5", "5-8", "12-15"] {
        let response = runner.patch(&build, range, b"xxx").await;
        assert_eq!((response.status, response.header("range")), (416, "0-11"), "{range}");
    }
    assert_eq!(read_trace(&fixture, &build).await, "hello world");
    assert_eq!(runner.put(&build, json!({ "state": "success", "trace": "hello world" })).await.status, 200);
    assert_eq!(read_trace(&fixture, &build).await, "hello world");
    assert_eq!(runner.patch(&build, "11-12", b"x").await.status, 403);
    assert_eq!(read_trace(&fixture, &build).await, "hello world");
}

#[tokio::test]
async fn invalid_v1_build_requests_are_rejected() {
    let (fixture, runner, build) = set_up().await;
    let other = OldRunner::register(&fixture, json!({})).await;
    let before = fixture.server.dump_database().await;
    let url = |ending: &str| format!("{}/ci/api/v1/builds/{}/trace{ending}", fixture.server.base_url, build["id"]);
    let token = build["token"].as_str().unwrap();
    for ending in ["", ".txt"] {
        let patch = || reqwest::Client::new().patch(url(ending)).body("x");
        assert_eq!(send_request(patch().header("BUILD-TOKEN", token)).await.status, 400, "no range");
        assert_eq!(send_request(patch().header("Content-Range", "0-1")).await.status, 403, "no token");
        for wrong in ["wrong", &runner.token] {
            let request = patch().header("BUILD-TOKEN", wrong).header("Content-Range", "0-1");
            assert_eq!(send_request(request).await.status, 403, "{wrong}");
        }
    }
    // A build of another runner is reported as not found.
    let put = other.put(&build, json!({ "state": "success", "trace": "x" })).await;
    assert_eq!(put.status, 404, "{}", put.body);
    let put = other.put(&json!({ "id": 999 }), json!({ "state": "success" })).await;
    assert_eq!(put.status, 404, "{}", put.body);
    // The token of the build is not that of the runner.
    let url = format!("{}/ci/api/v1/builds/{}", fixture.server.base_url, build["id"]);
    let body = json!({ "token": token, "state": "success" });
    assert_eq!(send_request(reqwest::Client::new().put(&url).json(&body)).await.status, 403);
    assert_eq!(fixture.server.dump_database().await, before);
}

/// The token may be a parameter instead of a header.
#[tokio::test]
async fn v1_build_tokens_are_accepted_as_a_parameter() {
    let (fixture, _, build) = set_up().await;
    let base = format!("{}/ci/api/v1/builds/{}", fixture.server.base_url, build["id"]);
    let query = format!("?token={}", build["token"].as_str().unwrap());
    let request = reqwest::Client::new().patch(format!("{base}/trace.txt{query}")).header("Content-Range", "0-1");
    assert_eq!(send_request(request.body("x")).await.status, 202);
    let form = Form::new().part("file", file_part("a.zip", b"left"));
    assert_eq!(
        send_request(reqwest::Client::new().post(format!("{base}/artifacts{query}")).multipart(form)).await.status,
        201
    );
    assert_eq!(send_request(reqwest::Client::new().get(format!("{base}/artifacts{query}"))).await.body, "left");
}

#[tokio::test]
async fn v1_artifacts_are_uploaded_and_downloaded() {
    let (fixture, runner, build) = set_up().await;
    let token = build["token"].as_str().unwrap();
    let url = runner.artifacts_url(&build);
    let client = reqwest::Client::new();
    assert_eq!(send_request(client.get(&url).header("BUILD-TOKEN", token)).await.status, 404);
    let form = || Form::new().part("file", file_part("a.zip", b"left"));
    assert_eq!(send_request(client.post(&url).header("BUILD-TOKEN", "wrong").multipart(form())).await.status, 403);
    assert_eq!(send_request(client.post(&url).multipart(form())).await.status, 403);
    let empty = Form::new().text("other", "x");
    assert_eq!(send_request(client.post(&url).header("BUILD-TOKEN", token).multipart(empty)).await.status, 400);
    let large = Form::new().part("file", file_part("a.zip", &vec![0; (16 << 20) + 1]));
    assert_eq!(send_request(client.post(&url).header("BUILD-TOKEN", token).multipart(large)).await.status, 413);
    assert_eq!(send_request(client.get(&url).header("BUILD-TOKEN", token)).await.status, 404);
    let posted = client.post(format!("{url}?expire_in=1+day")).header("BUILD-TOKEN", token).multipart(form());
    assert_eq!(send_request(posted).await.status, 201);
    let got = send_request(client.get(&url).header("BUILD-TOKEN", token)).await;
    assert_eq!((got.status, &got.body), (200, &json!("left")));
    assert_eq!(send_request(client.get(&url).header("BUILD-TOKEN", "wrong")).await.status, 403);
    let by_person = fixture.path(&format!("/builds/{}/artifacts", build["id"]));
    assert_eq!(fixture.ada.get(&by_person).await.text, "left");
    fixture.server.advance(TimeDelta::hours(25));
    assert_eq!(fixture.ada.get(&by_person).await.status, 404);
    assert_eq!(runner.put(&build, json!({ "state": "success" })).await.status, 200);
    assert_eq!(send_request(client.post(&url).header("BUILD-TOKEN", token).multipart(form())).await.status, 403);
}

#[tokio::test]
async fn v1_artifacts_can_be_deleted() {
    let (fixture, runner, build) = set_up().await;
    let token = build["token"].as_str().unwrap();
    let (url, client) = (runner.artifacts_url(&build), reqwest::Client::new());
    let form = Form::new().part("file", file_part("a.zip", b"left"));
    assert_eq!(send_request(client.post(&url).header("BUILD-TOKEN", token).multipart(form)).await.status, 201);
    assert_eq!(send_request(client.delete(&url).header("BUILD-TOKEN", "wrong")).await.status, 403);
    assert_eq!(send_request(client.delete(&url).header("BUILD-TOKEN", token)).await.status, 200);
    assert_eq!(send_request(client.get(&url).header("BUILD-TOKEN", token)).await.status, 404);
    assert_eq!(fixture.build("one").await.get("artifacts_file"), None);
}

#[tokio::test]
async fn v1_runners_learn_of_a_canceled_build() {
    let (fixture, runner, build) = set_up().await;
    assert_eq!(runner.patch(&build, "0-5", b"hello").await.status, 202);
    assert_eq!(fixture.build_action(&fixture.build("one").await, "cancel").await.status, 201);
    let response = runner.patch(&build, "5-9", b"late").await;
    assert_eq!(response.header("build-status"), "canceled");
    assert!([202, 403].contains(&response.status), "{}", response.status);
    let kept = read_trace(&fixture, &build).await;
    let last = runner.put(&build, json!({ "state": "failed", "trace": "all of it" })).await;
    assert_eq!(last.status, 404, "{}", last.body);
    let shown = fixture.build("one").await;
    assert_eq!((&shown["status"], &fixture.pipeline().await["status"]), (&json!("canceled"), &json!("canceled")));
    assert_eq!(read_trace(&fixture, &build).await, kept);
}

/// Both protocols use the same builds: a runner that has claimed a build can update it by either.
#[tokio::test]
async fn both_protocols_update_the_same_builds() {
    let (fixture, old, build) = set_up().await;
    let new = fixture.runner().await;
    assert!(new.request().await.is_none());
    let job = super::Job {
        id: build["id"].as_i64().unwrap(),
        token: build["token"].as_str().unwrap().to_owned(),
        body: Value::Null,
    };
    let response = new.patch(&job, 0, b"hello").await;
    assert_eq!((response.status, response.header("job-status")), (202, "running"));
    assert_eq!(old.patch(&build, "5-11", b" world").await.status, 202);
    new.finish(&job, "success").await;
    assert_eq!(read_trace(&fixture, &build).await, "hello world");
    assert_eq!(old.put(&build, json!({ "state": "failed" })).await.status, 404);
    assert_eq!(fixture.build("one").await["status"], "success");
}
