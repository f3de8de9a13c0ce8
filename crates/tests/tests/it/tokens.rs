use holdfast_tests::{PASSWORD, Server};
use insta::assert_json_snapshot;
use serde_json::json;

#[tokio::test]
async fn a_token_is_shown_only_once() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let form = [("name", "backup"), ("scopes[]", "read_user"), ("expires_at", "2026-02-01")];
    let made = ada.post("/user/personal_access_tokens", &form).await;
    assert_eq!(made.status, 201);
    assert_json_snapshot!(made.body, @r#"
    {
      "active": true,
      "created_at": "2026-01-02T03:04:05.678Z",
      "expires_at": "2026-02-01",
      "id": 3,
      "last_used_at": null,
      "name": "backup",
      "revoked": false,
      "scopes": [
        "read_user"
      ],
      "token": "hfp_a39affcd0295c86e0940bd2425d6bc316e54105d"
    }
    "#);
    let listed = ada.get("/user/personal_access_tokens?per_page=1").await;
    assert!(listed.body[0].get("token").is_none());
    assert_eq!(listed.body[0]["name"], "backup");
}

/// A session has an id as well, which no list shows.
#[tokio::test]
async fn only_personal_tokens_can_be_revoked_by_id() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let signed_in = server.anonymous().post("/session", &[("login", "ada"), ("password", PASSWORD)]).await;
    let session = server.with_token(signed_in.body["private_token"].as_str().unwrap());
    let query = "select max(id) from tokens where kind = 'session'";
    let id: i64 = sqlx::query_scalar(query).fetch_one(&mut server.database().await).await.unwrap();
    assert_eq!(ada.delete(&format!("/user/personal_access_tokens/{id}")).await.status, 404);
    assert_eq!(session.get("/user").await.status, 200);
}

#[tokio::test]
async fn invalid_token_attributes_are_rejected() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let before = server.dump_database().await;
    for form in [
        [("name", ""), ("scopes", "api")],
        [("name", "x"), ("scopes", "root")],
        [("name", "x"), ("expires_at", "2026-01-02")],
        [("name", "x"), ("expires_at", "soon")],
    ] {
        assert_eq!(ada.post("/user/personal_access_tokens", &form).await.status, 400, "{form:?}");
    }
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn tokens_of_other_users_cannot_be_revoked() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let id = ada.get("/user/personal_access_tokens").await.ids()[0];
    let refused = eve.delete(&format!("/user/personal_access_tokens/{id}")).await;
    assert_eq!(refused.status_and_body(), (404, &json!({"message": "404 Token Not Found"})));
    assert_eq!(ada.get("/user").await.status, 200);
}

/// A later version can add scopes: this version ignores those that it finds in rows, so that lists work, and still rejects
/// them in requests. They grant nothing.
#[tokio::test]
async fn unknown_scopes_of_stored_tokens_are_ignored() {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let set_scopes = async |name: &str, scopes: &[&str]| {
        let secret = server.token(id, &["api"]).await;
        let statement = "update tokens set name = $1, scopes = $2 where id = (select max(id) from tokens)";
        let update = sqlx::query(statement).bind(name).bind(scopes);
        assert_eq!(update.execute(&mut server.database().await).await.unwrap().rows_affected(), 1);
        server.with_token(&secret)
    };
    let mixed = set_scopes("mixed", &["read_registry", "read_user"]).await;
    let unknown = set_scopes("unknown", &["read_registry"]).await;

    for path in ["/user/personal_access_tokens", "/api/v4/personal_access_tokens"] {
        let listed = ada.get(path).await;
        assert_eq!(listed.status, 200, "{path}: {}", listed.text);
        let (first, second) = (&listed.body[0], &listed.body[1]);
        assert_eq!((&first["name"], &first["scopes"]), (&json!("unknown"), &json!([])), "{path}");
        assert_eq!((&second["name"], &second["scopes"]), (&json!("mixed"), &json!(["read_user"])), "{path}");
    }
    assert_eq!(mixed.get("/user").await.body["username"], "ada");
    assert_eq!(mixed.get("/projects").await.status, 403);

    let before = server.dump_database().await;
    let paths = [
        "/user".to_owned(),
        "/projects".into(),
        "/api/v4/user".into(),
        "/api/v4/personal_access_tokens/self".into(),
        format!("/api/v4/projects/{project}"),
        format!("/api/v4/projects/{project}/repository/tags"),
    ];
    for path in &paths {
        let refused = unknown.get(path).await;
        assert_eq!((refused.status, &refused.body["error"]), (403, &json!("insufficient_scope")), "{path}");
    }
    let form = [("name", "n"), ("scopes[]", "read_registry")];
    let refused = unknown.post("/user/personal_access_tokens", &form).await;
    assert_eq!((refused.status, &refused.body["error"]), (403, &json!("insufficient_scope")));
    assert_eq!(ada.post("/user/personal_access_tokens", &form).await.status, 400);
    assert_eq!(server.dump_database().await, before);
}
