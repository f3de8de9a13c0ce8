//! Runners, as people manage them.

use chrono::TimeDelta;
use holdfast_tests::Answer;
use reqwest::Method;
use serde_json::{Value, json};

use super::scene::rows;
use super::{Ground, Runner, SIMPLE};

fn refused(answer: &Answer, reason: &str) {
    let text = format!("403 Forbidden  - {reason}");
    assert_eq!(answer.both(), (403, &json!({ "message": text })));
}

fn one(runner: &Runner) -> String {
    format!("/runners/{}", runner.id)
}

#[tokio::test]
async fn everybody_lists_the_own_ones_and_administrators_all() {
    let ground = Ground::with(SIMPLE).await;
    let (ada, admin) = (&ground.ada, &ground.server.admin);
    let (_, bob) = ground.member("bob", "30").await;
    let (_, max) = ground.member("max", "40").await;
    let (_, eve) = ground.server.user("eve").await;
    let own = Runner::of(&ground, json!({ "description": "own" })).await;
    let paused = Runner::of(&ground, json!({ "paused": true })).await;
    let shared = Runner::shared(&ground.server, json!({})).await;
    let listed = ada.get("/runners").await;
    assert_eq!((listed.status, listed.ids()), (200, vec![own.id, paused.id]));
    assert_eq!(listed.header("x-total"), Some("2"));
    assert_eq!(
        listed.body[0],
        json!({ "id": own.id, "description": "own", "active": true, "is_shared": false, "name": null })
    );
    assert_eq!(max.get("/runners").await.ids(), [own.id, paused.id]);
    // Who only works in the project has none.
    for client in [&bob, &eve, admin] {
        assert_eq!(client.get("/runners").await.both(), (200, &json!([])));
    }
    assert_eq!(ground.server.anonymous().get("/runners").await.status, 401);
    assert_eq!(admin.get("/runners/all").await.ids(), [own.id, paused.id, shared.id]);
    assert_eq!(ada.get("/runners/all").await.both(), (403, &json!({ "message": "403 Forbidden" })));
    assert_eq!(ground.server.anonymous().get("/runners/all").await.status, 401);

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
        assert_eq!(answer.both(), (400, &json!({ "error": "scope does not have a valid value" })), "{path}");
    }
    // One is there if it was heard of within an hour.
    assert_eq!(own.call(Method::POST, "/jobs/request", json!({ "token": own.token })).await.status, 201);
    ground.server.advance(TimeDelta::minutes(59));
    assert_eq!(ada.get("/runners?scope=online").await.ids(), [own.id]);
    ground.server.advance(TimeDelta::minutes(2));
    assert_eq!(ada.get("/runners?scope=online").await.both(), (200, &json!([])));
    assert_eq!(ada.get(&one(&own)).await.body["contacted_at"], "2026-01-02T03:04:05.678Z");
}

/// Those of the instance are nobody's own.
#[tokio::test]
async fn own_ones_are_not_asked_for_by_whose_they_are() {
    let ground = Ground::with(SIMPLE).await;
    for scope in ["shared", "specific"] {
        let answer = ground.ada.get(&format!("/runners?scope={scope}")).await;
        assert_eq!(answer.both(), (400, &json!({ "error": "scope does not have a valid value" })), "{scope}");
    }
}

#[tokio::test]
async fn who_sees_one() {
    let ground = Ground::with(SIMPLE).await;
    let (_, bob) = ground.member("bob", "30").await;
    let (_, eve) = ground.server.user("eve").await;
    let (own, shared) = (ground.runner().await, Runner::shared(&ground.server, json!({})).await);
    for client in [&ground.ada, &bob, &eve, &ground.server.admin] {
        let shown = client.get(&one(&shared)).await;
        assert_eq!((shown.status, &shown.body["is_shared"]), (200, &json!(true)));
    }
    for client in [&ground.ada, &ground.server.admin] {
        let shown = client.get(&one(&own)).await;
        assert_eq!((shown.status, &shown.body["projects"][0]["id"]), (200, &json!(ground.project)));
    }
    refused(&bob.get(&one(&own)).await, "No access granted");
    // Who does not see the project does not see its runner either.
    assert_eq!(eve.get(&one(&own)).await.both(), (404, &json!({ "message": "404 Not found" })));
    assert_eq!(ground.ada.get("/runners/999").await.both(), (404, &json!({ "message": "404 Not found" })));
    assert_eq!(ground.server.anonymous().get(&one(&shared)).await.status, 401);
}

/// A runner may serve a project that one of its masters does not see.
#[tokio::test]
async fn no_project_is_shown_to_who_does_not_see_it() {
    let ground = Ground::with(SIMPLE).await;
    let (_, max) = ground.member("max", "40").await;
    let runner = ground.runner().await;
    let hidden = ground.another_project("hidden", SIMPLE).await;
    let id = runner.id.to_string();
    assert_eq!(ground.ada.post(&format!("/projects/{hidden}/runners"), &[("runner_id", &id)]).await.status, 201);
    let ids = |answer: &Answer| -> Vec<Value> {
        answer.body["projects"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect()
    };
    assert_eq!(ids(&ground.ada.get(&one(&runner)).await), [json!(ground.project), json!(hidden)]);
    assert_eq!(ids(&max.get(&one(&runner)).await), [json!(ground.project)]);
}

#[tokio::test]
async fn masters_change_their_own() {
    let ground = Ground::with(SIMPLE).await;
    let (_, bob) = ground.member("bob", "30").await;
    let (_, eve) = ground.server.user("eve").await;
    let (own, shared) = (ground.runner().await, Runner::shared(&ground.server, json!({})).await);
    let plain = ground.runner().await;
    let form = [
        ("description", "new"),
        ("active", "false"),
        ("tag_list", "b, a"),
        ("run_untagged", "false"),
        ("locked", "true"),
    ];
    let changed = ground.ada.put(&one(&own), &form).await;
    let expected = json!([200, "new", false, ["a", "b"], false, true]);
    let fields = |answer: &Answer| {
        let it = &answer.body;
        json!([answer.status, it["description"], it["active"], it["tag_list"], it["run_untagged"], it["locked"]])
    };
    assert_eq!(fields(&changed), expected);
    assert_eq!(fields(&ground.ada.get(&one(&own)).await), expected);
    // What is not named stays; tags may be a list.
    let request = ground.ada.request("PUT", &one(&own)).json(&json!({ "tag_list": ["c"] }));
    let changed = ground.ada.send(request).await;
    assert_eq!(fields(&changed), json!([200, "new", false, ["c"], false, true]));

    let before = ground.server.contents().await;
    let nothing = ground.ada.put(&one(&own), &[]).await;
    assert_eq!(nothing.status, 400);
    assert!(nothing.body["error"].as_str().unwrap().contains("at least one parameter must be provided"));
    let long = "x".repeat(256);
    let wrong = [(&own, ("description", &*long), "description"), (&plain, ("run_untagged", "false"), "tags_list")];
    for (runner, pair, field) in wrong {
        let answer = ground.ada.put(&one(runner), &[pair]).await;
        assert_eq!(answer.status, 400, "{field}: {}", answer.text);
        assert!(answer.body["message"][field].is_array(), "{field}: {}", answer.text);
    }
    let active = [("active", "true")];
    refused(&bob.put(&one(&own), &active).await, "No access granted");
    assert_eq!(eve.put(&one(&own), &active).await.status, 404);
    assert_eq!(ground.ada.put(&one(&shared), &[("active", "false")]).await.status, 403);
    assert_eq!(ground.ada.put("/runners/999", &active).await.status, 404);
    assert_eq!(ground.server.anonymous().put(&one(&own), &active).await.status, 401);
    assert_eq!(ground.server.contents().await, before);
    for runner in [&own, &shared] {
        let changed = ground.server.admin.put(&one(runner), &[("description", "by root")]).await;
        assert_eq!((changed.status, &changed.body["description"]), (200, &json!("by root")));
    }
}

#[tokio::test]
async fn tags_can_be_taken_away() {
    let ground = Ground::with(SIMPLE).await;
    let runner = Runner::of(&ground, json!({ "tag_list": "a,b" })).await;
    let changed = ground.ada.put(&one(&runner), &[("tag_list", "")]).await;
    assert_eq!((changed.status, &changed.body["tag_list"]), (200, &json!([])));
    // But one that takes only builds with tags needs some.
    let form = [("tag_list", "a"), ("run_untagged", "false")];
    assert_eq!(ground.ada.put(&one(&runner), &form).await.status, 200);
    let wrong = ground.ada.put(&one(&runner), &[("tag_list", "")]).await;
    assert_eq!(wrong.status, 400, "{}", wrong.text);
    assert!(wrong.body["message"]["tags_list"].is_array(), "{}", wrong.text);
}

#[tokio::test]
async fn who_may_remove_one() {
    let ground = Ground::with(SIMPLE).await;
    let (_, bob) = ground.member("bob", "30").await;
    let (_, eve) = ground.server.user("eve").await;
    let (own, shared) = (ground.runner().await, Runner::shared(&ground.server, json!({})).await);
    let other = ground.another_project("q", SIMPLE).await;
    let id = own.id.to_string();
    assert_eq!(ground.ada.post(&format!("/projects/{other}/runners"), &[("runner_id", &id)]).await.status, 201);
    let before = ground.server.contents().await;
    refused(&ground.ada.delete(&one(&shared)).await, "Runner is shared");
    refused(&ground.ada.delete(&one(&own)).await, "Runner associated with more than one project");
    refused(&bob.delete(&one(&own)).await, "No access granted");
    assert_eq!(eve.delete(&one(&own)).await.status, 404);
    assert_eq!(ground.ada.delete("/runners/999").await.both(), (404, &json!({ "message": "404 Not found" })));
    assert_eq!(ground.server.anonymous().delete(&one(&own)).await.status, 401);
    assert_eq!(ground.server.contents().await, before);
    assert_eq!(ground.ada.delete(&format!("/projects/{other}/runners/{id}")).await.status, 200);
    let gone = ground.ada.delete(&one(&own)).await;
    let body = json!({ "id": own.id, "description": null, "active": true, "is_shared": false, "name": null });
    assert_eq!(gone.both(), (200, &body));
    assert_eq!(ground.ada.get(&one(&own)).await.status, 404);
    let told = own.call(Method::POST, "/jobs/request", json!({ "token": own.token })).await;
    assert_eq!(told.status, 403);
    assert_eq!(ground.server.admin.delete(&one(&shared)).await.status, 200);
    assert_eq!((rows(&ground.server, "runners").await, rows(&ground.server, "runner_projects").await), (0, 0));
}

#[tokio::test]
async fn a_project_takes_on_a_runner_and_lets_it_go() {
    let ground = Ground::with(SIMPLE).await;
    let ada = &ground.ada;
    let (_, bob) = ground.member("bob", "30").await;
    let (_, eve) = ground.server.user("eve").await;
    let theirs = {
        let open = ground.server.project(&eve, "open", 20).await;
        let token = eve.get(&format!("/projects/{open}")).await.body["runners_token"].clone();
        Runner::register(&ground.server, json!({ "token": token })).await
    };
    let (own, shared) = (ground.runner().await, Runner::shared(&ground.server, json!({})).await);
    let locked = Runner::of(&ground, json!({ "locked": true })).await;
    let other = format!("/projects/{}/runners", ground.another_project("q", SIMPLE).await);
    assert_eq!(ada.get(&ground.path("/runners")).await.ids(), [own.id, shared.id, locked.id]);
    assert_eq!(ada.get(&other).await.ids(), [shared.id]);
    let specific = ada.get(&ground.path("/runners?scope=specific")).await;
    assert_eq!(specific.ids(), [own.id, locked.id]);
    assert_eq!(bob.get(&ground.path("/runners")).await.status, 403);
    assert_eq!(eve.get(&ground.path("/runners")).await.status, 404);

    let before = ground.server.contents().await;
    let add = async |runner: &Runner| ada.post(&other, &[("runner_id", &runner.id.to_string())]).await;
    refused(&add(&shared).await, "Runner is shared");
    refused(&add(&locked).await, "Runner is locked");
    refused(&add(&theirs).await, "No access granted");
    assert_eq!(ada.post(&other, &[]).await.both(), (400, &json!({ "error": "runner_id is missing" })));
    assert_eq!(ada.post(&other, &[("runner_id", "999")]).await.status, 404);
    let id = own.id.to_string();
    assert_eq!(ada.post(&ground.path("/runners"), &[("runner_id", &id)]).await.status, 409);
    assert_eq!(bob.post(&ground.path("/runners"), &[("runner_id", &id)]).await.status, 403);
    assert_eq!(eve.post(&ground.path("/runners"), &[("runner_id", &theirs.id.to_string())]).await.status, 404);
    let reason = "Only one project associated with the runner. Please remove the runner instead";
    refused(&ada.delete(&ground.path(&format!("/runners/{id}"))).await, reason);
    for id in [shared.id, theirs.id, own.id, 999] {
        let answer = ada.delete(&format!("{other}/{id}")).await;
        assert_eq!(answer.both(), (404, &json!({ "message": "404 Not found" })), "{id}");
    }
    assert_eq!(ground.server.contents().await, before);

    let added = add(&own).await;
    let body = json!({ "id": own.id, "description": null, "active": true, "is_shared": false, "name": null });
    assert_eq!(added.both(), (201, &body));
    assert_eq!(ada.get(&other).await.ids(), [own.id, shared.id]);
    assert_eq!(bob.delete(&ground.path(&format!("/runners/{id}"))).await.status, 403);
    assert_eq!(ada.delete(&format!("{other}/{id}")).await.both(), (200, &body));
    assert_eq!(ada.get(&other).await.ids(), [shared.id]);
    assert_eq!(ground.server.contents().await, before);
}
