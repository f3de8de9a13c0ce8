//! What other services say of a commit.

use chrono::TimeDelta;
use holdfast_tests::{Answer, Client};
use serde_json::{Value, json};

use super::{Ground, SIMPLE};

/// No push makes a pipeline of it.
const NOTHING: &str = "one: {script: x, only: [none]}\n";

async fn say(ground: &Ground, sha: &str, form: &[(&str, &str)]) -> Answer {
    ground.ada.post(&ground.path(&format!("/statuses/{sha}")), form).await
}

async fn said(ground: &Ground, form: &[(&str, &str)]) -> Value {
    let answer = say(ground, &ground.sha, form).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.body
}

async fn list(client: &Client, ground: &Ground, sha: &str, query: &str) -> Answer {
    client.get(&ground.path(&format!("/repository/commits/{sha}/statuses{query}"))).await
}

#[tokio::test]
async fn one_is_said_and_shown() {
    let ground = Ground::with(NOTHING).await;
    assert_eq!(list(&ground.ada, &ground, &ground.sha, "").await.both(), (200, &json!([])));
    assert_eq!(ground.pipelines().await.len(), 0);
    let form = [
        ("state", "pending"),
        ("name", "lint"),
        ("target_url", "https://ci.example.com/7?a=b"),
        ("description", "Looks at it"),
        ("coverage", "87.5"),
    ];
    let first = said(&ground, &form).await;
    assert_eq!(
        first,
        json!({
            "id": first["id"], "sha": ground.sha, "ref": "main", "status": "pending", "name": "lint",
            "target_url": "https://ci.example.com/7?a=b", "description": "Looks at it",
            "created_at": "2026-01-02T03:04:05.678Z", "started_at": null, "finished_at": null, "allow_failure": false,
            "coverage": 87.5, "author": first["author"],
        })
    );
    assert_eq!(first["author"]["username"], "ada");
    assert_eq!(list(&ground.ada, &ground, &ground.sha, "").await.both(), (200, &json!([first])));
    // The pipeline that it is part of is made for it.
    let pipeline = ground.pipeline().await;
    assert_eq!(
        json!([pipeline["status"], pipeline["sha"], pipeline["ref"], pipeline["tag"], pipeline["user"]["username"]]),
        json!(["pending", ground.sha, "main", false, "ada"])
    );
    // No runner is needed for it.
    assert!(ground.runner().await.request().await.is_none());
    assert_eq!(ground.pipelines().await.len(), 1);
}

/// While it is still to come it is the same entry; afterwards there is another one.
#[tokio::test]
async fn one_is_changed_until_it_is_over() {
    let ground = Ground::with(NOTHING).await;
    let first = said(&ground, &[("state", "pending"), ("description", "Waits")]).await;
    assert_eq!((&first["name"], &first["target_url"]), (&json!("default"), &Value::Null));
    ground.server.advance(TimeDelta::seconds(10));
    let second = said(&ground, &[("state", "running"), ("target_url", "http://ci.example.com/")]).await;
    assert_eq!((&second["id"], &second["status"]), (&first["id"], &json!("running")));
    assert_eq!(
        (&second["started_at"], &second["target_url"]),
        (&json!("2026-01-02T03:04:15.678Z"), &json!("http://ci.example.com/"))
    );
    assert_eq!((&ground.pipeline().await["status"], &second["finished_at"]), (&json!("running"), &Value::Null));
    ground.server.advance(TimeDelta::seconds(10));
    let third = said(&ground, &[("state", "success"), ("coverage", "50")]).await;
    assert_eq!((&third["id"], &third["status"], &third["coverage"]), (&first["id"], &json!("success"), &json!(50.0)));
    assert_eq!(third["started_at"], "2026-01-02T03:04:15.678Z");
    assert_eq!(third["finished_at"], "2026-01-02T03:04:25.678Z");
    let pipeline = ground.pipeline().await;
    assert_eq!((&pipeline["status"], &pipeline["finished_at"]), (&json!("success"), &third["finished_at"]));

    let fourth = said(&ground, &[("state", "failed")]).await;
    assert_ne!(fourth["id"], first["id"]);
    assert_eq!((&fourth["status"], &fourth["coverage"]), (&json!("failed"), &Value::Null));
    assert_eq!(ground.pipeline().await["status"], "failed");
    let fifth = said(&ground, &[("state", "pending")]).await;
    assert_ne!(fifth["id"], fourth["id"]);
    assert_eq!(ground.pipeline().await["status"], "pending");
    // The newest of each name is shown, and all if all are wanted.
    assert_eq!(list(&ground.ada, &ground, &ground.sha, "").await.body, json!([fifth]));
    let mut all = list(&ground.ada, &ground, &ground.sha, "?all=true").await.ids();
    all.sort_unstable();
    let expected: Vec<i64> = [&first, &fourth, &fifth].iter().map(|it| it["id"].as_i64().unwrap()).collect();
    assert_eq!(all, expected);
    assert_eq!(ground.pipelines().await.len(), 1);
}

#[tokio::test]
async fn together_they_make_the_pipeline() {
    let ground = Ground::with(NOTHING).await;
    // What is said, and what the pipeline is then.
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
        said(&ground, &[("context", name), ("state", state)]).await;
        assert_eq!(ground.pipeline().await["status"], expected, "{name} {state}");
    }
    let names: Vec<Value> = list(&ground.ada, &ground, &ground.sha, "").await.body.as_array().unwrap().clone();
    let mut names: Vec<&str> = names.iter().map(|it| it["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["docs", "lint", "test"]);
}

#[tokio::test]
async fn they_stand_beside_builds() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    said(&ground, &[("name", "lint"), ("state", "success")]).await;
    assert_eq!(ground.pipelines().await.len(), 1, "there was one");
    assert_eq!(ground.pipeline().await["status"], "running");
    let job = runner.take().await;
    runner.finish(&job, "success").await;
    assert_eq!(ground.pipeline().await["status"], "success");
    said(&ground, &[("name", "lint"), ("state", "failed")]).await;
    assert_eq!(ground.pipeline().await["status"], "failed");
    let listed = list(&ground.ada, &ground, &ground.sha, "").await;
    let mut listed: Vec<Value> =
        listed.body.as_array().unwrap().iter().map(|it| json!([it["name"], it["status"]])).collect();
    listed.sort_by_key(ToString::to_string);
    assert_eq!(listed, [json!(["lint", "failed"]), json!(["one", "success"])]);
    // What others say is not to be built anew.
    let retried =
        ground.ada.post(&ground.path(&format!("/pipelines/{}/retry", ground.pipeline().await["id"])), &[]).await;
    assert_eq!(retried.status, 201);
    assert_eq!(ground.pipeline().await["status"], "failed");
    assert!(runner.request().await.is_none());
}

#[tokio::test]
async fn what_is_wrong_says_nothing() {
    let ground = Ground::with(NOTHING).await;
    let (_, reporter) = ground.member("rob", "20").await;
    let (_, guest) = ground.member("gus", "10").await;
    let (_, eve) = ground.server.user("eve").await;
    let before = ground.server.contents().await;
    let told = async |form: &[(&str, &str)]| {
        let answer = say(&ground, &ground.sha, form).await;
        json!([answer.status, answer.body])
    };
    assert_eq!(told(&[]).await, json!([400, { "error": "state is missing" }]));
    for state in ["skipped", "created", "other", ""] {
        assert_eq!(told(&[("state", state)]).await[0], 400, "{state}");
    }
    assert_eq!(told(&[("state", "other")]).await, json!([400, { "error": "state does not have a valid value" }]));
    let good = ("state", "success");
    assert_eq!(told(&[good, ("coverage", "much")]).await, json!([400, { "error": "coverage is invalid" }]));
    for url in ["nowhere", "javascript:alert(1)", "http://", "data:text/html,x"] {
        let wrong = json!([400, { "message": { "target_url": ["must be a valid URL"] } }]);
        assert_eq!(told(&[good, ("target_url", url)]).await, wrong, "{url}");
    }
    let unknown = say(&ground, &"1".repeat(40), &[good]).await;
    assert_eq!(unknown.both(), (404, &json!({ "message": "404 Commit Not Found" })));
    let path = ground.path(&format!("/statuses/{}", ground.sha));
    let nobody = ground.server.anonymous();
    for (client, status) in [(&reporter, 403), (&guest, 403), (&eve, 404), (&nobody, 401)] {
        assert_eq!(client.post(&path, &[good]).await.status, status);
    }
    assert_eq!(ground.server.contents().await, before);
    ground.set("builds_enabled", "false").await;
    assert_eq!(say(&ground, &ground.sha, &[good]).await.status, 403);
}

#[tokio::test]
async fn who_reads_them() {
    let ground = Ground::with(SIMPLE).await;
    let (_, reporter) = ground.member("rob", "20").await;
    let (_, guest) = ground.member("gus", "10").await;
    let (_, eve) = ground.server.user("eve").await;
    let nobody = ground.server.anonymous();
    for (client, status) in [(&reporter, 200), (&guest, 403), (&eve, 404)] {
        assert_eq!(list(client, &ground, &ground.sha, "").await.status, status);
    }
    assert!([401, 404].contains(&list(&nobody, &ground, &ground.sha, "").await.status));
    let unknown = list(&ground.ada, &ground, &"1".repeat(40), "").await;
    assert_eq!(unknown.both(), (404, &json!({ "message": "404 Commit Not Found" })));
}

#[tokio::test]
async fn some_of_them_are_asked_for() {
    let ground = Ground::with("one: {stage: build, script: x}\ntwo: {script: x}\n").await;
    ground.push("main:topic").await;
    said(&ground, &[("name", "lint"), ("state", "success"), ("ref", "main")]).await;
    said(&ground, &[("name", "lint"), ("state", "failed"), ("ref", "topic")]).await;
    said(&ground, &[("name", "lint"), ("state", "success"), ("ref", "topic")]).await;
    let told = async |query: &str| {
        let listed = list(&ground.ada, &ground, &ground.sha, query).await;
        assert_eq!(listed.status, 200, "{query}: {}", listed.text);
        let facts = |it: &Value| format!("{} {} {}", it["ref"], it["name"], it["status"]).replace('"', "");
        let mut facts: Vec<String> = listed.body.as_array().unwrap().iter().map(facts).collect();
        facts.sort();
        facts
    };
    let main = ["main lint success", "main one pending", "main two created"];
    let topic = ["topic lint success", "topic one pending", "topic two created"];
    assert_eq!(told("").await, [main, topic].concat());
    assert_eq!(told("?ref=main").await, main);
    assert_eq!(told("?ref=topic&name=lint").await, ["topic lint success"]);
    assert_eq!(told("?ref=topic&name=lint&all=true").await, ["topic lint failed", "topic lint success"]);
    assert_eq!(told("?stage=build").await, ["main one pending", "topic one pending"]);
    assert_eq!(told("?name=two&all=yes").await, ["main two created", "topic two created"]);
    for query in ["?ref=none", "?stage=none", "?name=none"] {
        assert_eq!(told(query).await, [""; 0], "{query}");
    }
    let page = list(&ground.ada, &ground, &ground.sha, "?per_page=2&page=2").await;
    assert_eq!((page.ids().len(), page.header("x-total")), (2, Some("6")));
    let wrong = list(&ground.ada, &ground, &ground.sha, "?all=perhaps").await;
    assert_eq!(wrong.both(), (400, &json!({ "error": "all is invalid" })));
}

#[tokio::test]
async fn the_ref_that_they_are_about() {
    let ground = Ground::with(NOTHING).await;
    ground.push("main:another").await;
    ground.push("main:topic").await;
    // Without one it is a branch that holds the commit: the default branch, here.
    assert_eq!(said(&ground, &[("state", "success")]).await["ref"], "main");
    let named = said(&ground, &[("state", "failed"), ("ref", "topic")]).await;
    assert_eq!(named["ref"], "topic");
    let statuses: Vec<Value> = ground.pipelines().await.iter().map(|it| json!([it["ref"], it["status"]])).collect();
    assert_eq!(statuses, [json!(["topic", "failed"]), json!(["main", "success"])]);
    // An older commit of a branch is as good as its last one.
    let old = ground.sha.clone();
    ground.tree.commit("more", b"x", "More").await;
    ground.push("main").await;
    let answer = say(&ground, &old, &[("state", "success"), ("ref", "main"), ("name", "late")]).await;
    assert_eq!((answer.status, &answer.body["sha"]), (201, &json!(old)));
    assert_eq!(ground.pipelines().await.len(), 2);
}

#[tokio::test]
async fn a_commit_that_no_branch_holds_has_none() {
    let ground = Ground::with(NOTHING).await;
    ground.tree.git(["checkout", "-q", "--detach"]).await.ok();
    let aside = ground.tree.commit("aside", b"x", "Aside").await;
    ground.tree.git(["tag", "aside"]).await.ok();
    ground.push("aside").await;
    let before = ground.server.contents().await;
    let missing = json!({ "message": "404 References for commit Not Found" });
    let answer = say(&ground, &aside, &[("state", "success")]).await;
    assert_eq!(answer.both(), (404, &missing));
    let answer = say(&ground, &ground.sha, &[("state", "success"), ("ref", "none")]).await;
    assert_eq!(answer.both(), (404, &missing));
    assert_eq!(ground.server.contents().await, before);
}
