//! Runners: registration, deletion, and the builds that they may run.

use holdfast_tests::{Server, Setup};
use reqwest::Method;
use serde_json::{Value, json};

use super::fixtures::{count_rows, instance_token};
use super::old_protocol::OldRunner;
use super::{CiFixture, Runner, SIMPLE, send, send_request};

async fn register(fixture: &CiFixture, body: Value) -> super::RunnerResponse {
    let url = format!("{}/api/v4/runners", fixture.server.base_url);
    send(&reqwest::Client::new(), Method::POST, &url, &body).await
}

/// Claims all builds that the runner may run, and returns their names.
async fn claim_all(runner: &Runner) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(job) = runner.request().await {
        names.push(job.name().to_owned());
    }
    names
}

#[tokio::test]
async fn instance_tokens_register_shared_runners() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let info = json!({
        "name": "gitlab-runner", "version": "17.1.0", "revision": "abc", "platform": "linux", "architecture": "amd64",
        "executor": "shell", "features": { "variables": true }, "config": { "gpus": "" },
    });
    let sent = json!({
        "token": instance_token(&fixture.server).await, "description": "big one", "tag_list": "ruby, linux,,ruby",
        "run_untagged": false, "locked": true, "access_level": "not_protected", "maintenance_note": "x", "info": info,
    });
    let made = register(&fixture, sent).await;
    assert_eq!((made.status, made.header("content-type")), (201, "application/json"));
    let token = made.body["token"].as_str().unwrap();
    assert!(token.len() >= 20, "{token}");
    assert_eq!(made.body, json!({ "id": made.body["id"], "token": token, "token_expires_at": null }));
    let shown = fixture.server.admin.get(&format!("/runners/{}", made.body["id"])).await;
    assert_eq!(
        shown.status_and_body(),
        (
            200,
            &json!({
                "id": made.body["id"], "description": "big one", "active": true, "is_shared": true,
                "name": "gitlab-runner", "tag_list": ["linux", "ruby"], "run_untagged": false, "locked": true,
                "version": "17.1.0", "revision": "abc", "platform": "linux", "architecture": "amd64",
                "contacted_at": shown.body["contacted_at"], "projects": [],
            })
        )
    );
}

#[tokio::test]
async fn project_tokens_register_project_runners() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let url = format!("{}/api/v4/runners", fixture.server.base_url);
    let token = fixture.registration_token().await;
    let mut beginnings = Vec::new();
    // Some runners send a form, with the tags in any notation of lists.
    for tags in ["tag_list=a&tag_list=b", "tag_list[]=a&tag_list[]=b", "tag_list=a%2C+b"] {
        let body = format!("token={token}&description=mine&run_untagged=true&paused=true&{tags}");
        let request = reqwest::Client::new().post(&url).body(body);
        let made = send_request(request.header("Content-Type", "application/x-www-form-urlencoded")).await;
        assert_eq!(made.status, 201, "{tags}: {}", made.body);
        let shown = fixture.ada.get(&format!("/runners/{}", made.body["id"])).await.body;
        assert_eq!(shown["tag_list"], json!(["a", "b"]), "{tags}");
        assert_eq!(
            json!([shown["description"], shown["active"], shown["is_shared"], shown["run_untagged"], shown["locked"]]),
            json!(["mine", false, false, true, false])
        );
        let (project, home) = (&shown["projects"][0], "http://holdfast.test/ada/p");
        assert_eq!(
            *project,
            json!({
                "id": fixture.project, "name": "p", "name_with_namespace": project["name_with_namespace"], "path": "p",
                "path_with_namespace": "ada/p", "http_url_to_repo": format!("{home}.git"), "web_url": home,
            })
        );
        beginnings.push(made.body["token"].as_str().unwrap()[..8].to_owned());
    }
    let list = json!({ "token": token, "tag_list": ["x", "y"], "run_untagged": false });
    let made = register(&fixture, list).await;
    let shown = fixture.ada.get(&format!("/runners/{}", made.body["id"])).await.body;
    assert_eq!((&shown["tag_list"], &shown["active"]), (&json!(["x", "y"]), &json!(true)));
    let made = register(&fixture, json!({ "token": token, "active": false })).await;
    assert_eq!(fixture.ada.get(&format!("/runners/{}", made.body["id"])).await.body["active"], false);
    // Runners identify themselves in logs by the start of their token.
    beginnings.sort();
    beginnings.dedup();
    assert_eq!(beginnings.len(), 3);
}

#[tokio::test]
async fn invalid_runner_registrations_are_rejected() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let token = fixture.registration_token().await;
    let before = fixture.server.dump_database().await;
    for wrong in ["wrong", "", &token[1..], fixture.ada.token()] {
        let refused = register(&fixture, json!({ "token": wrong })).await;
        assert_eq!((refused.status, &refused.body), (403, &json!({ "message": "403 Forbidden" })), "{wrong}");
    }
    let wrong = [
        (json!({ "token": token, "run_untagged": false }), "tags_list"),
        (json!({ "token": token, "run_untagged": false, "tag_list": " , " }), "tags_list"),
        (json!({ "token": token, "description": "x".repeat(256) }), "description"),
        (json!({ "token": token, "tag_list": ["x".repeat(256)] }), "tags_list"),
        (json!({ "token": token, "maximum_timeout": 60 }), "maximum_timeout"),
    ];
    for (body, field) in wrong {
        let refused = register(&fixture, body).await;
        assert_eq!(refused.status, 400, "{field}: {}", refused.body);
        let reasons = refused.body["message"][field].as_array();
        assert!(reasons.is_some_and(|it| !it.is_empty()), "{field}: {}", refused.body);
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn runners_are_verified_until_unregistered() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (runner, other) = (fixture.runner().await, fixture.runner().await);
    let known = runner.call(Method::POST, "/runners/verify", json!({ "token": runner.token, "system_id": "s" })).await;
    assert_eq!((known.status, known.header("content-type")), (200, "application/json"));
    assert_eq!(known.body, json!({ "id": runner.id, "token": runner.token, "token_expires_at": null }));
    // One of several processes with the same token unregisters, and the runner remains.
    let one = json!({ "token": runner.token, "system_id": "s" });
    assert_eq!(runner.call(Method::DELETE, "/runners/managers", one).await.status, 204);
    assert_eq!(runner.call(Method::POST, "/runners/verify", json!({ "token": runner.token })).await.status, 200);
    for path in ["/runners/verify", "/jobs/request", "/runners/reset_authentication_token"] {
        let refused = runner.call(Method::POST, path, json!({ "token": "wrong" })).await;
        assert_eq!((refused.status, &refused.body), (403, &json!({ "message": "403 Forbidden" })), "{path}");
    }
    for path in ["/runners", "/runners/managers"] {
        assert_eq!(runner.call(Method::DELETE, path, json!({ "token": "wrong", "system_id": "s" })).await.status, 403);
    }
    assert_eq!(count_rows(&fixture.server, "runners").await, 2);
    let gone = runner.call(Method::DELETE, "/runners", json!({ "token": runner.token })).await;
    assert_eq!((gone.status, &gone.body), (204, &json!("")));
    assert_eq!(runner.call(Method::DELETE, "/runners", json!({ "token": runner.token })).await.status, 403);
    for path in ["/runners/verify", "/jobs/request"] {
        assert_eq!(runner.call(Method::POST, path, json!({ "token": runner.token })).await.status, 403, "{path}");
    }
    // The other runner is deleted by a form.
    let url = format!("{}/api/v4/runners", fixture.server.base_url);
    let form = reqwest::Client::new().delete(&url).form(&[("token", &other.token)]);
    assert_eq!(send_request(form).await.status, 204);
    assert_eq!(
        (count_rows(&fixture.server, "runners").await, count_rows(&fixture.server, "runner_projects").await),
        (0, 0)
    );
    assert_eq!(fixture.build("one").await["status"], "pending");
}

/// Guessing of tokens: wrong tokens of runners and builds count together for their address, in both protocols. A valid
/// token from the same address still works, so that a build script cannot stop its runner with wrong tokens.
#[tokio::test]
async fn failed_runner_and_build_tokens_are_throttled() {
    let mut setup = Setup::default();
    setup.settings.sign_ins_per_minute = 3;
    let ground = CiFixture::on_server(Server::start_with(setup).await, SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.claim().await;
    let (one, old) =
        (format!("/jobs/{}", job.id), format!("{}/ci/api/v1/builds/register.json", ground.server.base_url));
    let wrong = json!({ "token": "wrong", "state": "running" });
    let client = reqwest::Client::new();
    for expected in [403, 429] {
        let refused = [
            runner.call(Method::POST, "/runners/verify", wrong.clone()).await,
            runner.call(Method::PUT, &one, wrong.clone()).await,
            send(&client, Method::POST, &old, &wrong).await,
        ];
        for response in &refused {
            assert_eq!(response.status, expected, "{}", response.body);
            if expected == 429 {
                assert_eq!(response.body, json!({ "message": "429 Too Many Requests" }));
                assert!(response.header("retry-after").parse::<u64>().unwrap() >= 1);
            }
        }
    }
    assert_eq!(runner.call(Method::POST, "/runners/verify", json!({ "token": runner.token })).await.status, 200);
    assert_eq!(runner.update(&job, "running").await.status, 200);
    runner.finish(&job, "success").await;
    // Sign-ins with a password are counted separately.
    let sign_in = ground.server.anonymous().post("/session", &[("login", "ada"), ("password", "wrong password")]).await;
    assert_eq!(sign_in.status, 401);
}

#[tokio::test]
async fn resetting_a_runner_token_invalidates_the_old_one() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let mut runner = fixture.runner().await;
    let old = runner.token.clone();
    let path = "/runners/reset_authentication_token";
    let reset = runner.call(Method::POST, path, json!({ "token": old })).await;
    assert_eq!((reset.status, &reset.body["token_expires_at"]), (201, &Value::Null));
    runner.token = reset.body["token"].as_str().unwrap().to_owned();
    assert_ne!(runner.token, old);
    for path in ["/runners/verify", "/jobs/request", path] {
        assert_eq!(runner.call(Method::POST, path, json!({ "token": old })).await.status, 403, "{path}");
    }
    assert_eq!(runner.call(Method::DELETE, "/runners", json!({ "token": old })).await.status, 403);
    let known = runner.call(Method::POST, "/runners/verify", json!({ "token": runner.token })).await;
    assert_eq!((known.status, &known.body["id"]), (200, &json!(runner.id)));
    assert_eq!(runner.claim().await.name(), "one");
}

#[tokio::test]
async fn paused_runners_get_no_builds() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let one = format!("/runners/{}", runner.id);
    assert_eq!(fixture.ada.put(&one, &[("active", "false")]).await.status, 200);
    let nothing = runner.call(Method::POST, "/jobs/request", json!({ "token": runner.token })).await;
    assert_eq!((nothing.status, &nothing.body), (204, &json!("")));
    assert_ne!(nothing.header("x-gitlab-last-update"), "");
    assert_eq!(fixture.build("one").await["status"], "pending");
    assert_eq!(fixture.ada.put(&one, &[("active", "true")]).await.status, 200);
    assert_eq!(claim_all(&runner).await, ["one"]);
}

#[tokio::test]
async fn builds_are_matched_to_runner_tags() {
    let file = "
plain: {script: x}
linux: {script: x, tags: [linux]}
both: {script: x, tags: [ruby, linux]}
";
    let fixture = CiFixture::with_file(file).await;
    let of = async |tags: &[&str], untagged: bool| {
        claim_all(&Runner::register_for(&fixture, json!({ "tag_list": tags, "run_untagged": untagged })).await).await
    };
    assert_eq!(of(&["ruby"], false).await, [""; 0]);
    assert_eq!(of(&["linux", "windows"], false).await, ["linux"]);
    assert_eq!(of(&["ruby"], true).await, ["plain"]);
    assert_eq!(of(&["linux", "other", "ruby"], false).await, ["both"]);
    // The same applies to shared runners.
    fixture.start_pipeline().await;
    let of = async |tags: &[&str], untagged: bool| {
        claim_all(
            &Runner::register_shared(&fixture.server, json!({ "tag_list": tags, "run_untagged": untagged })).await,
        )
        .await
    };
    assert_eq!(of(&["ruby"], false).await, [""; 0]);
    assert_eq!(of(&["linux", "windows"], false).await, ["linux"]);
    assert_eq!(of(&["ruby"], true).await, ["plain"]);
    assert_eq!(of(&["linux", "other", "ruby"], false).await, ["both"]);
}

#[tokio::test]
async fn shared_runners_serve_projects_that_enable_them() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let shared = Runner::register_shared(&fixture.server, json!({})).await;
    // The build stays pending meanwhile.
    fixture.update_setting("shared_runners_enabled", "false").await;
    assert_eq!(claim_all(&shared).await, [""; 0]);
    fixture.update_setting("shared_runners_enabled", "true").await;
    assert_eq!(claim_all(&shared).await, ["one"]);
    fixture.update_setting("shared_runners_enabled", "false").await;
    fixture.start_pipeline().await;
    assert_eq!(claim_all(&shared).await, [""; 0]);
    assert_eq!(claim_all(&fixture.runner().await).await, ["one"]);
    fixture.start_pipeline().await;
    fixture.update_setting("shared_runners_enabled", "true").await;
    assert_eq!(claim_all(&shared).await, ["one"]);
}

#[tokio::test]
async fn projects_with_disabled_builds_are_not_served() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (own, shared) = (fixture.runner().await, Runner::register_shared(&fixture.server, json!({})).await);
    fixture.update_setting("builds_enabled", "false").await;
    for runner in [&own, &shared] {
        assert_eq!(claim_all(runner).await, [""; 0]);
    }
    // Changing other settings makes no difference.
    fixture.update_setting("shared_runners_enabled", "false").await;
    fixture.update_setting("shared_runners_enabled", "true").await;
    assert_eq!(claim_all(&shared).await, [""; 0]);
    fixture.update_setting("builds_enabled", "true").await;
    assert_eq!(fixture.build("one").await["status"], "pending");
    assert_eq!(claim_all(&shared).await, ["one"]);
    fixture.start_pipeline().await;
    fixture.update_setting("builds_enabled", "false").await;
    assert_eq!(claim_all(&own).await, [""; 0]);
    fixture.update_setting("builds_enabled", "true").await;
    assert_eq!(claim_all(&own).await, ["one"]);
}

#[tokio::test]
async fn project_runners_serve_only_their_projects() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let other = fixture.another_project("q", "two:\n  script: make\n").await;
    assert_eq!(claim_all(&runner).await, ["one"]);
    let runners = format!("/projects/{other}/runners");
    let added = fixture.ada.post(&runners, &[("runner_id", &runner.id.to_string())]).await;
    assert_eq!(added.status, 201, "{}", added.text);
    assert_eq!(claim_all(&runner).await, ["two"]);
    // Locking prevents further projects, and keeps the existing ones.
    assert_eq!(fixture.ada.put(&format!("/runners/{}", runner.id), &[("locked", "true")]).await.status, 200);
    fixture.start_pipeline().await;
    fixture.ada.post(&format!("/projects/{other}/pipeline"), &[("ref", "main")]).await;
    let mut both = claim_all(&runner).await;
    both.sort();
    assert_eq!(both, ["one", "two"]);
    assert_eq!(fixture.ada.delete(&format!("{runners}/{}", runner.id)).await.status, 200);
    fixture.ada.post(&format!("/projects/{other}/pipeline"), &[("ref", "main")]).await;
    assert_eq!(claim_all(&runner).await, [""; 0]);
}

/// Mass assignment by a runner: with the registration token of one project, an attacker registers a runner that serves
/// all projects, or sends attributes of a build that a runner may not set.
#[tokio::test]
async fn unknown_runner_attributes_are_ignored() {
    let fixture = CiFixture::with_file("one: {script: x}\ntwo: {script: x}\n").await;
    let other = fixture.another_project("q", SIMPLE).await;
    let more = json!({
        "id": 424_242,
        "is_shared": true,
        "shared": true,
        "runner_type": "instance_type",
        "access_level": "not_protected",
        "project_id": other,
        "projects": [other],
        "user_id": 1,
        "admin": true,
        "name": "canary-name",
        "version": "canary-version",
        "contacted_at": "1999-01-01T00:00:00Z",
        "created_at": "1999-01-01T00:00:00Z",
        "token_digest": "canary-digest",
        "longest_run": 1,
        "tags": ["canary-tag"],
    });
    let with = |mut body: Value| {
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let plain = Runner::register_for(&fixture, json!({ "description": "d" })).await;
    let made = Runner::register_for(&fixture, with(json!({ "description": "d" }))).await;
    let old = OldRunner::register(&fixture, with(json!({ "description": "d" }))).await;
    let row = |contents: &Value, id: i64| {
        let mut row = contents["runners"].as_array().unwrap().iter().find(|it| it["id"] == id).unwrap().clone();
        for own in ["id", "token_digest"] {
            row[own] = Value::Null;
        }
        row
    };
    let contents = fixture.server.dump_database().await;
    for id in [made.id, old.id] {
        assert_eq!(row(&contents, id), row(&contents, plain.id));
        let projects = contents["runner_projects"].as_array().unwrap().iter().filter(|it| it["runner_id"] == id);
        let projects: Vec<_> = projects.map(|it| it["project_id"].clone()).collect();
        assert_eq!(projects, [json!(fixture.project)]);
    }
    // The runner gets the builds of its project, and can set only the attributes that it may set.
    let job = made.claim().await;
    let build = |contents: &Value| contents["builds"].as_array().unwrap().iter().find(|it| it["id"] == job.id).cloned();
    let touch = json!({ "token": job.token, "state": "running" });
    assert_eq!(made.call(Method::PUT, &format!("/jobs/{}", job.id), touch.clone()).await.status, 200);
    let before = fixture.server.dump_database().await;
    let mut odd = with(touch);
    let of_build = json!({
        "status": "success",
        "stage": "canary-stage",
        "runner_id": plain.id,
        "pipeline_id": 424_242,
        "coverage": 99,
        "allow_failure": true,
        "finished_at": "1999-01-01T00:00:00Z",
    });
    odd.as_object_mut().unwrap().extend(of_build.as_object().unwrap().clone());
    assert_eq!(made.call(Method::PUT, &format!("/jobs/{}", job.id), odd).await.status, 200);
    let after = fixture.server.dump_database().await;
    assert!(build(&before).is_some_and(|it| it["status"] == "running"));
    assert_eq!(after, before);
    made.finish(&job, "success").await;
    assert_eq!(made.claim().await.name(), "two");
    assert!(made.request().await.is_none(), "nothing of the other project");
    assert!(!fixture.server.dump_database().await.to_string().contains("canary"));
}
