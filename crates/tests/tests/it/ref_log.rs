//! The ref log: old values of refs can be found and restored for a limited time.

use chrono::TimeDelta;
use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

use crate::projects::add_member;

struct RefLogFixture {
    server: Server,
    ada: Client,
    project: i64,
    url: String,
    tree: WorkTree,
}

impl RefLogFixture {
    /// Creates a project with one commit on `main`.
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "p", 0).await;
        let url = server.git_url(&ada, "ada/p");
        let tree = WorkTree::new().await;
        tree.commit("f", b"0\n", "zero").await;
        tree.push(&url, &["main"]).await.ok();
        Self { server, ada, project, url, tree }
    }

    /// Pushes a branch `topic` with a commit of its own, and returns the commit's id.
    async fn push_topic(&self) -> String {
        let id = self.tree.commit("f", b"1\n", "one").await;
        self.tree.push(&self.url, &["main:topic"]).await.ok();
        id
    }

    fn api(&self, path: &str) -> String {
        format!("/projects/{}/repository/{path}", self.project)
    }

    async fn log(&self, name: &str) -> Value {
        self.ada.get(&self.api(&format!("ref_log?ref_name={name}"))).await.body
    }

    async fn restore(&self, client: &Client, generation: &Value, name: &str) -> (u16, Value) {
        let response = client.post(&self.api(&format!("ref_log/{generation}/restore")), &[("ref_name", name)]).await;
        (response.status, response.body)
    }

    async fn branch_tip(&self, branch: &str) -> Value {
        self.ada.get(&self.api(&format!("branches/{branch}"))).await.body["commit"]["id"].clone()
    }
}

fn conflict(text: &str) -> (u16, Value) {
    (409, json!({ "message": text }))
}

#[tokio::test]
async fn the_ref_log_records_who_updated_which_ref() {
    let place = RefLogFixture::new().await;
    let topic = place.push_topic().await;
    place.ada.delete(&place.api("branches/topic")).await;
    let all = place.ada.get(&place.api("ref_log")).await;
    insta::assert_json_snapshot!(all.body[0], @r#"
    {
      "created_at": "2026-01-02T03:04:05.678Z",
      "generation": 3,
      "new": null,
      "old": "19c48d68b781fcfaac921d3ea5c8ecf668078127",
      "ref_name": "refs/heads/topic",
      "restorable": true,
      "user": {
        "avatar_url": "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon",
        "id": 2,
        "name": "User ada",
        "state": "active",
        "username": "ada",
        "web_url": "http://holdfast.test/ada"
      },
      "via": "api"
    }
    "#);
    let facts = |entry: &Value| (entry["ref_name"].clone(), entry["via"].clone(), entry["restorable"].clone());
    let facts: Vec<_> = all.body.as_array().unwrap().iter().map(facts).collect();
    let fact = |name: &str, via: &str, restorable: bool| (json!(name), json!(via), json!(restorable));
    assert_eq!(
        facts,
        [
            fact("refs/heads/topic", "api", true),
            // The update created the ref, so there is no old value to restore.
            fact("refs/heads/topic", "http", false),
            fact("refs/heads/main", "http", false),
        ]
    );
    assert_eq!(all.header("x-total"), Some("3"));
    assert_eq!(place.log("topic").await.as_array().unwrap().len(), 2);
    assert_eq!(place.log("refs/heads/topic").await.as_array().unwrap().len(), 2);
    assert_eq!(place.log("refs/tags/topic").await, json!([]));
    let second = place.ada.get(&place.api("ref_log?per_page=1&page=2")).await;
    assert_eq!((second.body.as_array().unwrap().len(), &second.body[0]["new"]), (1, &json!(topic)));
}

#[tokio::test]
async fn a_deleted_branch_is_restored_with_an_event() {
    let place = RefLogFixture::new().await;
    let topic = place.push_topic().await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let gone = place.log("topic").await[0]["generation"].clone();
    let before = place.ada.get(&format!("/projects/{}/events", place.project)).await.body.as_array().unwrap().len();
    let done = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(done, (201, json!({ "ref_name": "refs/heads/topic", "target": topic })));
    assert_eq!(place.branch_tip("topic").await, json!(topic));
    let (cloned, clone) = WorkTree::clone(&place.url, &["-b", "topic"]).await;
    cloned.ok();
    assert_eq!(clone.head().await, topic);
    // A restore creates the same event as a push.
    let events = place.ada.get(&format!("/projects/{}/events", place.project)).await.body;
    assert_eq!(events.as_array().unwrap().len(), before + 1);
    let data = &events[0]["data"];
    assert_eq!((&data["after"], &data["total_commits_count"]), (&json!(topic), &json!(1)));
    let entry_count: i64 = sqlx::query_scalar(
        "select count(*) from outbox where kind = 'push' and payload->>'after' = $1 and payload->>'before' = repeat('0', 40)",
    )
    .bind(&topic)
    .fetch_one(&mut place.server.database().await)
    .await
    .unwrap();
    assert_eq!(entry_count, 2, "when it was made, and when it was made again");
    let log = place.log("topic").await;
    assert_eq!((log.as_array().unwrap().len(), &log[0]["via"], &log[0]["old"]), (3, &json!("api"), &Value::Null));
    // Restoring again is a conflict.
    let again = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(again, conflict("refs/heads/topic has been updated again since"));
}

#[tokio::test]
async fn a_forced_push_can_be_undone() {
    let place = RefLogFixture::new().await;
    let topic = place.push_topic().await;
    place.tree.git(["commit", "-q", "--amend", "-m", "another one"]).await.ok();
    let other = place.tree.head().await;
    place.tree.push(&place.url, &["+main:topic"]).await.ok();
    assert_eq!(place.branch_tip("topic").await, json!(other));
    let forced = place.log("topic").await[0]["generation"].clone();
    assert_eq!(place.restore(&place.ada, &forced, "refs/heads/topic").await.0, 201);
    assert_eq!(place.branch_tip("topic").await, json!(topic));
    // A restore can be undone in the same way.
    let undone = place.log("topic").await[0]["generation"].clone();
    assert_eq!(place.restore(&place.ada, &undone, "topic").await.1["target"], json!(other));
}

#[tokio::test]
async fn an_annotated_tag_is_restored_unchanged() {
    let place = RefLogFixture::new().await;
    place.tree.git(["tag", "-a", "v1", "-m", "first"]).await.ok();
    let tag = place.tree.git(["rev-parse", "v1"]).await.ok().line().to_owned();
    place.tree.push(&place.url, &["v1"]).await.ok();
    place.ada.delete(&place.api("tags/v1")).await;
    let gone = place.log("refs/tags/v1").await[0]["generation"].clone();
    let done = place.restore(&place.ada, &gone, "refs/tags/v1").await;
    assert_eq!(done, (201, json!({ "ref_name": "refs/tags/v1", "target": tag })));
    assert_eq!(place.ada.get(&place.api("tags/v1")).await.body["message"], "first");
    let advertised = place.tree.git(["ls-remote", &place.url, "refs/tags/*"]).await.ok().stdout;
    assert!(advertised.contains("refs/tags/v1^{}"), "{advertised}");
}

#[tokio::test]
async fn impossible_restores_change_nothing() {
    let place = RefLogFixture::new().await;
    let first = place.branch_tip("main").await;
    place.push_topic().await;
    let made = place.log("topic").await[0]["generation"].clone();
    place.tree.commit("f", b"2\n", "two").await;
    place.tree.push(&place.url, &["main:topic"]).await.ok();
    let moved = place.log("topic").await[0]["generation"].clone();
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let gone = place.log("topic").await[0]["generation"].clone();
    let before = place.server.dump_database().await;
    let nothing = place.restore(&place.ada, &made, "topic").await;
    assert_eq!(nothing, conflict("refs/heads/topic was created by this update and has no previous value"));
    let since = place.restore(&place.ada, &moved, "topic").await;
    assert_eq!(since, conflict("refs/heads/topic has been updated again since"));
    let not_found = (404, json!({ "message": "404 Not found" }));
    assert_eq!(place.restore(&place.ada, &json!(999), "topic").await, not_found);
    assert_eq!(place.restore(&place.ada, &gone, "main").await, not_found);
    let nameless = place.ada.post(&place.api(&format!("ref_log/{gone}/restore")), &[]).await;
    assert_eq!(nameless.status_and_body(), (400, &json!({ "error": "ref_name is missing" })));
    // A branch of that name conflicts with `topic`.
    let branch = [("branch_name", "topic/sub"), ("ref", "main")];
    place.ada.post(&place.api("branches"), &branch).await;
    let blocked = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(blocked, conflict("conflicts with an existing ref: one name is a path prefix of the other"));
    place.ada.delete(&place.api("branches/topic%2Fsub")).await;
    place.server.advance(TimeDelta::days(30));
    assert_eq!(place.log("topic").await[0]["restorable"], true);
    place.server.advance(TimeDelta::seconds(1));
    assert_eq!(place.log("topic").await[0]["restorable"], false);
    let late = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(late, conflict("This update is older than 30 days and can no longer be restored"));
    assert_eq!(place.branch_tip("main").await, first);
    assert_eq!(place.server.dump_database().await["packs"], before["packs"]);
}

#[tokio::test]
async fn rejected_restores_write_nothing() {
    let place = RefLogFixture::new().await;
    place.push_topic().await;
    let made = place.log("topic").await[0]["generation"].clone();
    let before = place.server.dump_database().await;
    assert_eq!(place.restore(&place.ada, &made, "topic").await.0, 409);
    assert_eq!(place.restore(&place.ada, &json!(999), "topic").await.0, 404);
    assert_eq!(place.server.dump_database().await, before);
}

#[tokio::test]
async fn only_masters_restore_protected_branches() {
    let place = RefLogFixture::new().await;
    let (bob_id, bob) = place.server.user("bob").await;
    let (eve_id, eve) = place.server.user("eve").await;
    let api = format!("/projects/{}", place.project);
    add_member(&place.ada, &api, bob_id.get(), 30).await;
    add_member(&place.ada, &api, eve_id.get(), 40).await;
    let first = place.branch_tip("main").await;
    place.tree.commit("f", b"1\n", "should not be there").await;
    place.tree.push(&place.url, &["main"]).await.ok();
    let pushed = place.log("main").await[0]["generation"].clone();
    let text = |text: &str| (400, json!({ "message": text }));
    let closed = "You are not allowed to push code to protected branches on this project.";
    assert_eq!(place.restore(&bob, &pushed, "main").await, text(closed));
    // Permission to push does not include permission to force.
    place.ada.put(&place.api("branches/main/protect"), &[("developers_can_push", "true")]).await;
    let forced = "You are not allowed to force push code to a protected branch on this project.";
    assert_eq!(place.restore(&bob, &pushed, "main").await, text(forced));
    assert_eq!(place.restore(&eve, &pushed, "main").await.0, 201);
    assert_eq!(place.branch_tip("main").await, first);
    // Restoring the newer value is a fast-forward, and needs only permission to push.
    let undone = place.log("main").await[0]["generation"].clone();
    assert_eq!(place.restore(&bob, &undone, "main").await.0, 201);
}

#[tokio::test]
async fn outsiders_cannot_read_the_ref_log_or_restore_refs() {
    let place = RefLogFixture::new().await;
    let topic = place.push_topic().await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let gone = place.log("topic").await[0]["generation"].clone();
    let (bob_id, bob) = place.server.user("bob").await;
    let hidden = (404, json!({ "message": "404 Project Not Found" }));
    let log = bob.get(&place.api("ref_log")).await;
    assert_eq!((log.status, log.body), hidden);
    assert_eq!(place.restore(&bob, &gone, "topic").await, hidden);
    add_member(&place.ada, &format!("/projects/{}", place.project), bob_id.get(), 20).await;
    assert_eq!(bob.get(&place.api("ref_log")).await.status, 403);
    assert_eq!(place.restore(&bob, &gone, "topic").await.0, 403);
    // Unreachable objects are not served until they are restored.
    assert_eq!(bob.get(&place.api(&format!("commits/{topic}"))).await.status, 404);
    // The ref log of an archived project can be read.
    place.ada.post(&format!("/projects/{}/archive", place.project), &[]).await;
    assert_eq!(place.ada.get(&place.api("ref_log")).await.status, 200);
    assert_eq!(place.restore(&place.ada, &gone, "topic").await.0, 403);
}

/// A ref is never restored to a commit that lacks objects, whatever happened to them.
#[tokio::test]
async fn refs_are_not_restored_to_missing_objects() {
    let place = RefLogFixture::new().await;
    place.push_topic().await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let gone = place.log("topic").await[0]["generation"].clone();
    // The pack of the push to `topic`.
    sqlx::query("delete from repository_packs where pack_id = (select max(pack_id) from repository_packs)")
        .execute(&mut place.server.database().await)
        .await
        .unwrap();
    place.server.app.git_runtime.invalidate_caches().await;
    let missing = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(missing, conflict("The previous target of refs/heads/topic has been pruned"));
}
