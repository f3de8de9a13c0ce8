use chrono::TimeDelta;
use holdfast_app::accounts::token::{self, CreateToken};
use holdfast_app::{Actor, accounts::user};
use holdfast_domain::Field;
use holdfast_tests::{PASSWORD, Server, log};
use serde_json::json;

fn unauthorized() -> serde_json::Value {
    json!({"message": "401 Unauthorized"})
}

#[tokio::test]
async fn tokens_are_accepted_in_header_query_form_and_json() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let token = ada.token();
    let nobody = server.anonymous();
    assert_eq!(nobody.get(&format!("/user?private_token={token}")).await.body["username"], "ada");
    let form = nobody.post("/user/emails", &[("private_token", token), ("email", "a@b")]).await;
    assert_eq!(form.status, 201);
    let json = json!({"private_token": token, "email": "c@d"});
    let json = nobody.send(nobody.request("POST", "/user/emails").json(&json)).await;
    assert_eq!(json.status, 201);
    // If both are present, the parameter overrides the header.
    let root = server.admin.token();
    assert_eq!(ada.get(&format!("/user?private_token={root}")).await.body["username"], "root");
}

#[tokio::test]
async fn invalid_tokens_are_unauthenticated() {
    let server = Server::start().await;
    for token in ["", "x", "hfp_0000000000000000000000000000000000000000", "' or true --"] {
        assert_eq!(server.with_token(token).get("/user").await.status_and_body(), (401, &unauthorized()), "{token:?}");
    }
    assert_eq!(server.anonymous().get("/user").await.status_and_body(), (401, &unauthorized()));
}

#[tokio::test]
async fn tokens_are_invalid_after_expiry_revocation_or_block() {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    let input = CreateToken {
        name: "short".into(),
        scopes: vec!["api".into()],
        expires_at: Some("2026-01-04".parse().unwrap()),
    };
    let (short, secret) = token::create_for_user(&server.app, &Actor::Operator, id, input).await.unwrap();
    let client = server.with_token(&secret);
    assert_eq!(client.get("/user").await.status, 200);
    server.advance(TimeDelta::days(2));
    assert_eq!(client.get("/user").await.status_and_body(), (401, &unauthorized()));
    assert_eq!(ada.get("/user").await.status, 200);

    let tokens = ada.get("/user/personal_access_tokens").await.body;
    assert_eq!((&tokens[0]["id"], &tokens[0]["active"]), (&json!(short.id), &json!(false)));
    let own = tokens[1]["id"].as_i64().unwrap();
    assert_eq!(ada.delete(&format!("/user/personal_access_tokens/{own}")).await.status, 200);
    assert_eq!(ada.get("/user").await.status_and_body(), (401, &unauthorized()));
}

#[tokio::test]
async fn read_user_scope_reads_users_and_nothing_else() {
    let server = Server::start().await;
    let (id, _) = server.user("ada").await;
    let reader = server.with_token(&server.token(id, &["read_user"]).await);
    for path in ["/user", "/users", "/users/1", "/user/keys"] {
        assert_eq!(reader.get(path).await.status, 200, "{path}");
    }
    let before = server.dump_database().await;
    let refused = reader.post("/user/emails", &[("email", "a@b")]).await;
    assert_eq!((refused.status, &refused.body["error"]), (403, &json!("insufficient_scope")));
    for path in ["/groups", "/namespaces"] {
        assert_eq!(reader.get(path).await.status, 403, "{path}");
    }
    assert_eq!(server.dump_database().await, before);
}

/// Privilege escalation: a token with few scopes creates one with more (the class of Gitea CVE-2026-28744).
#[tokio::test]
async fn a_token_cannot_create_a_token_with_more_scopes() {
    let server = Server::start().await;
    let (id, api) = server.user("ada").await;
    let before = server.dump_database().await;
    let form = [("name", "more"), ("scopes", "api,sudo")];
    assert_eq!(api.post("/user/personal_access_tokens", &form).await.status, 403);
    let reader = server.with_token(&server.token(id, &["read_user"]).await);
    assert_eq!(reader.post("/user/personal_access_tokens", &[("name", "more")]).await.status, 403);
    let weaker = api.post("/user/personal_access_tokens", &[("name", "less"), ("scopes[]", "read_user")]).await;
    assert_eq!((weaker.status, &weaker.body["scopes"]), (201, &json!(["read_user"])));
    assert_eq!(before["users"], server.dump_database().await["users"]);
}

#[tokio::test]
async fn sudo_requires_an_administrator_with_the_sudo_scope() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let root = &server.admin;
    for who in ["2", "ada", "ADA"] {
        let by_header = root.send(root.request("GET", "/user").header("SUDO", who)).await;
        assert_eq!(by_header.body["username"], "ada", "{who}");
        assert_eq!(root.get(&format!("/user?sudo={who}")).await.body["username"], "ada", "{who}");
    }
    // With sudo, the permissions of Ada apply.
    assert_eq!(root.get("/users/1/keys?sudo=ada").await.status, 403);

    let message = |text: &str| json!({ "message": text });
    let not_admin = message("403 Forbidden  - Must be admin to use sudo");
    assert_eq!(ada.get("/user?sudo=root").await.status_and_body(), (403, &not_admin));
    let plain = server.with_token(&server.token(1.into(), &["api"]).await);
    let needs_scope = message("403 Forbidden  - Private token must be specified in order to use sudo");
    assert_eq!(plain.get("/user?sudo=ada").await.status_and_body(), (403, &needs_scope));
    let unknown = message("404 No user id or username for: nobody Not Found");
    assert_eq!(root.get("/user?sudo=nobody").await.status_and_body(), (404, &unknown));
    assert_eq!(server.anonymous().get("/user?sudo=ada").await.status_and_body(), (401, &unauthorized()));
    root.put("/users/2/block", &[]).await;
    assert_eq!(root.get("/user?sudo=ada").await.status_and_body(), (401, &unauthorized()));
}

/// Passwords and tokens in logs (Gitea #35530, #37440): everything that the server logs at level trace is searched for
/// every secret that was sent to it or that it returned.
#[tokio::test]
async fn secrets_are_never_logged_nor_stored() {
    let server = Server::start().await;
    let password = "canary-password-5f1c";
    let changes =
        user::UserChanges { password: Field::Value(password.into()), ..holdfast_tests::user_attributes("canary") };
    let (_, client) = server.user_with(changes).await;
    let session = server.anonymous().post("/session", &[("login", "canary"), ("password", password)]).await;
    let session_token = session.body["private_token"].as_str().unwrap().to_owned();
    let made = client.post("/user/personal_access_tokens", &[("name", "n")]).await;
    let made_token = made.body["token"].as_str().unwrap().to_owned();
    client.get(&format!("/user?private_token={made_token}")).await;
    client.get("/user?private_token=canary-wrong-token").await;
    server.anonymous().post("/session", &[("login", "canary"), ("password", "canary-wrong-password")]).await;
    server.admin.put("/users/2", &[("password", "canary-new-password"), ("email", "broken")]).await;

    let secrets = [
        password,
        &session_token,
        &made_token,
        client.token(),
        server.admin.token(),
        "canary-wrong-token",
        "canary-wrong-password",
        "canary-new-password",
        PASSWORD,
    ];
    let contents = server.dump_database().await.to_string();
    let logged = log::captured();
    assert!(logged.contains("/api/v3/session"), "the log is captured");
    for secret in secrets {
        assert!(!logged.contains(secret), "{secret} was logged");
        assert!(!contents.contains(secret), "{secret} is stored as it is");
    }
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let server = Server::start().await;
    let nobody = server.anonymous();
    let made_up = nobody.get("/no/such/route").await;
    assert_eq!(made_up.status_and_body(), (404, &json!({"error": "404 Not Found"})));
    assert_eq!(made_up.header("x-request-id").unwrap().len(), 32);
    let given = nobody.send(nobody.request("GET", "/user").header("X-Request-Id", "from-the-balancer_1")).await;
    assert_eq!(given.header("x-request-id"), Some("from-the-balancer_1"));
    let hostile = nobody.send(nobody.request("GET", "/user").header("X-Request-Id", "a b\"{}")).await;
    assert_eq!(hostile.header("x-request-id").unwrap().len(), 32);
}
