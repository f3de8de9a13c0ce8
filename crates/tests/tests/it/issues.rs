//! Corner cases of issues; the rest is covered by the conformance suite and `planning_model`.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::json;

use crate::projects::add_member;

async fn create_issue(client: &Client, project: i64, form: &[(&str, &str)]) -> i64 {
    let made = client.post(&format!("/projects/{project}/issues"), form).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["id"].as_i64().unwrap()
}

async fn system_notes(client: &Client, project: i64, issue: i64) -> Vec<String> {
    let notes = client.get(&format!("/projects/{project}/issues/{issue}/notes")).await;
    let system = notes.body.as_array().unwrap().iter().filter(|note| note["system"] == true);
    system.map(|note| note["body"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn mentions_of_invisible_issues_create_no_note() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let project = server.project(&ada, "p", 20).await;
    let hidden = create_issue(&ada, project, &[("title", "hidden"), ("confidential", "true")]).await;
    let open = create_issue(&ada, project, &[("title", "open")]).await;
    create_issue(&eve, project, &[("title", "by eve"), ("description", "like #1 and #2, #3")]).await;
    assert_eq!(system_notes(&ada, project, hidden).await, Vec::<String>::new());
    assert_eq!(system_notes(&ada, project, open).await, ["mentioned in issue #3"]);
}

/// An outsider reports a vulnerability in a confidential issue, waits for notes of the team, and makes the issue
/// public.
#[tokio::test]
async fn reporters_cannot_make_confidential_issues_public() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let (_, bob) = server.user("bob").await;
    let project = server.project(&ada, "p", 20).await;
    let hidden = create_issue(&eve, project, &[("title", "hole"), ("confidential", "true")]).await;
    let path = format!("/projects/{project}/issues/{hidden}");
    assert_eq!(ada.post(&format!("{path}/notes"), &[("body", "details")]).await.status, 201);
    let before = server.dump_database().await;
    let refused = eve.put(&path, &[("confidential", "false"), ("title", "open")]).await;
    assert_eq!(refused.status_and_body(), (403, &json!({ "message": "403 Forbidden" })));
    assert_eq!(server.dump_database().await, before);
    // The author may still change the title, and make an issue confidential.
    assert_eq!(eve.put(&path, &[("confidential", "true"), ("title", "hole 2")]).await.status, 200);
    let open = create_issue(&eve, project, &[("title", "open"), ("confidential", "false")]).await;
    let closed = eve.put(&format!("/projects/{project}/issues/{open}"), &[("confidential", "true")]).await;
    assert_eq!((closed.status, &closed.body["confidential"]), (200, &json!(true)));
    assert_eq!(bob.get(&path).await.status, 404);
    assert_eq!(ada.put(&path, &[("confidential", "false")]).await.body["confidential"], false);
    assert_eq!(bob.get(&path).await.status, 200);
}

#[tokio::test]
async fn issues_are_assigned_only_to_active_users_with_access() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, _) = server.user("bob").await;
    let (eve_id, _) = server.user("eve").await;
    let project = server.project(&ada, "p", 0).await;
    add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    let assign = async |user: i64| {
        let form = [("title", "t"), ("assignee_id", &*user.to_string())];
        ada.post(&format!("/projects/{project}/issues"), &form).await
    };
    assert_eq!(assign(bob_id.get()).await.status, 201);
    let invalid = json!({ "message": { "assignee_id": ["is invalid"] } });
    for stranger in [eve_id.get(), 99] {
        assert_eq!(assign(stranger).await.status_and_body(), (400, &invalid));
    }
    server.admin.put(&format!("/users/{bob_id}/block"), &[]).await;
    assert_eq!(assign(bob_id.get()).await.status_and_body(), (400, &invalid));
}

#[tokio::test]
async fn the_first_push_closes_issues_with_one_system_note() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let issues =
        [create_issue(&ada, project, &[("title", "a")]).await, create_issue(&ada, project, &[("title", "b")]).await];
    let (url, tree) = (server.git_url(&ada, "ada/p"), WorkTree::new().await);
    let state = async |id: i64| ada.get(&format!("/projects/{project}/issues/{id}")).await.body["state"].clone();
    for (push, message) in ["Fixes #1", "Closes #1, #2 and #7"].into_iter().enumerate() {
        let commit = tree.commit("f", message.as_bytes(), message).await;
        tree.push(&url, &["main"]).await.ok();
        server.run_jobs().await;
        assert_eq!(state(issues[push]).await, "closed");
        assert_eq!(system_notes(&ada, project, issues[push]).await, [format!("closed via commit {commit}")]);
    }
    let (other, tree) = (create_issue(&ada, project, &[("title", "c")]).await, tree);
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    tree.commit("f", b"topic", "Fixes #3").await;
    tree.push(&url, &["topic"]).await.ok();
    server.run_jobs().await;
    assert_eq!(state(other).await, "opened");
}

#[tokio::test]
async fn invalid_issue_attributes_are_rejected() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let path = format!("/projects/{project}");
    let id = create_issue(&ada, project, &[("title", "t"), ("labels", "a, b,,a")]).await;
    let one = format!("{path}/issues/{id}");
    assert_eq!(ada.get(&one).await.body["labels"], json!(["a", "b"]));
    let when = [("updated_at", "2016-02-01T00:00:00Z")];
    assert_eq!(ada.put(&one, &when).await.status, 400);
    let many: String = (0..101).map(|n| format!("l{n},")).collect();
    assert_eq!(ada.put(&one, &[("labels", &many)]).await.status_and_body().0, 400);
    assert_eq!(ada.get(&format!("/issues?labels={many}")).await.status, 400);
    let repeated = "a,".repeat(1000);
    assert_eq!(ada.get(&format!("/issues?labels={repeated}")).await.ids(), [id]);
    assert_eq!(ada.get(&format!("/issues?labels={repeated},c")).await.ids(), [0; 0]);
    // A number with a sign is a label name, not an id.
    let number = ada.get(&format!("{path}/labels")).await.body[0]["id"].clone();
    assert_eq!(ada.post(&format!("{path}/labels/%2B{number}/subscription"), &[]).await.status, 404);
    // A missing id does not delete the whole collection.
    assert_eq!(ada.delete(&format!("{path}/")).await.status, 404);
    assert_eq!(ada.get(&format!("{path}/")).await.status, 200);
    assert_eq!(ada.get(&format!("{path}//issues//{id}/")).await.status, 200);
}
