//! Project hooks.

use holdfast_tests::Server;
use serde_json::json;

#[tokio::test]
async fn hooks_store_all_event_settings() {
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
    for url in ["", "ftp://x", "hook.example", "http://", "javascript:alert(1)", "file:///etc/passwd"] {
        let refused = ada.post(&path, &[("url", url)]).await;
        assert_eq!(refused.status_and_body(), (422, &json!({"error": "Invalid url given"})), "{url:?}");
    }
    assert_eq!(
        ada.put(&one, &[("push_events", "true")]).await.status_and_body(),
        (400, &json!({"error": "url is missing"}))
    );
    assert_eq!(ada.delete(&one).await.body["id"], made.body["id"]);
    let gone = ada.delete(&one).await;
    assert_eq!((gone.status, gone.text.as_str()), (200, ""));
}

/// Credentials in hook URLs are for the receiver alone (GitLab showed them to every master). Sending back the URL as
/// shown changes nothing.
#[tokio::test]
async fn passwords_in_hook_urls_are_not_shown() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    let path = format!("/projects/{project}/hooks");
    let form = [("url", "https://ci:S3cretPass@hook.example/x?y=1")];
    let made = ada.post(&path, &form).await;
    let one = format!("{path}/{}", made.body["id"]);
    let shown = [
        made,
        ada.get(&path).await,
        ada.get(&one).await,
        ada.put(&one, &[("url", "https://hook.example/x?y=1")]).await,
        server.admin.post("/hooks", &form).await,
        server.admin.get("/hooks").await,
    ];
    for answer in shown {
        assert!(answer.status < 300 && answer.text.contains("https://hook.example/x?y=1"), "{}", answer.text);
        assert!(!answer.text.contains("S3cretPass") && !answer.text.contains("ci:"), "{}", answer.text);
    }
    let stored = async || -> Vec<String> {
        let mut database = server.database().await;
        sqlx::query_scalar("select url from hooks order by id").fetch_all(&mut database).await.unwrap()
    };
    assert_eq!(stored().await, [form[0].1; 2]);
    let other = ada.put(&one, &[("url", "https://other.example/x?y=1")]).await;
    assert_eq!((other.status, &other.body["url"]), (200, &json!("https://other.example/x?y=1")));
    assert_eq!(stored().await[0], "https://other.example/x?y=1");
    let deleted = server.admin.delete("/hooks/2").await;
    assert!(deleted.status == 200 && !deleted.text.contains("S3cretPass"), "{}", deleted.text);
}

/// A copy of the database does not reveal the tokens of hooks. Tokens that were stored before a key was configured are
/// encrypted by the daily sweep.
#[tokio::test]
async fn hook_tokens_are_encrypted_in_the_database() {
    let server = Server::start().await;
    server.end_upgrade(12).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    for token in ["s3cret-of-the-first", "s3cret-of-the-second"] {
        let form = [("url", "https://hook.example/x"), ("token", token)];
        assert_eq!(ada.post(&format!("/projects/{project}/hooks"), &form).await.status, 201);
    }
    let mut database = server.database().await;
    let clear = "update hooks set token = 's3cret-in-clear', sealed_token = null where id = 2";
    sqlx::query(clear).execute(&mut database).await.unwrap();
    assert!(!server.dump_database().await["hooks"].to_string().contains("s3cret-of"));
    holdfast_app::worker::sweep_now(&server.app, &holdfast_app::Actor::Operator).await.unwrap();
    assert!(!server.dump_database().await["hooks"].to_string().contains("s3cret"));
    let sealed: i64 = sqlx::query_scalar("select count(*) from hooks where token is null and sealed_token is not null")
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert_eq!(sealed, 2);
}

/// IDOR across projects (such as Gogs GHSA-cv22-72px-f4gh): a hook of another project is not found.
#[tokio::test]
async fn a_hook_belongs_to_its_project() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let project = server.project(&ada, "engine", 0).await;
    let own = server.project(&eve, "own", 0).await;
    let form = [("url", "http://h.example")];
    let hook = ada.post(&format!("/projects/{project}/hooks"), &form).await.body["id"].clone();
    let before = server.dump_database().await;
    let path = format!("/projects/{own}/hooks/{hook}");
    assert_eq!(eve.get(&path).await.status_and_body(), (404, &json!({"message": "404 Not found"})));
    assert_eq!(eve.put(&path, &form).await.status, 404);
    assert_eq!(eve.delete(&path).await.text, "");
    assert_eq!(server.dump_database().await, before);
}
