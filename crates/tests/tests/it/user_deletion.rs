//! What goes with a user, and what stays.

use holdfast_tests::Server;
use serde_json::json;

#[tokio::test]
async fn deletion_is_idempotent_and_takes_everything_along() {
    let server = Server::start().await;
    let before = server.contents().await;
    let (id, ada) = server.user("ada").await;
    ada.post("/user/emails", &[("email", "work@example.com")]).await;
    let project = server.project(&ada, "engine", 20).await;
    server.admin.post(&format!("/projects/{project}/star"), &[]).await;
    let path = format!("/users/{id}");
    let deleted = server.admin.delete(&path).await;
    assert_eq!((deleted.status, &deleted.body["username"]), (200, &json!("ada")));
    assert_eq!(server.admin.get(&format!("/projects/{project}")).await.status, 404);
    server.work().await;
    let mut after = server.contents().await;
    // What was done, and what there was to tell, stays.
    for table in ["jobs", "outbox", "outbox_queue"] {
        after[table] = before[table].clone();
    }
    assert_eq!(after, before);
    assert_eq!(server.admin.delete(&path).await.both(), (200, &json!(null)));
    assert_eq!(ada.get("/user").await.status, 401);
}
