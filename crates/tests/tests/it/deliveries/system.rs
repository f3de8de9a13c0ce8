//! System hooks.

use holdfast_tests::{PASSWORD, Receiver, Server, database};
use serde_json::{Value, json};
use sqlx::Executor;

use crate::ssh_keys::OTHER_ED25519;

async fn set_up_hook(server: &Server) -> (Receiver, i64) {
    let receiver = Receiver::start().await;
    server.deliver_hooks().await;
    let made = server.admin.post("/hooks", &[("url", &receiver.url("/s")), ("tag_push_events", "true")]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    (receiver, made.body[0]["id"].as_i64().unwrap())
}

#[tokio::test]
async fn system_hooks_can_be_created_listed_and_deleted() {
    let server = Server::start().await;
    let made = server.admin.post("/hooks", &[("url", " https://h.example/x "), ("token", "s3cret")]).await;
    assert_eq!(made.status, 201);
    let expected = json!({
        "id": 1,
        "url": "https://h.example/x",
        "created_at": "2026-01-02T03:04:05.678Z",
        "push_events": true,
        "tag_push_events": false,
        "enable_ssl_verification": true,
        "failing_since": null,
        "paused_at": null,
    });
    assert_eq!(made.body, json!([expected]));
    assert_eq!(server.admin.get("/hooks").await.body, json!([expected]));
    let refused = server.admin.post("/hooks", &[("url", "ftp://x")]).await;
    assert_eq!(refused.status_and_body(), (400, &json!({"message": {"url": ["must be a valid URL"]}})));
    assert_eq!(server.admin.post("/hooks", &[]).await.status_and_body(), (400, &json!({"error": "url is missing"})));
    let deleted = server.admin.delete("/hooks/1").await;
    let mut longer = expected;
    for (name, value) in [
        ("project_id", Value::Null),
        ("service_id", Value::Null),
        ("note_events", json!(false)),
        ("issues_events", json!(false)),
        ("merge_requests_events", json!(false)),
        ("updated_at", json!("2026-01-02T03:04:05.678Z")),
    ] {
        longer[name] = value;
    }
    assert_eq!(deleted.status_and_body(), (200, &longer));
    assert_eq!(
        server.admin.delete("/hooks/1").await.status_and_body(),
        (404, &json!({"message": "404 System hook Not Found"}))
    );
    assert_eq!(server.admin.get("/hooks/1").await.status_and_body(), (404, &json!({"message": "404 Not found"})));
}

/// The route of a test has the method GET in version 3, but a token that can only read does not send anything with it.
#[tokio::test]
async fn a_token_for_reading_does_not_test_a_system_hook() {
    let server = Server::start().await;
    let (receiver, hook) = set_up_hook(&server).await;
    let reader = server.with_token(&server.token(1.into(), &["read_api"]).await);
    let writer = server.with_token(&server.token(1.into(), &["api"]).await);
    let path = format!("/hooks/{hook}");
    let before = server.dump_database().await;
    for method in ["GET", "HEAD"] {
        assert_eq!(reader.send(reader.request(method, &path)).await.status, 403, "{method}");
    }
    let refused = reader.get(&path).await.body;
    assert_eq!((&refused["error"], &refused["scope"]), (&json!("insufficient_scope"), &json!("api")));
    for readable in ["/hooks", "/hooks/{hook}/deliveries", "/api/v4/hooks/{hook}", "/api/v4/hooks/{hook}/events"] {
        assert_eq!(reader.get(&readable.replace("{hook}", &hook.to_string())).await.status, 200, "{readable}");
    }
    server.deliver_hooks().await;
    assert!(receiver.take_received().is_empty());
    let after = server.dump_database().await;
    assert_eq!((&after["deliveries"], &after["outbox"]), (&before["deliveries"], &before["outbox"]));
    assert_eq!(writer.get(&path).await.status, 200);
    server.deliver_hooks().await;
    assert_eq!(receiver.take_received().len(), 1);
}

/// Two requests that change different attributes at once: both changes are stored.
#[tokio::test]
async fn concurrent_updates_of_a_system_hook_are_both_stored() {
    let server = Server::start().await;
    let made = server.admin.post("/api/v4/hooks", &[("url", "https://h.example/a"), ("token", "s3cret")]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/api/v4/hooks/{}", made.body["id"]);
    let (mut blocking, mut observer) = (server.database().await, server.database().await);
    blocking.execute("begin; select id from hooks for no key update").await.unwrap();
    let update = |form: &'static [(&str, &str)]| {
        let (admin, path) = (server.admin.clone(), path.clone());
        tokio::spawn(async move { admin.put(&path, form).await })
    };
    let updates = [
        update(&[("url", "https://h.example/b"), ("tag_push_events", "true")]),
        update(&[("push_events", "false")]),
        update(&[("enable_ssl_verification", "false")]),
    ];
    database::wait_for_blocked(&mut observer, 3).await;
    blocking.execute("commit").await.unwrap();
    for update in updates {
        let updated = update.await.unwrap();
        assert_eq!(updated.status, 200, "{}", updated.text);
    }
    let stored = server.admin.get(&path).await.body;
    assert_eq!(stored["url"], "https://h.example/b");
    assert_eq!((&stored["tag_push_events"], &stored["push_events"]), (&json!(true), &json!(false)));
    assert_eq!(stored["enable_ssl_verification"], false);
}

#[tokio::test]
async fn showing_a_system_hook_sends_a_test_event() {
    let server = Server::start().await;
    let (receiver, hook) = set_up_hook(&server).await;
    let example = json!({
        "event_name": "project_create",
        "name": "Ruby",
        "path": "ruby",
        "project_id": 1,
        "owner_name": "Someone",
        "owner_email": "example@gitlabhq.com",
    });
    assert_eq!(server.admin.get(&format!("/hooks/{hook}")).await.status_and_body(), (200, &example));
    server.deliver_hooks().await;
    let received = receiver.take_received();
    assert_eq!((received.len(), &received[0].body), (1, &example));
    assert_eq!(received[0].header("x-gitlab-event"), "System Hook");
    let listed = server.admin.get(&format!("/hooks/{hook}/deliveries")).await.body;
    assert_eq!((&listed[0]["event"], &listed[0]["state"]), (&json!("test"), &json!("delivered")));
    let again = server.admin.post(&format!("/hooks/{hook}/replay?from=1"), &[]).await;
    assert_eq!(again.status_and_body(), (201, &json!({"from": 1, "deliveries": 1})));
    server.deliver_hooks().await;
    assert_eq!(receiver.take_received()[0].header("webhook-id"), received[0].header("webhook-id"));
}

/// A system hook gets all events of the instance, in order.
#[tokio::test]
async fn system_hooks_receive_all_events() {
    let server = Server::start().await;
    let (receiver, _) = set_up_hook(&server).await;
    let admin = &server.admin;
    let form = [("username", "bob"), ("name", "Bob"), ("email", "bob@example.com"), ("password", PASSWORD)];
    let bob = admin.post("/users", &form).await.body["id"].clone();
    let key =
        admin.post(&format!("/users/{bob}/keys"), &[("title", "k"), ("key", OTHER_ED25519)]).await.body["id"].clone();
    admin.delete(&format!("/users/{bob}/keys/{key}")).await;
    let group = server.group(admin, "team", 0).await;
    let members = format!("/groups/{group}/members");
    admin.post(&members, &[("user_id", &bob.to_string()), ("access_level", "30")]).await;
    admin.delete(&format!("{members}/{bob}")).await;
    let project = server.project_in(admin, "p", 0, Some(group)).await;
    let members = format!("/projects/{project}/members");
    admin.post(&members, &[("user_id", &bob.to_string()), ("access_level", "40")]).await;
    admin.put(&format!("/projects/{project}"), &[("name", "q"), ("path", "q")]).await;
    server.push_first(admin, "team/q").await;
    let tags = format!("/projects/{project}/repository/tags");
    admin.post(&tags, &[("tag_name", "v1"), ("ref", "main")]).await;
    admin.post(&format!("/projects/{project}/issues"), &[("title", "not delivered to this hook")]).await;
    admin.delete(&format!("/users/{bob}")).await;
    admin.delete(&format!("/groups/{group}")).await;
    server.deliver_hooks().await;
    let received = receiver.take_received();
    assert!(received.iter().all(|it| it.header("x-gitlab-event") == "System Hook"));
    let kinds: Vec<&str> = received.iter().map(|it| it.body["event_name"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "user_create",
            "key_create",
            "key_destroy",
            "group_create",
            "user_add_to_group",
            "user_add_to_group",
            "user_remove_from_group",
            "project_create",
            "user_add_to_team",
            "project_rename",
            "push",
            "tag_push",
            "user_remove_from_team",
            "user_destroy",
            "user_remove_from_group",
            "project_destroy",
            "group_destroy",
        ]
    );
    let bodies: Vec<&Value> = received.iter().map(|it| &it.body).collect();
    for body in &bodies {
        let is_push = body["event_name"].as_str().unwrap().ends_with("push");
        assert!(is_push || body["created_at"].is_string() && body["updated_at"].is_string(), "{body}");
    }
    let pick = |body: &Value, fields: &[&str]| fields.iter().map(|field| body[field].clone()).collect::<Value>();
    assert_eq!(
        pick(bodies[0], &["name", "email", "user_id", "username"]),
        json!(["Bob", "bob@example.com", bob, "bob"])
    );
    assert_eq!(pick(bodies[1], &["id", "username"]), json!([key, "bob"]));
    assert_eq!(bodies[1]["key"].as_str().unwrap().split(' ').nth(1), OTHER_ED25519.split(' ').nth(1));
    assert_eq!(pick(bodies[3], &["name", "path", "group_id", "owner_name"]), json!(["team", "team", group, null]));
    let member = ["group_name", "group_path", "user_username", "user_email", "group_access"];
    assert_eq!(pick(bodies[4], &member), json!(["team", "team", "root", "root@example.com", "Owner"]));
    assert_eq!(pick(bodies[5], &member), json!(["team", "team", "bob", "bob@example.com", "Developer"]));
    let facts =
        ["name", "path", "path_with_namespace", "project_id", "owner_name", "owner_email", "project_visibility"];
    assert_eq!(pick(bodies[7], &facts), json!(["p", "p", "team/p", project, "team", "", "private"]));
    let joined =
        ["project_path_with_namespace", "user_username", "access_level", "project_access", "project_visibility"];
    assert_eq!(pick(bodies[8], &joined), json!(["team/p", "bob", "Master", "Master", "private"]));
    assert_eq!(pick(bodies[9], &["old_path_with_namespace", "path_with_namespace"]), json!(["team/p", "team/q"]));
    assert_eq!(pick(bodies[10], &["object_kind", "commits", "total_commits_count"]), json!(["push", [], 0]));
    assert_eq!(pick(bodies[11], &["object_kind", "message", "ref"]), json!(["tag_push", "", "refs/tags/v1"]));
    assert_eq!(pick(bodies[12], &joined), json!(["team/q", "bob", "Master", "Master", "private"]));
    assert_eq!(pick(bodies[14], &member), json!(["team", "team", "root", "root@example.com", "Owner"]));
    assert_eq!(pick(bodies[15], &["path_with_namespace", "project_visibility"]), json!(["team/q", "private"]));
}
