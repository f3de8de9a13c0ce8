//! Pipelines that are started by trigger tokens.

use holdfast_tests::{Client, TestResponse};
use serde_json::{Value, json};

use super::{CiFixture, SIMPLE, pairs};

async fn create_trigger(fixture: &CiFixture, client: &Client) -> String {
    let made = client.post(&fixture.path("/triggers"), &[]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["token"].as_str().unwrap().to_owned()
}

async fn trigger(fixture: &CiFixture, form: &[(&str, &str)]) -> TestResponse {
    fixture.server.anonymous().post(&fixture.path("/trigger/builds"), form).await
}

#[tokio::test]
async fn masters_manage_triggers() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let ada = &fixture.ada;
    let path = fixture.path("/triggers");
    assert_eq!(ada.get(&path).await.status_and_body(), (200, &json!([])));
    let made = ada.post(&path, &[]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let token = made.body["token"].as_str().unwrap();
    assert!(token.len() >= 20, "{token}");
    let now = "2026-01-02T03:04:05.678Z";
    for (field, expected) in [
        ("created_at", json!(now)),
        ("updated_at", json!(now)),
        ("deleted_at", Value::Null),
        ("last_used", Value::Null),
    ] {
        assert_eq!(made.body[field], expected, "{field}");
    }
    assert_eq!(made.body["owner"]["username"], "ada");
    let one = format!("{path}/{token}");
    assert_eq!(ada.get(&one).await.status_and_body(), (200, &made.body));
    let listed = ada.get(&path).await;
    assert_eq!((listed.status_and_body(), listed.header("x-total")), ((200, &json!([made.body])), Some("1")));
    let second = create_trigger(&fixture, ada).await;
    assert_ne!(second, token);
    assert_eq!(ada.delete(&one).await.status_and_body(), (200, &made.body));
    for answer in [ada.get(&one).await, ada.delete(&one).await, ada.get(&format!("{path}/none")).await] {
        assert_eq!(answer.status_and_body(), (404, &json!({ "message": "404 Trigger Not Found" })));
    }
    assert_eq!(ada.get(&path).await.body[0]["token"], second);
    // A trigger is found only in its own project.
    let other = fixture.another_project("q", SIMPLE).await;
    assert_eq!(ada.get(&format!("/projects/{other}/triggers/{second}")).await.status, 404);
    assert_eq!(ada.delete(&format!("/projects/{other}/triggers/{second}")).await.status, 404);

    let (_, developer) = fixture.add_member("bob", "30").await;
    let (_, eve) = fixture.server.user("eve").await;
    let before = fixture.server.dump_database().await;
    let one = format!("{path}/{second}");
    for (client, status) in [(&developer, 403), (&eve, 404), (&fixture.server.anonymous(), 401)] {
        let answers =
            [client.get(&path).await, client.get(&one).await, client.post(&path, &[]).await, client.delete(&one).await];
        assert!(answers.iter().all(|answer| answer.status == status), "{answers:?}");
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn a_trigger_starts_a_pipeline_for_its_owner() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, master) = fixture.add_member("max", "40").await;
    let token = create_trigger(&fixture, &master).await;
    let nobody = fixture.server.anonymous();
    fixture.server.advance(chrono::TimeDelta::minutes(1));
    let by_form = trigger(&fixture, &[("ref", "main"), ("token", &token), ("variables[KEY]", "v")]).await;
    let body = json!({ "ref": "main", "token": token, "variables": { "KEY": "v" } });
    let by_json = nobody.send(nobody.request("POST", &fixture.path("/trigger/builds")).json(&body)).await;
    let form = [("token", &*token), ("variables[KEY]", "v")];
    let by_path = nobody.post(&fixture.path("/ref/main/trigger/builds"), &form).await;
    for (made, answer) in [&by_form, &by_json, &by_path].into_iter().enumerate() {
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert!(answer.body["id"].is_i64() && answer.body["variables"].to_string().contains("KEY"), "{}", answer.text);
        let pipeline = &fixture.pipelines().await[2 - made];
        assert_eq!((&pipeline["status"], &pipeline["sha"]), (&json!("pending"), &json!(fixture.sha)));
        assert_eq!((&pipeline["user"]["username"], &pipeline["ref"]), (&json!("max"), &json!("main")));
    }
    assert_eq!(fixture.pipelines().await.len(), 4);
    let shown = fixture.ada.get(&fixture.path(&format!("/triggers/{token}"))).await.body;
    assert_eq!(shown["last_used"], "2026-01-02T03:05:05.678Z");
    let runner = fixture.runner().await;
    assert_eq!(runner.claim().await.value("KEY"), None, "that of the push");
    for _ in 0..3 {
        assert_eq!(runner.claim().await.value("KEY"), Some("v"));
    }
    // A tag, and a ref with a slash in its name.
    fixture.tree.git(["tag", "v1"]).await.ok();
    fixture.push("v1").await;
    fixture.push("main:feature/x").await;
    assert_eq!(trigger(&fixture, &[("ref", "v1"), ("token", &token)]).await.status, 201);
    assert_eq!(fixture.pipeline().await["ref"], "v1");
    let path = fixture.path("/ref/feature%2Fx/trigger/builds");
    assert_eq!(nobody.post(&path, &[("token", &token)]).await.status, 201);
    assert_eq!(fixture.pipeline().await["ref"], "feature/x");
}

#[tokio::test]
async fn invalid_trigger_requests_are_rejected() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let token = create_trigger(&fixture, &fixture.ada).await;
    let other = fixture.another_project("q", SIMPLE).await;
    let nobody = fixture.server.anonymous();
    let before = fixture.server.dump_database().await;
    let fire_trigger = async |form: &[(&str, &str)]| {
        let answer = trigger(&fixture, form).await;
        json!([answer.status, answer.body])
    };
    let good = [("ref", "main"), ("token", &*token)];
    assert_eq!(fire_trigger(&good[1..]).await, json!([400, { "error": "ref is missing" }]));
    assert_eq!(fire_trigger(&good[..1]).await, json!([400, { "error": "token is missing" }]));
    assert_eq!(fire_trigger(&[("ref", "none"), good[1]]).await, json!([400, { "message": "No builds created" }]));
    assert_eq!(
        fire_trigger(&[("ref", &*fixture.sha), good[1]]).await,
        json!([400, { "message": "No builds created" }])
    );
    let not_a_map = json!([400, { "message": "variables needs to be a map of key-valued strings" }]);
    assert_eq!(fire_trigger(&[good[0], good[1], ("variables", "x")]).await, not_a_map);
    assert_eq!(fire_trigger(&[good[0], good[1], ("variables[]", "x")]).await, not_a_map);
    for variables in [json!("x"), json!(["x"]), json!({ "A": 1 }), json!({ "A": { "B": "c" } }), json!({ "A": null })] {
        let body = json!({ "ref": "main", "token": token, "variables": variables });
        let answer = nobody.send(nobody.request("POST", &fixture.path("/trigger/builds")).json(&body)).await;
        assert_eq!(json!([answer.status, answer.body]), not_a_map, "{variables}");
    }
    assert_eq!(trigger(&fixture, &[good[0], ("token", "wrong")]).await.status, 404);
    assert_eq!(nobody.post("/projects/999/trigger/builds", &good).await.status, 404);
    // The token is rejected for other projects, whether its owner can see them or not.
    assert_eq!(nobody.post(&format!("/projects/{other}/trigger/builds"), &good).await.status, 401);
    assert_eq!(fixture.server.dump_database().await, before);
    // The API token of a user does not replace it.
    let own = fixture.ada.post(&fixture.path("/trigger/builds"), &[("ref", "main"), ("token", "wrong")]).await;
    assert_eq!(own.status, 404);
    assert_eq!(fixture.server.dump_database().await, before);
    fixture.update_setting("builds_enabled", "false").await;
    assert!([403, 404].contains(&trigger(&fixture, &good).await.status));
    fixture.update_setting("builds_enabled", "true").await;
    assert_eq!(fixture.pipelines().await.len(), 1);
    // A deleted trigger is rejected.
    fixture.ada.delete(&fixture.path(&format!("/triggers/{token}"))).await;
    assert_eq!(trigger(&fixture, &good).await.status, 404);
    assert_eq!(fixture.pipelines().await.len(), 1);
}

/// A trigger reveals nothing about a project that its owner cannot see.
#[tokio::test]
async fn triggers_do_not_reveal_hidden_projects() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let token = create_trigger(&fixture, &fixture.ada).await;
    let (_, eve) = fixture.server.user("eve").await;
    let hidden = fixture.server.project(&eve, "hidden", 0).await;
    let form = [("ref", "main"), ("token", &*token)];
    let nobody = fixture.server.anonymous();
    let (there, nowhere) = (
        nobody.post(&format!("/projects/{hidden}/trigger/builds"), &form).await,
        nobody.post("/projects/999/trigger/builds", &form).await,
    );
    assert_eq!(there.status_and_body(), nowhere.status_and_body());
    assert_eq!(there.status, 404);
}

/// A user who may not start pipelines any more cannot do so with an old trigger either.
#[tokio::test]
async fn triggers_require_access_of_their_owner() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (id, max) = fixture.add_member("max", "40").await;
    let token = create_trigger(&fixture, &max).await;
    let form = [("ref", "main"), ("token", &*token)];
    let admin = &fixture.server.admin;
    let member = fixture.path(&format!("/members/{id}"));
    let (block, unblock) = (format!("/users/{id}/block"), format!("/users/{id}/unblock"));
    let mut made = 1;
    let mut expect = async |works: bool, why: &str| {
        let status = trigger(&fixture, &form).await.status;
        made += usize::from(works);
        assert_eq!((status, fixture.pipelines().await.len()), (if works { 201 } else { 404 }, made), "{why}");
    };
    expect(true, "a master").await;
    assert_eq!(admin.put(&block, &[]).await.status, 200);
    expect(false, "blocked").await;
    assert_eq!(admin.put(&unblock, &[]).await.status, 200);
    expect(true, "unblocked").await;
    assert_eq!(fixture.ada.put(&member, &[("access_level", "20")]).await.status, 200);
    expect(false, "a reporter").await;
    assert_eq!(fixture.ada.put(&member, &[("access_level", "30")]).await.status, 200);
    expect(true, "a developer").await;
    assert_eq!(fixture.ada.delete(&member).await.status, 200);
    expect(false, "nobody in a private project").await;
    fixture.update_setting("visibility_level", "20").await;
    expect(false, "nobody in a public project").await;
}

#[tokio::test]
async fn triggers_ignore_ci_skip() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    fixture.tree.commit("other", b"x", "Words [ci skip]").await;
    fixture.push("main").await;
    assert_eq!(fixture.pipeline().await["status"], "skipped");
    let token = create_trigger(&fixture, &fixture.ada).await;
    assert_eq!(trigger(&fixture, &[("ref", "main"), ("token", &token)]).await.status, 201);
    assert_eq!(fixture.pipeline().await["status"], "pending");
}

#[tokio::test]
async fn only_and_except_triggers_select_builds() {
    let file = "
always: {script: x}
triggered: {script: x, only: [triggers]}
pushed: {script: x, except: [triggers]}
main: {script: x, only: [main]}
";
    let fixture = CiFixture::with_file(file).await;
    assert_eq!(fixture.statuses().await, pairs(&[("always", "pending"), ("pushed", "pending"), ("main", "pending")]));
    let token = create_trigger(&fixture, &fixture.ada).await;
    assert_eq!(trigger(&fixture, &[("ref", "main"), ("token", &token)]).await.status, 201);
    let made = [("always", "pending"), ("triggered", "pending"), ("main", "pending")];
    assert_eq!(fixture.statuses().await[3..], pairs(&made));
    // If no build remains, no pipeline is created.
    fixture.tree.commit(".gitlab-ci.yml", b"one: {script: x, except: [triggers]}\n", "None").await;
    fixture.push("main").await;
    let count = fixture.pipelines().await.len();
    let refused = trigger(&fixture, &[("ref", "main"), ("token", &token)]).await;
    assert_eq!(refused.status_and_body(), (400, &json!({ "message": "No builds created" })));
    assert_eq!(fixture.pipelines().await.len(), count);
}
