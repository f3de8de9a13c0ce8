//! Managing runners by the API.

use chrono::TimeDelta;
use holdfast_tests::TestResponse;
use reqwest::Method;
use serde_json::{Value, json};

use super::fixtures::count_rows;
use super::{CiFixture, Runner, SIMPLE};

fn assert_forbidden(response: &TestResponse, reason: &str) {
    let text = format!("403 Forbidden  - {reason}");
    assert_eq!(response.status_and_body(), (403, &json!({ "message": text })));
}

fn runner_path(runner: &Runner) -> String {
    format!("/runners/{}", runner.id)
}

#[tokio::test]
async fn users_list_their_own_runners_and_administrators_all() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (ada, admin) = (&fixture.ada, &fixture.server.admin);
    let (_, bob) = fixture.add_member("bob", "30").await;
    let (_, max) = fixture.add_member("max", "40").await;
    let (_, eve) = fixture.server.user("eve").await;
    let own = Runner::register_for(&fixture, json!({ "description": "own" })).await;
    let paused = Runner::register_for(&fixture, json!({ "paused": true })).await;
    let shared = Runner::register_shared(&fixture.server, json!({})).await;
    let listed = ada.get("/runners").await;
    assert_eq!((listed.status, listed.ids()), (200, vec![own.id, paused.id]));
    assert_eq!(listed.header("x-total"), Some("2"));
    assert_eq!(
        listed.body[0],
        json!({ "id": own.id, "description": "own", "active": true, "is_shared": false, "name": null })
    );
    assert_eq!(max.get("/runners").await.ids(), [own.id, paused.id]);
    // Developers have no runners of their own.
    for client in [&bob, &eve, admin] {
        assert_eq!(client.get("/runners").await.status_and_body(), (200, &json!([])));
    }
    assert_eq!(fixture.server.anonymous().get("/runners").await.status, 401);
    assert_eq!(admin.get("/runners/all").await.ids(), [own.id, paused.id, shared.id]);
    assert_eq!(ada.get("/runners/all").await.status_and_body(), (403, &json!({ "message": "403 Forbidden" })));
    assert_eq!(fixture.server.anonymous().get("/runners/all").await.status, 401);

    for (scope, ids) in [("active", vec![own.id]), ("paused", vec![paused.id])] {
        assert_eq!(ada.get(&format!("/runners?scope={scope}")).await.ids(), ids, "{scope}");
    }
    let scopes = [
        ("active", vec![own.id, shared.id]),
        ("paused", vec![paused.id]),
        ("specific", vec![own.id, paused.id]),
        ("shared", vec![shared.id]),
    ];
    for (scope, ids) in scopes {
        assert_eq!(admin.get(&format!("/runners/all?scope={scope}")).await.ids(), ids, "{scope}");
    }
    for path in ["/runners?scope=other", "/runners/all?scope=other"] {
        let answer = admin.get(path).await;
        assert_eq!(answer.status_and_body(), (400, &json!({ "error": "scope does not have a valid value" })), "{path}");
    }
    // A runner is online if its last contact is less than an hour ago.
    assert_eq!(own.call(Method::POST, "/jobs/request", json!({ "token": own.token })).await.status, 201);
    fixture.server.advance(TimeDelta::minutes(59));
    assert_eq!(ada.get("/runners?scope=online").await.ids(), [own.id]);
    fixture.server.advance(TimeDelta::minutes(2));
    assert_eq!(ada.get("/runners?scope=online").await.status_and_body(), (200, &json!([])));
    assert_eq!(ada.get(&runner_path(&own)).await.body["contacted_at"], "2026-01-02T03:04:05.678Z");
}

/// Shared runners belong to no user.
#[tokio::test]
async fn own_runner_list_rejects_shared_and_specific_scopes() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    for scope in ["shared", "specific"] {
        let answer = fixture.ada.get(&format!("/runners?scope={scope}")).await;
        assert_eq!(
            answer.status_and_body(),
            (400, &json!({ "error": "scope does not have a valid value" })),
            "{scope}"
        );
    }
}

#[tokio::test]
async fn runner_details_require_access() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, bob) = fixture.add_member("bob", "30").await;
    let (_, eve) = fixture.server.user("eve").await;
    let (own, shared) = (fixture.runner().await, Runner::register_shared(&fixture.server, json!({})).await);
    for client in [&fixture.ada, &bob, &eve, &fixture.server.admin] {
        let shown = client.get(&runner_path(&shared)).await;
        assert_eq!((shown.status, &shown.body["is_shared"]), (200, &json!(true)));
    }
    for client in [&fixture.ada, &fixture.server.admin] {
        let shown = client.get(&runner_path(&own)).await;
        assert_eq!((shown.status, &shown.body["projects"][0]["id"]), (200, &json!(fixture.project)));
    }
    assert_forbidden(&bob.get(&runner_path(&own)).await, "No access granted");
    // A user who cannot see the project cannot see its runner either.
    assert_eq!(eve.get(&runner_path(&own)).await.status_and_body(), (404, &json!({ "message": "404 Not found" })));
    assert_eq!(fixture.ada.get("/runners/999").await.status_and_body(), (404, &json!({ "message": "404 Not found" })));
    assert_eq!(fixture.server.anonymous().get(&runner_path(&shared)).await.status, 401);
}

/// A runner may serve a project that a master of another one cannot see.
#[tokio::test]
async fn runner_details_hide_invisible_projects() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, max) = fixture.add_member("max", "40").await;
    let runner = fixture.runner().await;
    let hidden = fixture.another_project("hidden", SIMPLE).await;
    let id = runner.id.to_string();
    assert_eq!(fixture.ada.post(&format!("/projects/{hidden}/runners"), &[("runner_id", &id)]).await.status, 201);
    let ids = |answer: &TestResponse| -> Vec<Value> {
        answer.body["projects"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect()
    };
    assert_eq!(ids(&fixture.ada.get(&runner_path(&runner)).await), [json!(fixture.project), json!(hidden)]);
    assert_eq!(ids(&max.get(&runner_path(&runner)).await), [json!(fixture.project)]);
}

#[tokio::test]
async fn masters_update_their_runners() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, bob) = fixture.add_member("bob", "30").await;
    let (_, eve) = fixture.server.user("eve").await;
    let (own, shared) = (fixture.runner().await, Runner::register_shared(&fixture.server, json!({})).await);
    let plain = fixture.runner().await;
    let form = [
        ("description", "new"),
        ("active", "false"),
        ("tag_list", "b, a"),
        ("run_untagged", "false"),
        ("locked", "true"),
    ];
    let changed = fixture.ada.put(&runner_path(&own), &form).await;
    let expected = json!([200, "new", false, ["a", "b"], false, true]);
    let fields = |answer: &TestResponse| {
        let runner = &answer.body;
        let flags = (&runner["run_untagged"], &runner["locked"]);
        json!([answer.status, runner["description"], runner["active"], runner["tag_list"], flags.0, flags.1])
    };
    assert_eq!(fields(&changed), expected);
    assert_eq!(fields(&fixture.ada.get(&runner_path(&own)).await), expected);
    // Missing attributes keep their values; tags may be a list.
    let request = fixture.ada.request("PUT", &runner_path(&own)).json(&json!({ "tag_list": ["c"] }));
    let changed = fixture.ada.send(request).await;
    assert_eq!(fields(&changed), json!([200, "new", false, ["c"], false, true]));

    let before = fixture.server.dump_database().await;
    let nothing = fixture.ada.put(&runner_path(&own), &[]).await;
    assert_eq!(nothing.status, 400);
    assert!(nothing.body["error"].as_str().unwrap().contains("at least one parameter must be provided"));
    let long = "x".repeat(256);
    let wrong = [(&own, ("description", &*long), "description"), (&plain, ("run_untagged", "false"), "tags_list")];
    for (runner, pair, field) in wrong {
        let answer = fixture.ada.put(&runner_path(runner), &[pair]).await;
        assert_eq!(answer.status, 400, "{field}: {}", answer.text);
        assert!(answer.body["message"][field].is_array(), "{field}: {}", answer.text);
    }
    let active = [("active", "true")];
    assert_forbidden(&bob.put(&runner_path(&own), &active).await, "No access granted");
    assert_eq!(eve.put(&runner_path(&own), &active).await.status, 404);
    assert_eq!(fixture.ada.put(&runner_path(&shared), &[("active", "false")]).await.status, 403);
    assert_eq!(fixture.ada.put("/runners/999", &active).await.status, 404);
    assert_eq!(fixture.server.anonymous().put(&runner_path(&own), &active).await.status, 401);
    assert_eq!(fixture.server.dump_database().await, before);
    for runner in [&own, &shared] {
        let changed = fixture.server.admin.put(&runner_path(runner), &[("description", "by root")]).await;
        assert_eq!((changed.status, &changed.body["description"]), (200, &json!("by root")));
    }
}

#[tokio::test]
async fn runner_tags_can_be_removed() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = Runner::register_for(&fixture, json!({ "tag_list": "a,b" })).await;
    let changed = fixture.ada.put(&runner_path(&runner), &[("tag_list", "")]).await;
    assert_eq!((changed.status, &changed.body["tag_list"]), (200, &json!([])));
    // A runner that runs only tagged builds needs tags.
    let form = [("tag_list", "a"), ("run_untagged", "false")];
    assert_eq!(fixture.ada.put(&runner_path(&runner), &form).await.status, 200);
    let wrong = fixture.ada.put(&runner_path(&runner), &[("tag_list", "")]).await;
    assert_eq!(wrong.status, 400, "{}", wrong.text);
    assert!(wrong.body["message"]["tags_list"].is_array(), "{}", wrong.text);
}

#[tokio::test]
async fn runner_deletion_requires_access() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, bob) = fixture.add_member("bob", "30").await;
    let (_, eve) = fixture.server.user("eve").await;
    let (own, shared) = (fixture.runner().await, Runner::register_shared(&fixture.server, json!({})).await);
    let other = fixture.another_project("q", SIMPLE).await;
    let id = own.id.to_string();
    assert_eq!(fixture.ada.post(&format!("/projects/{other}/runners"), &[("runner_id", &id)]).await.status, 201);
    let before = fixture.server.dump_database().await;
    assert_forbidden(&fixture.ada.delete(&runner_path(&shared)).await, "Runner is shared");
    assert_forbidden(&fixture.ada.delete(&runner_path(&own)).await, "Runner associated with more than one project");
    assert_forbidden(&bob.delete(&runner_path(&own)).await, "No access granted");
    assert_eq!(eve.delete(&runner_path(&own)).await.status, 404);
    assert_eq!(
        fixture.ada.delete("/runners/999").await.status_and_body(),
        (404, &json!({ "message": "404 Not found" }))
    );
    assert_eq!(fixture.server.anonymous().delete(&runner_path(&own)).await.status, 401);
    assert_eq!(fixture.server.dump_database().await, before);
    assert_eq!(fixture.ada.delete(&format!("/projects/{other}/runners/{id}")).await.status, 200);
    let gone = fixture.ada.delete(&runner_path(&own)).await;
    let body = json!({ "id": own.id, "description": null, "active": true, "is_shared": false, "name": null });
    assert_eq!(gone.status_and_body(), (200, &body));
    assert_eq!(fixture.ada.get(&runner_path(&own)).await.status, 404);
    let response = own.call(Method::POST, "/jobs/request", json!({ "token": own.token })).await;
    assert_eq!(response.status, 403);
    assert_eq!(fixture.server.admin.delete(&runner_path(&shared)).await.status, 200);
    assert_eq!(
        (count_rows(&fixture.server, "runners").await, count_rows(&fixture.server, "runner_projects").await),
        (0, 0)
    );
}

#[tokio::test]
async fn runners_are_enabled_and_disabled_per_project() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let ada = &fixture.ada;
    let (_, bob) = fixture.add_member("bob", "30").await;
    let (_, eve) = fixture.server.user("eve").await;
    let theirs = {
        let open = fixture.server.project(&eve, "open", 20).await;
        let token = eve.get(&format!("/projects/{open}")).await.body["runners_token"].clone();
        Runner::register(&fixture.server, json!({ "token": token })).await
    };
    let (own, shared) = (fixture.runner().await, Runner::register_shared(&fixture.server, json!({})).await);
    let locked = Runner::register_for(&fixture, json!({ "locked": true })).await;
    let other = format!("/projects/{}/runners", fixture.another_project("q", SIMPLE).await);
    assert_eq!(ada.get(&fixture.path("/runners")).await.ids(), [own.id, shared.id, locked.id]);
    assert_eq!(ada.get(&other).await.ids(), [shared.id]);
    let specific = ada.get(&fixture.path("/runners?scope=specific")).await;
    assert_eq!(specific.ids(), [own.id, locked.id]);
    assert_eq!(bob.get(&fixture.path("/runners")).await.status, 403);
    assert_eq!(eve.get(&fixture.path("/runners")).await.status, 404);

    let before = fixture.server.dump_database().await;
    let add = async |runner: &Runner| ada.post(&other, &[("runner_id", &runner.id.to_string())]).await;
    assert_forbidden(&add(&shared).await, "Runner is shared");
    assert_forbidden(&add(&locked).await, "Runner is locked");
    assert_forbidden(&add(&theirs).await, "No access granted");
    assert_eq!(ada.post(&other, &[]).await.status_and_body(), (400, &json!({ "error": "runner_id is missing" })));
    assert_eq!(ada.post(&other, &[("runner_id", "999")]).await.status, 404);
    let id = own.id.to_string();
    assert_eq!(ada.post(&fixture.path("/runners"), &[("runner_id", &id)]).await.status, 409);
    assert_eq!(bob.post(&fixture.path("/runners"), &[("runner_id", &id)]).await.status, 403);
    assert_eq!(eve.post(&fixture.path("/runners"), &[("runner_id", &theirs.id.to_string())]).await.status, 404);
    let reason = "Only one project associated with the runner. Please remove the runner instead";
    assert_forbidden(&ada.delete(&fixture.path(&format!("/runners/{id}"))).await, reason);
    for id in [shared.id, theirs.id, own.id, 999] {
        let answer = ada.delete(&format!("{other}/{id}")).await;
        assert_eq!(answer.status_and_body(), (404, &json!({ "message": "404 Not found" })), "{id}");
    }
    assert_eq!(fixture.server.dump_database().await, before);

    let added = add(&own).await;
    let body = json!({ "id": own.id, "description": null, "active": true, "is_shared": false, "name": null });
    assert_eq!(added.status_and_body(), (201, &body));
    assert_eq!(ada.get(&other).await.ids(), [own.id, shared.id]);
    assert_eq!(bob.delete(&fixture.path(&format!("/runners/{id}"))).await.status, 403);
    assert_eq!(ada.delete(&format!("{other}/{id}")).await.status_and_body(), (200, &body));
    assert_eq!(ada.get(&other).await.ids(), [shared.id]);
    assert_eq!(fixture.server.dump_database().await, before);
}
