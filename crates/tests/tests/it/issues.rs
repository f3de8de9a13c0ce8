//! What is easily forgotten about issues; the rest is in the conformance suite and in `planning_model`.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::json;

use crate::projects::add;

async fn issue(client: &Client, project: i64, form: &[(&str, &str)]) -> i64 {
    let made = client.post(&format!("/projects/{project}/issues"), form).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["id"].as_i64().unwrap()
}

async fn remarks(client: &Client, project: i64, issue: i64) -> Vec<String> {
    let notes = client.get(&format!("/projects/{project}/issues/{issue}/notes")).await;
    let system = notes.body.as_array().unwrap().iter().filter(|note| note["system"] == true);
    system.map(|note| note["body"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn nobody_leaves_a_trace_where_he_sees_nothing() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let project = server.project(&ada, "p", 20).await;
    let hidden = issue(&ada, project, &[("title", "hidden"), ("confidential", "true")]).await;
    let open = issue(&ada, project, &[("title", "open")]).await;
    issue(&eve, project, &[("title", "by eve"), ("description", "like #1 and #2, #3")]).await;
    assert_eq!(remarks(&ada, project, hidden).await, Vec::<String>::new());
    assert_eq!(remarks(&ada, project, open).await, ["mentioned in issue #3"]);
}

/// An outsider reports a vulnerability in a confidential issue, waits for what the team says there, and opens it.
#[tokio::test]
async fn who_reported_in_confidence_does_not_publish_the_replies() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let (_, bob) = server.user("bob").await;
    let project = server.project(&ada, "p", 20).await;
    let hidden = issue(&eve, project, &[("title", "hole"), ("confidential", "true")]).await;
    let path = format!("/projects/{project}/issues/{hidden}");
    assert_eq!(ada.post(&format!("{path}/notes"), &[("body", "details")]).await.status, 201);
    let before = server.contents().await;
    let refused = eve.put(&path, &[("confidential", "false"), ("title", "open")]).await;
    assert_eq!(refused.both(), (403, &json!({ "message": "403 Forbidden" })));
    assert_eq!(server.contents().await, before);
    // What eve may still change, and what eve may close to others.
    assert_eq!(eve.put(&path, &[("confidential", "true"), ("title", "hole 2")]).await.status, 200);
    let open = issue(&eve, project, &[("title", "open"), ("confidential", "false")]).await;
    let closed = eve.put(&format!("/projects/{project}/issues/{open}"), &[("confidential", "true")]).await;
    assert_eq!((closed.status, &closed.body["confidential"]), (200, &json!(true)));
    assert_eq!(bob.get(&path).await.status, 404);
    assert_eq!(ada.put(&path, &[("confidential", "false")]).await.body["confidential"], false);
    assert_eq!(bob.get(&path).await.status, 200);
}

#[tokio::test]
async fn only_who_can_do_something_is_given_something_to_do() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, _) = server.user("bob").await;
    let (eve_id, _) = server.user("eve").await;
    let project = server.project(&ada, "p", 0).await;
    add(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    let assign = async |user: i64| {
        let form = [("title", "t"), ("assignee_id", &*user.to_string())];
        ada.post(&format!("/projects/{project}/issues"), &form).await
    };
    assert_eq!(assign(bob_id.get()).await.status, 201);
    let invalid = json!({ "message": { "assignee_id": ["is invalid"] } });
    for stranger in [eve_id.get(), 99] {
        assert_eq!(assign(stranger).await.both(), (400, &invalid));
    }
    server.admin.put(&format!("/users/{bob_id}/block"), &[]).await;
    assert_eq!(assign(bob_id.get()).await.both(), (400, &invalid));
}

#[tokio::test]
async fn the_first_push_closes_issues_too_and_leaves_one_remark() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let issues = [issue(&ada, project, &[("title", "a")]).await, issue(&ada, project, &[("title", "b")]).await];
    let (url, tree) = (server.git_url(&ada, "ada/p"), WorkTree::new().await);
    let state = async |id: i64| ada.get(&format!("/projects/{project}/issues/{id}")).await.body["state"].clone();
    for (push, message) in ["Fixes #1", "Closes #1, #2 and #7"].into_iter().enumerate() {
        let commit = tree.commit("f", message.as_bytes(), message).await;
        tree.push(&url, &["main"]).await.ok();
        server.work().await;
        assert_eq!(state(issues[push]).await, "closed");
        assert_eq!(remarks(&ada, project, issues[push]).await, [format!("closed via commit {commit}")]);
    }
    let (other, tree) = (issue(&ada, project, &[("title", "c")]).await, tree);
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    tree.commit("f", b"topic", "Fixes #3").await;
    tree.push(&url, &["topic"]).await.ok();
    server.work().await;
    assert_eq!(state(other).await, "opened");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let path = format!("/projects/{project}");
    let id = issue(&ada, project, &[("title", "t"), ("labels", "a, b,,a")]).await;
    let one = format!("{path}/issues/{id}");
    assert_eq!(ada.get(&one).await.body["labels"], json!(["a", "b"]));
    let when = [("updated_at", "2016-02-01T00:00:00Z")];
    assert_eq!(ada.put(&one, &when).await.status, 400);
    let many: String = (0..101).map(|n| format!("l{n},")).collect();
    assert_eq!(ada.put(&one, &[("labels", &many)]).await.both().0, 400);
    assert_eq!(ada.get(&format!("/issues?labels={many}")).await.status, 400);
    let repeated = "a,".repeat(1000);
    assert_eq!(ada.get(&format!("/issues?labels={repeated}")).await.ids(), [id]);
    assert_eq!(ada.get(&format!("/issues?labels={repeated},c")).await.ids(), [0; 0]);
    // A number with a sign is a name.
    let number = ada.get(&format!("{path}/labels")).await.body[0]["id"].clone();
    assert_eq!(ada.post(&format!("{path}/labels/%2B{number}/subscription"), &[]).await.status, 404);
    // An id left out is no order to delete the rest.
    assert_eq!(ada.delete(&format!("{path}/")).await.status, 404);
    assert_eq!(ada.get(&format!("{path}/")).await.status, 200);
    assert_eq!(ada.get(&format!("{path}//issues//{id}/")).await.status, 200);
}
