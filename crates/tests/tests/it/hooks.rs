//! Hooks of projects.

use holdfast_tests::Server;
use serde_json::json;

#[tokio::test]
async fn hooks_are_kept_with_all_their_switches() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    let path = format!("/projects/{project}/hooks");
    let made = ada.post(&path, &[("url", " https://hook.example/x "), ("token", "s3cret")]).await;
    assert_eq!(made.status, 201);
    insta::assert_json_snapshot!(made.body, @r#"
    {
      "build_events": false,
      "created_at": "2026-01-02T03:04:05.678Z",
      "enable_ssl_verification": true,
      "failing_since": null,
      "id": 1,
      "issues_events": false,
      "merge_requests_events": false,
      "note_events": false,
      "paused_at": null,
      "pipeline_events": false,
      "project_id": 1,
      "push_events": true,
      "tag_push_events": false,
      "url": "https://hook.example/x",
      "wiki_page_events": false
    }
    "#);
    let one = format!("{path}/{}", made.body["id"]);
    let changed =
        ada.put(&one, &[("url", "http://h.example"), ("wiki_events", "true"), ("push_events", "no")]).await.body;
    assert_eq!((&changed["wiki_page_events"], &changed["push_events"]), (&json!(true), &json!(false)));
    assert_eq!(changed["enable_ssl_verification"], true, "what is not sent stays");
    let token: Option<String> =
        sqlx::query_scalar("select token from hooks").fetch_one(&mut server.database().await).await.unwrap();
    assert_eq!(token.as_deref(), Some("s3cret"));
    for url in ["", "ftp://x", "hook.example", "http://", "javascript:alert(1)", "file:///etc/passwd"] {
        let refused = ada.post(&path, &[("url", url)]).await;
        assert_eq!(refused.both(), (422, &json!({"error": "Invalid url given"})), "{url:?}");
    }
    assert_eq!(ada.put(&one, &[("push_events", "true")]).await.both(), (400, &json!({"error": "url is missing"})));
    assert_eq!(ada.delete(&one).await.body["id"], made.body["id"]);
    let gone = ada.delete(&one).await;
    assert_eq!((gone.status, gone.text.as_str()), (200, ""));
}

/// IDOR across projects (Gogs GHSA-cv22-72px-f4gh and its like): another project's hook is no hook of this one.
#[tokio::test]
async fn a_hook_belongs_to_its_project() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let project = server.project(&ada, "engine", 0).await;
    let own = server.project(&eve, "own", 0).await;
    let form = [("url", "http://h.example")];
    let hook = ada.post(&format!("/projects/{project}/hooks"), &form).await.body["id"].clone();
    let before = server.contents().await;
    let path = format!("/projects/{own}/hooks/{hook}");
    assert_eq!(eve.get(&path).await.both(), (404, &json!({"message": "404 Not found"})));
    assert_eq!(eve.put(&path, &form).await.status, 404);
    assert_eq!(eve.delete(&path).await.text, "");
    assert_eq!(server.contents().await, before);
}
