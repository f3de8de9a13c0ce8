//! The way back: what refs left behind can be found and restored, for a while.

use chrono::TimeDelta;
use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

use crate::projects::add;

struct Place {
    server: Server,
    ada: Client,
    project: i64,
    url: String,
    tree: WorkTree,
}

impl Place {
    /// A project with one commit on `main`.
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

    /// A branch `topic` with a commit of its own, which is its id.
    async fn topic(&self) -> String {
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
        let answer = client.post(&self.api(&format!("ref_log/{generation}/restore")), &[("ref_name", name)]).await;
        (answer.status, answer.body)
    }

    async fn at(&self, branch: &str) -> Value {
        self.ada.get(&self.api(&format!("branches/{branch}"))).await.body["commit"]["id"].clone()
    }
}

fn conflict(text: &str) -> (u16, Value) {
    (409, json!({ "message": text }))
}

#[tokio::test]
async fn the_log_tells_who_moved_what() {
    let place = Place::new().await;
    let topic = place.topic().await;
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
            // Made by it, so there is nothing to go back to.
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
async fn a_deleted_branch_comes_back_and_is_told_of() {
    let place = Place::new().await;
    let topic = place.topic().await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let gone = place.log("topic").await[0]["generation"].clone();
    let before = place.ada.get(&format!("/projects/{}/events", place.project)).await.body.as_array().unwrap().len();
    let done = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(done, (201, json!({ "ref_name": "refs/heads/topic", "target": topic })));
    assert_eq!(place.at("topic").await, json!(topic));
    let (cloned, clone) = WorkTree::clone(&place.url, &["-b", "topic"]).await;
    cloned.ok();
    assert_eq!(clone.head().await, topic);
    // As if it had been pushed.
    let events = place.ada.get(&format!("/projects/{}/events", place.project)).await.body;
    assert_eq!(events.as_array().unwrap().len(), before + 1);
    let data = &events[0]["data"];
    assert_eq!((&data["after"], &data["total_commits_count"]), (&json!(topic), &json!(1)));
    let told: i64 = sqlx::query_scalar(
        "select count(*) from outbox where kind = 'push' and payload->>'after' = $1 and payload->>'before' = repeat('0', 40)",
    )
    .bind(&topic)
    .fetch_one(&mut place.server.database().await)
    .await
    .unwrap();
    assert_eq!(told, 2, "when it was made, and when it was made again");
    let log = place.log("topic").await;
    assert_eq!((log.as_array().unwrap().len(), &log[0]["via"], &log[0]["old"]), (3, &json!("api"), &Value::Null));
    // Once is enough.
    let again = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(again, conflict("refs/heads/topic was moved again since that change"));
}

#[tokio::test]
async fn a_forced_push_is_undone() {
    let place = Place::new().await;
    let topic = place.topic().await;
    place.tree.git(["commit", "-q", "--amend", "-m", "another one"]).await.ok();
    let other = place.tree.head().await;
    place.tree.push(&place.url, &["+main:topic"]).await.ok();
    assert_eq!(place.at("topic").await, json!(other));
    let forced = place.log("topic").await[0]["generation"].clone();
    assert_eq!(place.restore(&place.ada, &forced, "refs/heads/topic").await.0, 201);
    assert_eq!(place.at("topic").await, json!(topic));
    // And so is that.
    let undone = place.log("topic").await[0]["generation"].clone();
    assert_eq!(place.restore(&place.ada, &undone, "topic").await.1["target"], json!(other));
}

#[tokio::test]
async fn an_annotated_tag_comes_back_as_it_was() {
    let place = Place::new().await;
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
async fn what_cannot_be_undone_changes_nothing() {
    let place = Place::new().await;
    let first = place.at("main").await;
    place.topic().await;
    let made = place.log("topic").await[0]["generation"].clone();
    place.tree.commit("f", b"2\n", "two").await;
    place.tree.push(&place.url, &["main:topic"]).await.ok();
    let moved = place.log("topic").await[0]["generation"].clone();
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let gone = place.log("topic").await[0]["generation"].clone();
    let before = place.server.contents().await;
    let nothing = place.restore(&place.ada, &made, "topic").await;
    assert_eq!(nothing, conflict("refs/heads/topic was made by that change: there is nothing to put it back to"));
    let since = place.restore(&place.ada, &moved, "topic").await;
    assert_eq!(since, conflict("refs/heads/topic was moved again since that change"));
    let not_found = (404, json!({ "message": "404 Not found" }));
    assert_eq!(place.restore(&place.ada, &json!(999), "topic").await, not_found);
    assert_eq!(place.restore(&place.ada, &gone, "main").await, not_found);
    let nameless = place.ada.post(&place.api(&format!("ref_log/{gone}/restore")), &[]).await;
    assert_eq!(nameless.both(), (400, &json!({ "error": "ref_name is missing" })));
    // A branch of that name is in the way of `topic`.
    let branch = [("branch_name", "topic/sub"), ("ref", "main")];
    place.ada.post(&place.api("branches"), &branch).await;
    let blocked = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(blocked, conflict("another ref is in the way: one name is a directory of the other"));
    place.ada.delete(&place.api("branches/topic%2Fsub")).await;
    place.server.advance(TimeDelta::days(30));
    assert_eq!(place.log("topic").await[0]["restorable"], true);
    place.server.advance(TimeDelta::seconds(1));
    assert_eq!(place.log("topic").await[0]["restorable"], false);
    let late = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(late, conflict("It is too late: changes can be undone for 30 days"));
    assert_eq!(place.at("main").await, first);
    assert_eq!(place.server.contents().await["packs"], before["packs"]);
}

#[tokio::test]
async fn refusals_write_nothing() {
    let place = Place::new().await;
    place.topic().await;
    let made = place.log("topic").await[0]["generation"].clone();
    let before = place.server.contents().await;
    assert_eq!(place.restore(&place.ada, &made, "topic").await.0, 409);
    assert_eq!(place.restore(&place.ada, &json!(999), "topic").await.0, 404);
    assert_eq!(place.server.contents().await, before);
}

#[tokio::test]
async fn protected_branches_are_put_back_by_masters() {
    let place = Place::new().await;
    let (bob_id, bob) = place.server.user("bob").await;
    let (eve_id, eve) = place.server.user("eve").await;
    let api = format!("/projects/{}", place.project);
    add(&place.ada, &api, bob_id.get(), 30).await;
    add(&place.ada, &api, eve_id.get(), 40).await;
    let first = place.at("main").await;
    place.tree.commit("f", b"1\n", "should not be there").await;
    place.tree.push(&place.url, &["main"]).await.ok();
    let pushed = place.log("main").await[0]["generation"].clone();
    let text = |text: &str| (400, json!({ "message": text }));
    let closed = "You are not allowed to push code to protected branches on this project.";
    assert_eq!(place.restore(&bob, &pushed, "main").await, text(closed));
    // Who may push still may not go back.
    place.ada.put(&place.api("branches/main/protect"), &[("developers_can_push", "true")]).await;
    let forced = "You are not allowed to force push code to a protected branch on this project.";
    assert_eq!(place.restore(&bob, &pushed, "main").await, text(forced));
    assert_eq!(place.restore(&eve, &pushed, "main").await.0, 201);
    assert_eq!(place.at("main").await, first);
    // Forward again is an ordinary push.
    let undone = place.log("main").await[0]["generation"].clone();
    assert_eq!(place.restore(&bob, &undone, "main").await.0, 201);
}

#[tokio::test]
async fn strangers_see_no_log_and_restore_nothing() {
    let place = Place::new().await;
    let topic = place.topic().await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let gone = place.log("topic").await[0]["generation"].clone();
    let (bob_id, bob) = place.server.user("bob").await;
    let hidden = (404, json!({ "message": "404 Project Not Found" }));
    let log = bob.get(&place.api("ref_log")).await;
    assert_eq!((log.status, log.body), hidden);
    assert_eq!(place.restore(&bob, &gone, "topic").await, hidden);
    add(&place.ada, &format!("/projects/{}", place.project), bob_id.get(), 20).await;
    assert_eq!(bob.get(&place.api("ref_log")).await.status, 403);
    assert_eq!(place.restore(&bob, &gone, "topic").await.0, 403);
    // What was left behind is not served until it is back.
    assert_eq!(bob.get(&place.api(&format!("commits/{topic}"))).await.status, 404);
    // An archived project can be read.
    place.ada.post(&format!("/projects/{}/archive", place.project), &[]).await;
    assert_eq!(place.ada.get(&place.api("ref_log")).await.status, 200);
    assert_eq!(place.restore(&place.ada, &gone, "topic").await.0, 403);
}

/// Whatever was done with the objects, a ref is never put where something is missing.
#[tokio::test]
async fn nothing_is_restored_to_what_is_gone() {
    let place = Place::new().await;
    place.topic().await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let gone = place.log("topic").await[0]["generation"].clone();
    // The pack that came with the topic.
    sqlx::query("delete from repository_packs where pack_id = (select max(pack_id) from repository_packs)")
        .execute(&mut place.server.database().await)
        .await
        .unwrap();
    place.server.app.engine.forget().await;
    let missing = place.restore(&place.ada, &gone, "topic").await;
    assert_eq!(missing, conflict("What refs/heads/topic led to before is not there any more"));
}
