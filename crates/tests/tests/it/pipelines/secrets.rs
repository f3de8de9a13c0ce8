//! Variables of a project, which only its builds and its masters can read.

use holdfast_tests::{Server, Setup, TestResponse, log};
use serde_json::{Value, json};

use super::{CiFixture, SIMPLE};

async fn add_variable(fixture: &CiFixture, key: &str, value: &str) {
    let made = fixture.ada.post(&fixture.path("/variables"), &[("key", key), ("value", value)]).await;
    assert_eq!(made.status_and_body(), (201, &json!({ "key": key, "value": value })));
}

fn assert_not_found(response: &TestResponse) {
    assert_eq!(response.status_and_body(), (404, &json!({ "message": "404 Variable Not Found" })));
}

#[tokio::test]
async fn masters_manage_variables() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let ada = &fixture.ada;
    let path = fixture.path("/variables");
    assert_eq!(ada.get(&path).await.status_and_body(), (200, &json!([])));
    add_variable(&fixture, "KEY_1", "one & only\nline").await;
    add_variable(&fixture, "a", "b").await;
    let (first, second) = (json!({ "key": "KEY_1", "value": "one & only\nline" }), json!({ "key": "a", "value": "b" }));
    let listed = ada.get(&path).await;
    assert_eq!((listed.status, listed.header("x-total")), (200, Some("2")));
    let items = listed.body.as_array().unwrap();
    assert!(items.len() == 2 && items.contains(&first) && items.contains(&second), "{items:?}");
    assert_eq!(ada.get(&format!("{path}/KEY_1")).await.status_and_body(), (200, &first));
    let changed = ada.put(&format!("{path}/KEY_1"), &[("value", "two")]).await;
    assert_eq!(changed.status_and_body(), (200, &json!({ "key": "KEY_1", "value": "two" })));
    assert_eq!(ada.get(&format!("{path}/KEY_1")).await.body["value"], "two");
    assert_eq!(ada.get(&format!("{path}/a")).await.status_and_body(), (200, &second));
    assert_eq!(ada.delete(&format!("{path}/a")).await.status_and_body(), (200, &second));
    assert_not_found(&ada.get(&format!("{path}/a")).await);
    assert_not_found(&ada.delete(&format!("{path}/a")).await);
    assert_not_found(&ada.put(&format!("{path}/a"), &[("value", "x")]).await);
    assert_eq!(ada.get(&path).await.body, json!([{ "key": "KEY_1", "value": "two" }]));
    // A variable of the same name in another project is independent.
    let other = format!("/projects/{}/variables", fixture.another_project("q", SIMPLE).await);
    assert_not_found(&ada.get(&format!("{other}/KEY_1")).await);
    assert_eq!(ada.post(&other, &[("key", "KEY_1"), ("value", "elsewhere")]).await.status, 201);
    assert_eq!(ada.get(&format!("{path}/KEY_1")).await.body["value"], "two");
}

#[tokio::test]
async fn invalid_variables_are_rejected() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let ada = &fixture.ada;
    let path = fixture.path("/variables");
    add_variable(&fixture, "KEY", "v").await;
    let before = fixture.server.dump_database().await;
    let taken = ada.post(&path, &[("key", "KEY"), ("value", "other")]).await;
    assert_eq!(taken.status_and_body(), (400, &json!({ "message": { "key": ["has already been taken"] } })));
    for key in ["", "a b", "a-b", "é", "a.b", "A\nB", "$A", &*"x".repeat(256)] {
        let wrong = ada.post(&path, &[("key", key), ("value", "v")]).await;
        assert_eq!(wrong.status, 400, "{key}: {}", wrong.text);
        assert!(wrong.body["message"]["key"].is_array(), "{key}: {}", wrong.text);
    }
    assert_eq!(
        ada.post(&path, &[("value", "v")]).await.status_and_body(),
        (400, &json!({ "error": "key is missing" }))
    );
    assert_eq!(
        ada.post(&path, &[("key", "B")]).await.status_and_body(),
        (400, &json!({ "error": "value is missing" }))
    );
    assert_eq!(
        ada.post(&path, &[]).await.status_and_body(),
        (400, &json!({ "error": "key is missing, value is missing" }))
    );
    assert_eq!(fixture.server.dump_database().await, before);
    assert_eq!(ada.post(&path, &[("key", &"x".repeat(255)), ("value", "v")]).await.status, 201);
}

#[tokio::test]
async fn only_masters_access_variables() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    add_variable(&fixture, "KEY", "hush-hush").await;
    fixture.update_setting("visibility_level", "20").await;
    let (_, master) = fixture.add_member("max", "40").await;
    let (_, developer) = fixture.add_member("bob", "30").await;
    let (_, eve) = fixture.server.user("eve").await;
    let (path, one) = (fixture.path("/variables"), fixture.path("/variables/KEY"));
    let before = fixture.server.dump_database().await;
    for (client, status) in [(&developer, 403), (&eve, 403), (&fixture.server.anonymous(), 401)] {
        let answers = [
            client.get(&path).await,
            client.get(&one).await,
            client.post(&path, &[("key", "B"), ("value", "b")]).await,
            client.put(&one, &[("value", "b")]).await,
            client.delete(&one).await,
            // The response does not reveal whether the key exists.
            client.get(&fixture.path("/variables/OTHER")).await,
        ];
        for answer in answers {
            assert_eq!(answer.status, status, "{}", answer.text);
            assert!(!answer.text.contains("hush"));
        }
    }
    fixture.update_setting("visibility_level", "0").await;
    assert_eq!(eve.get(&path).await.status_and_body(), (404, &json!({ "message": "404 Project Not Found" })));
    fixture.update_setting("visibility_level", "20").await;
    assert_eq!(fixture.server.dump_database().await["project_variables"], before["project_variables"]);
    for client in [&master, &fixture.server.admin] {
        assert_eq!(client.get(&one).await.body["value"], "hush-hush");
    }
    // If builds are disabled, so are variables.
    fixture.update_setting("builds_enabled", "false").await;
    assert_eq!(fixture.ada.get(&path).await.status, 403);
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn variables_are_encrypted_and_never_logged() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let secrets = ["canary-variable-8a41", "canary-changed-8a41", "canary-refused-8a41", "canary-given-8a41"];
    add_variable(&fixture, "KEY", secrets[0]).await;
    let contents = fixture.server.dump_database().await.to_string();
    assert!(!contents.contains(secrets[0]) && !contents.contains(&hex(secrets[0])));
    fixture.ada.put(&fixture.path("/variables/KEY"), &[("value", secrets[1])]).await;
    fixture.ada.post(&fixture.path("/variables"), &[("key", "not a key"), ("value", secrets[2])]).await;
    fixture.ada.get(&fixture.path("/variables")).await;
    let trigger = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body["token"].as_str().unwrap().to_owned();
    let form = [("ref", "main"), ("token", &*trigger), ("variables[GIVEN]", secrets[3])];
    let fired = fixture.server.anonymous().post(&fixture.path("/trigger/builds"), &form).await;
    assert_eq!(fired.status, 201, "{}", fired.text);
    let runner = fixture.runner().await;
    while let Some(job) = runner.request().await {
        assert_eq!(job.value("KEY"), Some(secrets[1]));
        runner.finish(&job, "success").await;
    }
    let (contents, logged) = (fixture.server.dump_database().await.to_string(), log::captured());
    assert!(logged.contains("/variables"), "the log is captured");
    for secret in secrets {
        assert!(!contents.contains(secret) && !contents.contains(&hex(secret)), "{secret} is stored as it is");
        assert!(!logged.contains(secret), "{secret} was logged");
    }
}

/// An attacker who can write to the database, but does not have the encryption key, copies an encrypted value to their
/// own project to read it there.
#[tokio::test]
async fn moved_encrypted_variables_cannot_be_decrypted() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    add_variable(&fixture, "KEY", "canary-moved-8a41").await;
    add_variable(&fixture, "OTHER", "x").await;
    let other = fixture.another_project("q", SIMPLE).await;
    let path = format!("/projects/{other}/variables");
    assert_eq!(fixture.ada.post(&path, &[("key", "KEY"), ("value", "own")]).await.status, 201);
    let moves = [
        "update project_variables t set value = s.value from project_variables s
         where s.project_id = 1 and s.key = 'KEY' and t.project_id = 2",
        "update project_variables t set value = s.value from project_variables s
         where s.project_id = 1 and s.key = 'KEY' and t.project_id = 1 and t.key = 'OTHER'",
    ];
    assert_eq!((fixture.project, other), (1, 2));
    let mut database = fixture.server.database().await;
    for statement in moves {
        assert_eq!(sqlx::query(statement).execute(&mut database).await.unwrap().rows_affected(), 1);
    }
    for path in [format!("{path}/KEY"), path.clone(), fixture.path("/variables/OTHER")] {
        let answer = fixture.ada.get(&path).await;
        assert_eq!(answer.status_and_body(), (500, &json!({ "message": "500 Internal Server Error" })), "{path}");
    }
    assert_eq!(fixture.ada.get(&fixture.path("/variables/KEY")).await.body["value"], "canary-moved-8a41");
    // A build whose variables cannot be decrypted fails, and does not block others.
    let token = fixture.ada.get(&format!("/projects/{other}")).await.body["runners_token"].clone();
    let runner = super::Runner::register(&fixture.server, json!({ "token": token })).await;
    assert!(runner.request().await.is_none());
    let builds = fixture.ada.get(&format!("/projects/{other}/builds")).await;
    assert_eq!(builds.body[0]["status"], "failed");
    let trace = fixture.ada.get(&format!("/projects/{other}/builds/{}/trace", builds.body[0]["id"])).await;
    assert!(!trace.text.is_empty() && !trace.text.contains("canary"), "{}", trace.text);
    // The variable can be set again or deleted.
    assert_eq!(fixture.ada.put(&format!("{path}/KEY"), &[("value", "again")]).await.status, 200);
    assert_eq!(fixture.ada.get(&path).await.body, json!([{ "key": "KEY", "value": "again" }]));
    assert_eq!(fixture.ada.delete(&fixture.path("/variables/OTHER")).await.status, 200);
    assert_eq!(fixture.ada.get(&fixture.path("/variables")).await.status, 200);
}

#[tokio::test]
async fn a_server_without_an_encryption_key_rejects_only_variables() {
    let mut setup = Setup::default();
    setup.settings.encryption_key = None;
    let fixture = CiFixture::on_server(Server::start_with(setup).await, SIMPLE).await;
    let before = fixture.server.dump_database().await;
    let path = fixture.path("/variables");
    let refused = fixture.ada.post(&path, &[("key", "KEY"), ("value", "v")]).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let reason = refused.body["message"].as_str().unwrap();
    assert!(reason.starts_with("403 Forbidden  - ") && reason.contains("encryption.key"), "{reason}");
    assert_eq!(fixture.server.dump_database().await, before);
    assert_eq!(fixture.ada.get(&path).await.status_and_body(), (200, &json!([])));
    assert_not_found(&fixture.ada.get(&format!("{path}/KEY")).await);
    assert_not_found(&fixture.ada.delete(&format!("{path}/KEY")).await);
    // Builds run, and triggers work unless they have variables to be stored.
    let runner = fixture.runner().await;
    runner.finish(&runner.claim().await, "success").await;
    assert_eq!(fixture.pipeline().await["status"], "success");
    let trigger = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body["token"].as_str().unwrap().to_owned();
    let fire = fixture.path("/trigger/builds");
    let form = [("ref", "main"), ("token", &*trigger), ("variables[A]", "1")];
    let refused = fixture.server.anonymous().post(&fire, &form).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert_eq!(fixture.pipelines().await.len(), 1);
    assert_eq!(fixture.server.anonymous().post(&fire, &form[..2]).await.status, 201);
    runner.finish(&runner.claim().await, "success").await;
    assert_eq!(fixture.pipeline().await["status"], "success");
}

#[tokio::test]
async fn project_variables_override_the_ci_file_but_not_the_trigger() {
    let file = "
variables: {A: file, B: file, C: file, D: file}
one: {script: x, variables: {D: job}}
";
    let fixture = CiFixture::with_file(file).await;
    for key in ["B", "C", "OWN", "CI_JOB_NAME"] {
        add_variable(&fixture, key, "project").await;
    }
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let values = ["A", "B", "C", "D", "OWN", "CI_JOB_NAME"].map(|key| job.value(key));
    let expected = ["file", "project", "project", "job", "project", "project"];
    assert_eq!(values, expected.map(Some));
    for key in ["B", "OWN"] {
        let variable = job.variable(key).unwrap();
        assert_eq!((&variable["public"], &variable["file"]), (&json!(false), &json!(false)), "{key}");
    }
    assert_eq!(job.variable("A").unwrap()["public"], true);
    let trigger = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body["token"].as_str().unwrap().to_owned();
    let body =
        json!({ "ref": "main", "token": trigger, "variables": { "C": "trigger", "A": "trigger", "NEW": "trigger" } });
    let request = fixture.server.anonymous().request("POST", &fixture.path("/trigger/builds")).json(&body);
    assert_eq!(fixture.ada.send(request).await.status, 201);
    let job = runner.claim().await;
    let values = ["A", "B", "C", "D", "NEW", "CI_PIPELINE_TRIGGERED"].map(|key| job.value(key));
    let expected = ["trigger", "project", "trigger", "job", "trigger", "true"];
    assert_eq!(values, expected.map(Some));
    assert_eq!(job.variable("NEW").unwrap()["public"], false);
    // A retried build gets the same variables.
    runner.finish(&job, "failed").await;
    let copy: Value = fixture.build_action(&fixture.build("one").await, "retry").await.body;
    let job = runner.claim().await;
    assert_eq!((json!(job.id), job.value("C")), (copy["id"].clone(), Some("trigger")));
    // A changed variable has its new value in later builds.
    fixture.start_pipeline().await;
    fixture.ada.put(&fixture.path("/variables/B"), &[("value", "changed")]).await;
    assert_eq!(fixture.ada.delete(&fixture.path("/variables/OWN")).await.status, 200);
    let job = runner.claim().await;
    assert_eq!((job.value("B"), job.value("OWN"), job.value("C")), (Some("changed"), None, Some("project")));
}
