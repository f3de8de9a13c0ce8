//! Release notes of tags.

use holdfast_tests::{Client, Server, TestResponse, WorkTree};
use serde_json::{Value, json};

async fn create_tag(client: &Client, project: i64, form: &[(&str, &str)]) -> TestResponse {
    let form: Vec<_> = form.iter().copied().chain([("ref", "main")]).collect();
    client.post(&format!("/projects/{project}/repository/tags"), &form).await
}

async fn list_releases(server: &Server) -> Vec<(i64, String, String)> {
    sqlx::query_as("select project_id, tag_name, description from releases order by 1, 2")
        .fetch_all(&mut server.database().await)
        .await
        .unwrap()
}

#[tokio::test]
async fn deleting_a_tag_deletes_its_notes() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (p, q) = (server.project(&ada, "p", 20).await, server.project(&ada, "q", 20).await);
    crate::projects::add_member(&ada, &format!("/projects/{p}"), bob_id.get(), 30).await;
    for path in ["ada/p", "ada/q"] {
        server.push_first(&ada, path).await;
    }
    for (project, name) in [(p, "v1"), (p, "v2"), (q, "v1")] {
        let made = create_tag(&ada, project, &[("tag_name", name), ("release_description", "Notes")]).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert_eq!(made.body["release"], json!({ "tag_name": name, "description": "Notes" }));
    }
    let row = |project, name: &str| (project, name.to_owned(), "Notes".to_owned());
    let all = [row(p, "v1"), row(p, "v2"), row(q, "v1")];
    assert_eq!(list_releases(&server).await, all);
    // A rejected deletion of the tag keeps its notes.
    let tree = WorkTree::new().await;
    tree.push(&server.git_url(&bob, "ada/p"), &[":v1"]).await.expect_failure();
    assert_eq!(list_releases(&server).await, all);
    tree.push(&server.git_url(&ada, "ada/p"), &[":v1"]).await.ok();
    assert_eq!(list_releases(&server).await, all[1..]);
    // Deleting a branch with the name of the tag keeps the notes.
    tree.commit("f", b"f\n", "f").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main:refs/heads/v2"]).await.ok();
    tree.push(&server.git_url(&ada, "ada/p"), &[":refs/heads/v2"]).await.ok();
    assert_eq!(list_releases(&server).await, all[1..]);
    // A new tag with that name does not get the old notes.
    let again = create_tag(&ada, p, &[("tag_name", "v1")]).await;
    assert_eq!((again.status, &again.body["release"]), (201, &Value::Null));
    assert_eq!(list_releases(&server).await, all[1..]);
}

/// Privilege escalation: a developer could not update or delete a tag by a push, but could do both by the API, with
/// `DELETE` and `POST`. Users rely on tags not changing.
#[tokio::test]
async fn developers_cannot_change_existing_tags_by_push_or_api() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let project = server.project(&ada, "p", 20).await;
    crate::projects::add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    server.push_first(&ada, "ada/p").await;
    assert_eq!(create_tag(&ada, project, &[("tag_name", "v1"), ("release_description", "Notes")]).await.status, 201);
    // A developer may create tags.
    assert_eq!(create_tag(&bob, project, &[("tag_name", "own")]).await.status, 201);
    let before = server.dump_database().await;
    let path = format!("/projects/{project}/repository/tags");
    let refused = json!({ "message": "403 Forbidden  - You are not allowed to change existing tags on this project." });
    for name in ["v1", "own"] {
        assert_eq!(bob.delete(&format!("{path}/{name}")).await.status_and_body(), (403, &refused), "{name}");
        let exists = json!({ "message": format!("Tag {name} already exists") });
        assert_eq!(create_tag(&bob, project, &[("tag_name", name)]).await.status_and_body(), (405, &exists));
        let tree = WorkTree::new().await;
        tree.commit("f", b"other\n", "other").await;
        let url = server.git_url(&bob, "ada/p");
        for change in [format!(":refs/tags/{name}"), format!("+main:refs/tags/{name}")] {
            let pushed = tree.push(&url, &[&change]).await.expect_failure();
            assert!(pushed.stderr.contains("You are not allowed to change existing tags on this project."));
        }
    }
    assert_eq!(
        bob.delete(&format!("{path}/none")).await.status_and_body(),
        (404, &json!({ "message": "No such tag" }))
    );
    assert_eq!(server.dump_database().await, before);
    assert_eq!(ada.delete(&format!("{path}/v1")).await.status_and_body(), (200, &json!({ "tag_name": "v1" })));
}

/// Tag, notes and events are written in one transaction: if the notes cannot be written, there is neither a tag nor an
/// event.
#[tokio::test]
async fn a_tag_is_not_created_if_its_notes_cannot_be_written() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    sqlx::raw_sql("alter table releases add constraint unwritable check (description <> 'unwritable')")
        .execute(&mut server.database().await)
        .await
        .unwrap();
    let tree = WorkTree::new().await;
    let refs = async || tree.git(["ls-remote", &server.git_url(&ada, "ada/p")]).await.ok().stdout;
    let before = (refs().await, server.dump_database().await);
    // An annotated tag also adds an object.
    for message in ["", "Version 1"] {
        let form = |notes| [("tag_name", "v1"), ("message", message), ("release_description", notes)];
        let failed = create_tag(&ada, project, &form("unwritable")).await;
        assert_eq!(failed.status, 500, "{}", failed.text);
        assert_eq!((refs().await, server.dump_database().await), before, "{message:?}");
    }
    let made = create_tag(&ada, project, &[("tag_name", "v1"), ("release_description", "Notes")]).await;
    assert_eq!((made.status, &made.body["release"]["description"]), (201, &json!("Notes")));
    assert!(refs().await.contains("refs/tags/v1"));
}

#[tokio::test]
async fn release_notes_are_created_once_and_then_updated() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    create_tag(&ada, project, &[("tag_name", "v1")]).await;
    let path = |tag: &str| format!("/projects/{project}/repository/tags/{tag}/release");
    let notes = [("description", "- one")];
    let error_body = |text: &str| json!({ "message": text });
    assert_eq!(ada.post(&path("none"), &notes).await.status_and_body(), (404, &error_body("Tag does not exist")));
    assert_eq!(ada.put(&path("none"), &notes).await.status_and_body(), (404, &error_body("Tag does not exist")));
    assert_eq!(ada.put(&path("v1"), &notes).await.status_and_body(), (404, &error_body("Release does not exist")));
    assert_eq!(
        ada.post(&path("v1"), &[]).await.status_and_body(),
        (400, &json!({ "error": "description is missing" }))
    );
    let made = ada.post(&path("v1"), &notes).await;
    assert_eq!(made.status_and_body(), (201, &json!({ "tag_name": "v1", "description": "- one" })));
    assert_eq!(ada.post(&path("v1"), &notes).await.status_and_body(), (409, &error_body("Release already exists")));
    let changed = ada.put(&path("v1"), &[("description", "- two")]).await;
    assert_eq!(changed.status_and_body(), (200, &json!({ "tag_name": "v1", "description": "- two" })));
    assert_eq!(list_releases(&server).await, [(project, "v1".to_owned(), "- two".to_owned())]);
    let gone = format!("/projects/{project}/repository/tags/v1");
    assert_eq!(ada.delete(&gone).await.status_and_body(), (200, &json!({ "tag_name": "v1" })));
    assert_eq!(ada.delete(&gone).await.status_and_body(), (404, &error_body("No such tag")));
    assert_eq!(list_releases(&server).await, []);
}

/// Tags may point at blobs and trees. They have no commit to show, and a large blob is not read.
#[tokio::test]
async fn tags_of_blobs_and_trees_have_no_commit() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    tree.commit("f", &vec![0; 80 << 20], "large").await;
    tree.git(["tag", "file", "HEAD:f"]).await.ok();
    tree.git(["tag", "-a", "-m", "A directory", "directory", "HEAD^{tree}"]).await.ok();
    tree.git(["tag", "plain"]).await.ok();
    tree.push(&server.git_url(&ada, "ada/p"), &["main", "--tags"]).await.ok();
    let api = format!("/projects/{project}/repository");
    let list = ada.get(&format!("{api}/tags")).await;
    assert_eq!(list.status, 200, "{}", list.text);
    let received: Vec<_> =
        list.body.as_array().unwrap().iter().map(|tag| (&tag["name"], tag["commit"].is_null())).collect();
    assert_eq!(received, [(&json!("plain"), false), (&json!("file"), true), (&json!("directory"), true)]);
    let one = ada.get(&format!("{api}/tags/directory")).await.body;
    assert_eq!((&one["message"], &one["commit"]), (&json!("A directory"), &Value::Null));
    for name in ["file", "directory"] {
        assert_eq!(ada.get(&format!("{api}/tree?ref_name={name}")).await.status, 404, "{name} is no revision");
    }
}
