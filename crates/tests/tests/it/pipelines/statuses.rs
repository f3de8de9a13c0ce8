//! Commit statuses of external services.

use chrono::TimeDelta;
use holdfast_tests::{Client, TestResponse};
use serde_json::{Value, json};

use super::{CiFixture, SIMPLE};

/// A CI file of which a push creates no builds.
const NO_BUILDS: &str = "one: {script: x, only: [none]}\n";

async fn post_status(fixture: &CiFixture, sha: &str, form: &[(&str, &str)]) -> TestResponse {
    fixture.ada.post(&fixture.path(&format!("/statuses/{sha}")), form).await
}

async fn post_accepted(fixture: &CiFixture, form: &[(&str, &str)]) -> Value {
    let answer = post_status(fixture, &fixture.sha, form).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.body
}

async fn list_statuses(client: &Client, fixture: &CiFixture, sha: &str, query: &str) -> TestResponse {
    client.get(&fixture.path(&format!("/repository/commits/{sha}/statuses{query}"))).await
}

#[tokio::test]
async fn commit_statuses_are_created_and_listed() {
    let fixture = CiFixture::with_file(NO_BUILDS).await;
    assert_eq!(list_statuses(&fixture.ada, &fixture, &fixture.sha, "").await.status_and_body(), (200, &json!([])));
    assert_eq!(fixture.pipelines().await.len(), 0);
    let form = [
        ("state", "pending"),
        ("name", "lint"),
        ("target_url", "https://ci.example.com/7?a=b"),
        ("description", "Looks at it"),
        ("coverage", "87.5"),
    ];
    let first = post_accepted(&fixture, &form).await;
    assert_eq!(
        first,
        json!({
            "id": first["id"], "sha": fixture.sha, "ref": "main", "status": "pending", "name": "lint",
            "target_url": "https://ci.example.com/7?a=b", "description": "Looks at it",
            "created_at": "2026-01-02T03:04:05.678Z", "started_at": null, "finished_at": null, "allow_failure": false,
            "coverage": 87.5, "author": first["author"],
        })
    );
    assert_eq!(first["author"]["username"], "ada");
    assert_eq!(list_statuses(&fixture.ada, &fixture, &fixture.sha, "").await.status_and_body(), (200, &json!([first])));
    // The status creates a pipeline.
    let pipeline = fixture.pipeline().await;
    assert_eq!(
        json!([pipeline["status"], pipeline["sha"], pipeline["ref"], pipeline["tag"], pipeline["user"]["username"]]),
        json!(["pending", fixture.sha, "main", false, "ada"])
    );
    // It is not for runners.
    assert!(fixture.runner().await.request().await.is_none());
    assert_eq!(fixture.pipelines().await.len(), 1);
}

/// Until a status is finished, it is updated; afterwards a new one is created.
#[tokio::test]
async fn commit_statuses_are_updated_until_finished() {
    let fixture = CiFixture::with_file(NO_BUILDS).await;
    let first = post_accepted(&fixture, &[("state", "pending"), ("description", "Waits")]).await;
    assert_eq!((&first["name"], &first["target_url"]), (&json!("default"), &Value::Null));
    fixture.server.advance(TimeDelta::seconds(10));
    let second = post_accepted(&fixture, &[("state", "running"), ("target_url", "http://ci.example.com/")]).await;
    assert_eq!((&second["id"], &second["status"]), (&first["id"], &json!("running")));
    assert_eq!(
        (&second["started_at"], &second["target_url"]),
        (&json!("2026-01-02T03:04:15.678Z"), &json!("http://ci.example.com/"))
    );
    assert_eq!((&fixture.pipeline().await["status"], &second["finished_at"]), (&json!("running"), &Value::Null));
    fixture.server.advance(TimeDelta::seconds(10));
    let third = post_accepted(&fixture, &[("state", "success"), ("coverage", "50")]).await;
    assert_eq!((&third["id"], &third["status"], &third["coverage"]), (&first["id"], &json!("success"), &json!(50.0)));
    assert_eq!(third["started_at"], "2026-01-02T03:04:15.678Z");
    assert_eq!(third["finished_at"], "2026-01-02T03:04:25.678Z");
    let pipeline = fixture.pipeline().await;
    assert_eq!((&pipeline["status"], &pipeline["finished_at"]), (&json!("success"), &third["finished_at"]));

    let fourth = post_accepted(&fixture, &[("state", "failed")]).await;
    assert_ne!(fourth["id"], first["id"]);
    assert_eq!((&fourth["status"], &fourth["coverage"]), (&json!("failed"), &Value::Null));
    assert_eq!(fixture.pipeline().await["status"], "failed");
    let fifth = post_accepted(&fixture, &[("state", "pending")]).await;
    assert_ne!(fifth["id"], fourth["id"]);
    assert_eq!(fixture.pipeline().await["status"], "pending");
    // Only the newest of each name is listed, unless all are requested.
    assert_eq!(list_statuses(&fixture.ada, &fixture, &fixture.sha, "").await.body, json!([fifth]));
    let mut all = list_statuses(&fixture.ada, &fixture, &fixture.sha, "?all=true").await.ids();
    all.sort_unstable();
    let expected: Vec<i64> = [&first, &fourth, &fifth].iter().map(|it| it["id"].as_i64().unwrap()).collect();
    assert_eq!(all, expected);
    assert_eq!(fixture.pipelines().await.len(), 1);
}

#[tokio::test]
async fn commit_statuses_determine_the_pipeline_status() {
    let fixture = CiFixture::with_file(NO_BUILDS).await;
    // Each posted status, and the resulting status of the pipeline.
    let course = [
        ("lint", "pending", "pending"),
        ("test", "pending", "pending"),
        ("lint", "running", "running"),
        ("lint", "success", "running"),
        ("test", "success", "success"),
        ("docs", "canceled", "canceled"),
        ("docs", "failed", "failed"),
        ("docs", "success", "success"),
    ];
    for (name, state, expected) in course {
        post_accepted(&fixture, &[("context", name), ("state", state)]).await;
        assert_eq!(fixture.pipeline().await["status"], expected, "{name} {state}");
    }
    let names: Vec<Value> =
        list_statuses(&fixture.ada, &fixture, &fixture.sha, "").await.body.as_array().unwrap().clone();
    let mut names: Vec<&str> = names.iter().map(|it| it["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["docs", "lint", "test"]);
}

#[tokio::test]
async fn commit_statuses_are_listed_beside_builds() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    post_accepted(&fixture, &[("name", "lint"), ("state", "success")]).await;
    assert_eq!(fixture.pipelines().await.len(), 1, "there was one");
    assert_eq!(fixture.pipeline().await["status"], "running");
    let job = runner.claim().await;
    runner.finish(&job, "success").await;
    assert_eq!(fixture.pipeline().await["status"], "success");
    post_accepted(&fixture, &[("name", "lint"), ("state", "failed")]).await;
    assert_eq!(fixture.pipeline().await["status"], "failed");
    let listed = list_statuses(&fixture.ada, &fixture, &fixture.sha, "").await;
    let mut listed: Vec<Value> =
        listed.body.as_array().unwrap().iter().map(|it| json!([it["name"], it["status"]])).collect();
    listed.sort_by_key(ToString::to_string);
    assert_eq!(listed, [json!(["lint", "failed"]), json!(["one", "success"])]);
    // External statuses are not retried.
    let retried =
        fixture.ada.post(&fixture.path(&format!("/pipelines/{}/retry", fixture.pipeline().await["id"])), &[]).await;
    assert_eq!(retried.status, 201);
    assert_eq!(fixture.pipeline().await["status"], "failed");
    assert!(runner.request().await.is_none());
}

#[tokio::test]
async fn invalid_commit_statuses_are_rejected() {
    let fixture = CiFixture::with_file(NO_BUILDS).await;
    let (_, reporter) = fixture.add_member("rob", "20").await;
    let (_, guest) = fixture.add_member("gus", "10").await;
    let (_, eve) = fixture.server.user("eve").await;
    let before = fixture.server.dump_database().await;
    let set_status = async |form: &[(&str, &str)]| {
        let answer = post_status(&fixture, &fixture.sha, form).await;
        json!([answer.status, answer.body])
    };
    assert_eq!(set_status(&[]).await, json!([400, { "error": "state is missing" }]));
    for state in ["skipped", "created", "other", ""] {
        assert_eq!(set_status(&[("state", state)]).await[0], 400, "{state}");
    }
    assert_eq!(set_status(&[("state", "other")]).await, json!([400, { "error": "state does not have a valid value" }]));
    let good = ("state", "success");
    assert_eq!(set_status(&[good, ("coverage", "much")]).await, json!([400, { "error": "coverage is invalid" }]));
    for url in ["nowhere", "javascript:alert(1)", "http://", "data:text/html,x"] {
        let wrong = json!([400, { "message": { "target_url": ["must be a valid URL"] } }]);
        assert_eq!(set_status(&[good, ("target_url", url)]).await, wrong, "{url}");
    }
    let unknown = post_status(&fixture, &"1".repeat(40), &[good]).await;
    assert_eq!(unknown.status_and_body(), (404, &json!({ "message": "404 Commit Not Found" })));
    let path = fixture.path(&format!("/statuses/{}", fixture.sha));
    let nobody = fixture.server.anonymous();
    for (client, status) in [(&reporter, 403), (&guest, 403), (&eve, 404), (&nobody, 401)] {
        assert_eq!(client.post(&path, &[good]).await.status, status);
    }
    assert_eq!(fixture.server.dump_database().await, before);
    fixture.update_setting("builds_enabled", "false").await;
    assert_eq!(post_status(&fixture, &fixture.sha, &[good]).await.status, 403);
}

#[tokio::test]
async fn listing_commit_statuses_requires_access() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, reporter) = fixture.add_member("rob", "20").await;
    let (_, guest) = fixture.add_member("gus", "10").await;
    let (_, eve) = fixture.server.user("eve").await;
    let nobody = fixture.server.anonymous();
    for (client, status) in [(&reporter, 200), (&guest, 403), (&eve, 404)] {
        assert_eq!(list_statuses(client, &fixture, &fixture.sha, "").await.status, status);
    }
    assert!([401, 404].contains(&list_statuses(&nobody, &fixture, &fixture.sha, "").await.status));
    let unknown = list_statuses(&fixture.ada, &fixture, &"1".repeat(40), "").await;
    assert_eq!(unknown.status_and_body(), (404, &json!({ "message": "404 Commit Not Found" })));
}

#[tokio::test]
async fn commit_statuses_can_be_filtered() {
    let fixture = CiFixture::with_file("one: {stage: build, script: x}\ntwo: {script: x}\n").await;
    fixture.push("main:topic").await;
    post_accepted(&fixture, &[("name", "lint"), ("state", "success"), ("ref", "main")]).await;
    post_accepted(&fixture, &[("name", "lint"), ("state", "failed"), ("ref", "topic")]).await;
    post_accepted(&fixture, &[("name", "lint"), ("state", "success"), ("ref", "topic")]).await;
    let summaries = async |query: &str| {
        let listed = list_statuses(&fixture.ada, &fixture, &fixture.sha, query).await;
        assert_eq!(listed.status, 200, "{query}: {}", listed.text);
        let facts = |it: &Value| format!("{} {} {}", it["ref"], it["name"], it["status"]).replace('"', "");
        let mut facts: Vec<String> = listed.body.as_array().unwrap().iter().map(facts).collect();
        facts.sort();
        facts
    };
    let main = ["main lint success", "main one pending", "main two created"];
    let topic = ["topic lint success", "topic one pending", "topic two created"];
    assert_eq!(summaries("").await, [main, topic].concat());
    assert_eq!(summaries("?ref=main").await, main);
    assert_eq!(summaries("?ref=topic&name=lint").await, ["topic lint success"]);
    assert_eq!(summaries("?ref=topic&name=lint&all=true").await, ["topic lint failed", "topic lint success"]);
    assert_eq!(summaries("?stage=build").await, ["main one pending", "topic one pending"]);
    assert_eq!(summaries("?name=two&all=yes").await, ["main two created", "topic two created"]);
    for query in ["?ref=none", "?stage=none", "?name=none"] {
        assert_eq!(summaries(query).await, [""; 0], "{query}");
    }
    let page = list_statuses(&fixture.ada, &fixture, &fixture.sha, "?per_page=2&page=2").await;
    assert_eq!((page.ids().len(), page.header("x-total")), (2, Some("6")));
    let wrong = list_statuses(&fixture.ada, &fixture, &fixture.sha, "?all=perhaps").await;
    assert_eq!(wrong.status_and_body(), (400, &json!({ "error": "all is invalid" })));
}

#[tokio::test]
async fn the_status_ref_defaults_to_a_containing_branch() {
    let fixture = CiFixture::with_file(NO_BUILDS).await;
    fixture.push("main:another").await;
    fixture.push("main:topic").await;
    // Without a ref, it is a branch that contains the commit: here the default branch.
    assert_eq!(post_accepted(&fixture, &[("state", "success")]).await["ref"], "main");
    let named = post_accepted(&fixture, &[("state", "failed"), ("ref", "topic")]).await;
    assert_eq!(named["ref"], "topic");
    let statuses: Vec<Value> = fixture.pipelines().await.iter().map(|it| json!([it["ref"], it["status"]])).collect();
    assert_eq!(statuses, [json!(["topic", "failed"]), json!(["main", "success"])]);
    // The commit may be an older one of a branch.
    let old = fixture.sha.clone();
    fixture.tree.commit("more", b"x", "More").await;
    fixture.push("main").await;
    let answer = post_status(&fixture, &old, &[("state", "success"), ("ref", "main"), ("name", "late")]).await;
    assert_eq!((answer.status, &answer.body["sha"]), (201, &json!(old)));
    assert_eq!(fixture.pipelines().await.len(), 2);
}

#[tokio::test]
async fn commits_on_no_branch_accept_no_status() {
    let fixture = CiFixture::with_file(NO_BUILDS).await;
    fixture.tree.git(["checkout", "-q", "--detach"]).await.ok();
    let aside = fixture.tree.commit("aside", b"x", "Aside").await;
    fixture.tree.git(["tag", "aside"]).await.ok();
    fixture.push("aside").await;
    let before = fixture.server.dump_database().await;
    let missing = json!({ "message": "404 References for commit Not Found" });
    let answer = post_status(&fixture, &aside, &[("state", "success")]).await;
    assert_eq!(answer.status_and_body(), (404, &missing));
    let answer = post_status(&fixture, &fixture.sha, &[("state", "success"), ("ref", "none")]).await;
    assert_eq!(answer.status_and_body(), (404, &missing));
    assert_eq!(fixture.server.dump_database().await, before);
}
