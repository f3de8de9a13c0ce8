//! Todos: who gets one, who still sees it, and what completes it.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::Value;

use crate::projects::add_member;

/// A private project `ada/p`. Bob is a developer, Guy a guest, Eve is no member.
struct Fixture {
    server: Server,
    ada: Client,
    bob: Client,
    guy: Client,
    eve: Client,
    guy_id: i64,
    api: String,
}

impl Fixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (bob_id, bob) = server.user("bob").await;
        let (guy_id, guy) = server.user("guy").await;
        let (_, eve) = server.user("eve").await;
        let api = format!("/projects/{}", server.project(&ada, "p", 0).await);
        add_member(&ada, &api, bob_id.get(), 30).await;
        add_member(&ada, &api, guy_id.get(), 10).await;
        Self { server, ada, bob, guy, eve, guy_id: guy_id.get(), api }
    }

    async fn create_issue(&self, form: &[(&str, &str)]) -> String {
        let created = self.ada.post(&format!("{}/issues", self.api), form).await;
        assert_eq!(created.status, 201, "{}", created.text);
        format!("{}/issues/{}", self.api, created.body["id"])
    }
}

async fn pending(client: &Client) -> Vec<Value> {
    client.get("/todos").await.body.as_array().expect("a list").clone()
}

/// Each mentioned user is checked on their own: members by their level, others not at all.
#[tokio::test]
async fn only_users_who_may_read_an_issue_get_a_todo() {
    let fixture = Fixture::new().await;
    let text = "@BOB, @bob, @guy, @eve and @nobody";
    fixture.create_issue(&[("title", "open"), ("description", text)]).await;
    fixture.create_issue(&[("title", "secret"), ("description", text), ("confidential", "true")]).await;
    let titles = |todos: Vec<Value>| todos.iter().map(|it| it["body"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(titles(pending(&fixture.bob).await), ["secret", "open"]);
    assert_eq!(titles(pending(&fixture.guy).await), ["open"]);
    assert_eq!(titles(pending(&fixture.eve).await), [] as [&str; 0]);
    assert_eq!(titles(pending(&fixture.ada).await), [] as [&str; 0]);
}

/// Reading is checked when the list is read, and not only when the todo was created.
#[tokio::test]
async fn todos_of_hidden_issues_are_neither_listed_nor_completed() {
    let fixture = Fixture::new().await;
    let issue = fixture.create_issue(&[("title", "t"), ("description", "@guy")]).await;
    let todo = pending(&fixture.guy).await[0]["id"].clone();
    assert_eq!(fixture.ada.put(&issue, &[("confidential", "true")]).await.status, 200);
    assert_eq!(pending(&fixture.guy).await, [] as [Value; 0]);
    assert_eq!(fixture.guy.delete(&format!("/todos/{todo}")).await.status, 404);
    assert_eq!(fixture.guy.delete("/todos").await.body, 0);
    // The assignee of a confidential issue sees it, whatever the level, but only as a member.
    let form = [("assignee_id", fixture.guy_id.to_string())];
    let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(fixture.ada.put(&issue, &form).await.status, 200);
    assert_eq!(pending(&fixture.guy).await[0]["id"], todo);
    fixture.ada.delete(&format!("{}/members/{}", fixture.api, fixture.guy_id)).await;
    assert_eq!(pending(&fixture.guy).await, [] as [Value; 0]);
}

/// Users who were mentioned before the edit get no other todo, even if theirs was done meanwhile.
#[tokio::test]
async fn an_edited_note_creates_todos_of_new_users_only() {
    let fixture = Fixture::new().await;
    let issue = fixture.create_issue(&[("title", "t")]).await;
    let note = fixture.ada.post(&format!("{issue}/notes"), &[("body", "@bob")]).await.body["id"].clone();
    assert_eq!(fixture.bob.delete("/todos").await.body, 1);
    let note = format!("{issue}/notes/{note}");
    assert_eq!(fixture.ada.put(&note, &[("body", "@bob and @guy")]).await.status, 200);
    assert_eq!(pending(&fixture.bob).await, [] as [Value; 0]);
    assert_eq!(pending(&fixture.guy).await[0]["body"], "@bob and @guy");
    // The todo is deleted with its note.
    assert_eq!(fixture.ada.delete(&note).await.status, 200);
    assert_eq!(pending(&fixture.guy).await, [] as [Value; 0]);
}

/// Todos do not disappear with the user who caused them.
#[tokio::test]
async fn a_deleted_author_is_shown_as_the_ghost_account() {
    let fixture = Fixture::new().await;
    let issue = fixture.create_issue(&[("title", "t")]).await;
    assert_eq!(fixture.bob.post(&format!("{issue}/notes"), &[("body", "@guy")]).await.status, 201);
    let bob = fixture.bob.get("/user").await.body["id"].clone();
    assert_eq!(fixture.server.admin.delete(&format!("/users/{bob}")).await.status, 200);
    let todos = pending(&fixture.guy).await;
    assert_eq!((todos.len(), &todos[0]["author"]["username"]), (1, &Value::from("ghost")));
}

/// The todo about a failed pipeline is done when the commit is tried again, and there is a new one if it fails again.
#[tokio::test]
async fn a_failed_pipeline_is_a_todo_until_it_is_tried_again() {
    let fixture = Fixture::new().await;
    let tree = WorkTree::new().await;
    tree.commit("a.txt", b"one\n", "first").await;
    let url = fixture.server.git_url(&fixture.ada, "ada/p");
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    let head = tree.commit("b.txt", b"two\n", "second").await;
    tree.push(&url, &["topic"]).await.ok();
    let form = [("title", "t"), ("source_branch", "topic"), ("target_branch", "main")];
    assert_eq!(fixture.bob.post(&format!("{}/merge_requests", fixture.api), &form).await.status, 201);
    let statuses = format!("{}/statuses/{head}", fixture.api);
    for (state, expected) in [("failed", 1), ("running", 0), ("success", 0), ("running", 0), ("failed", 1)] {
        let set = fixture.ada.post(&statuses, &[("state", state), ("ref", "topic")]).await;
        assert_eq!(set.status, 201, "{state}: {}", set.text);
        let todos = pending(&fixture.bob).await;
        assert_eq!(todos.len(), expected, "{state}");
        assert!(todos.iter().all(|todo| todo["action_name"] == "build_failed"));
    }
    assert_eq!(pending(&fixture.ada).await, [] as [Value; 0]);
}
