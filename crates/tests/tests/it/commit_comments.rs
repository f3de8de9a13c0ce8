//! Comments on commits: lines, feeds, deleted authors.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

use crate::projects::add_member;

/// Creates a public project `ada/p` whose second commit changes, adds and removes lines of a file. Returns the path of
/// the comments on that commit.
async fn commented_commit(server: &Server, ada: &Client) -> (String, String) {
    let project = server.project(ada, "p", 20).await;
    let tree = WorkTree::new().await;
    tree.commit("a.txt", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "first").await;
    let id = tree.commit("a.txt", b"1\ntwo\n3\n4\n5\n6\n7\n9\nten\n", "second").await;
    tree.push(&server.git_url(ada, "ada/p"), &["main"]).await.ok();
    (format!("/projects/{project}/repository/commits/{id}/comments"), id)
}

#[tokio::test]
async fn comments_are_on_lines_that_the_commit_changes() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (path, _) = commented_commit(&server, &ada).await;
    for (line, kind, is_changed) in [
        ("2", "new", true),
        ("9", "new", true),
        ("2", "old", true),
        ("8", "old", true),
        ("3", "new", false),
        ("9", "old", false),
        ("0", "new", false),
        ("-2", "new", false),
    ] {
        let form = [("note", "x"), ("path", "a.txt"), ("line", line), ("line_type", kind)];
        let created = ada.post(&path, &form).await;
        assert_eq!(created.status, 201, "{}", created.text);
        let found = (&created.body["line"], &created.body["line_type"]);
        let number: i64 = line.parse().unwrap();
        let expected = if is_changed { (json!(number), json!(kind)) } else { (Value::Null, Value::Null) };
        assert_eq!(found, (&expected.0, &expected.1), "{line} {kind}");
        assert_eq!(created.body["path"], "a.txt");
    }
    let elsewhere = [("note", "x"), ("path", "../a.txt"), ("line", "1")];
    assert_eq!(ada.post(&path, &elsewhere).await.body["path"], Value::Null);
    assert_eq!(ada.post(&path, &[("note", " ")]).await.status, 400);
}

/// Guests of a private project may not read its code, and neither the comments on it.
#[tokio::test]
async fn guests_do_not_see_comments_in_feeds() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (guest_id, guest) = server.user("guest").await;
    let (path, id) = commented_commit(&server, &ada).await;
    let project = path.replace(&format!("/repository/commits/{id}/comments"), "");
    assert_eq!(ada.put(&project, &[("visibility_level", "0")]).await.status, 200);
    add_member(&ada, &project, guest_id.get(), 10).await;
    assert_eq!(ada.post(&path, &[("note", "secret")]).await.status, 201);
    for feed in [format!("{project}/events"), format!("/users/{}/events", ada_id.get())] {
        assert!(ada.get(&feed).await.text.contains("secret"), "{feed}");
        let seen = guest.get(&feed).await;
        assert_eq!(seen.status, 200, "{feed}");
        assert!(!seen.text.contains("secret"), "{feed}");
    }
    assert_eq!((guest.get(&path).await.status, guest.post(&path, &[("note", "x")]).await.status), (403, 403));
}

#[tokio::test]
async fn comments_are_in_the_feed_and_outlive_their_authors() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (path, id) = commented_commit(&server, &ada).await;
    assert_eq!(bob.post(&path, &[("note", "Why?")]).await.status, 201);
    let events = ada.get(&path.replace(&format!("/repository/commits/{id}/comments"), "/events")).await;
    let event = &events.body[0];
    assert_eq!((&event["action_name"], &event["target_type"]), (&json!("commented on"), &json!("Note")));
    assert_eq!(event["note"]["body"], "Why?");
    assert_eq!((&event["note"]["noteable_type"], &event["note"]["noteable_id"]), (&json!("Commit"), &Value::Null));
    let activity = server.browser().get("/ada/p/activity").await;
    assert!(activity.attributes("main a", "href").contains(&format!("/ada/p/commit/{id}")), "{}", activity.text);

    assert_eq!(server.admin.delete(&format!("/users/{}", bob_id.get())).await.status, 200);
    server.run_jobs().await;
    let comments = ada.get(&path).await;
    assert_eq!(
        (&comments.body[0]["note"], &comments.body[0]["author"]["name"]),
        (&json!("Why?"), &json!("Ghost User"))
    );
    let left: i64 = sqlx::query_scalar("select count(*) from commit_comments where author_id = $1")
        .bind(bob_id.get())
        .fetch_one(&mut server.database().await)
        .await
        .unwrap();
    assert_eq!(left, 0);
}
