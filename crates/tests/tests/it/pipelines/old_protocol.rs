//! The protocol of 8.x runners (v1): registration, requests for builds, and artifacts.

use holdfast_tests::Server;
use reqwest::Method;
use serde_json::{Value, json};

use super::fixtures::{count_rows, instance_token};
use super::{CiFixture, RunnerResponse, SIMPLE, send_request};

pub const AGENT: &str = "gitlab-ci-multi-runner 1.11.5 (1-11-stable; go1.7.4; linux/amd64)";

/// A runner of the v1 protocol.
pub struct OldRunner {
    base: String,
    pub id: i64,
    pub token: String,
}

impl OldRunner {
    pub async fn register(fixture: &CiFixture, mut attributes: Value) -> Self {
        attributes["token"] = fixture.registration_token().await.into();
        let made = call(&fixture.server, Method::POST, "/runners/register.json", &attributes).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let (id, token) = (made.body["id"].as_i64().unwrap(), made.body["token"].as_str().unwrap().to_owned());
        Self { base: fixture.server.base_url.clone(), id, token }
    }

    pub async fn request_build(&self, path: &str, agent: &str) -> RunnerResponse {
        let request = reqwest::Client::new().post(format!("{}/ci/api/v1{path}", self.base));
        send_request(request.header("User-Agent", agent).json(&json!({ "token": self.token }))).await
    }

    /// Claims a build, which must exist.
    pub async fn claim(&self) -> Value {
        let got = self.request_build("/builds/register.json", AGENT).await;
        assert_eq!(got.status, 201, "{}", got.body);
        got.body
    }

    pub async fn put(&self, build: &Value, mut body: Value) -> RunnerResponse {
        body["token"] = json!(self.token);
        let url = format!("{}/ci/api/v1/builds/{}.json", self.base, build["id"]);
        send_request(reqwest::Client::new().put(url).json(&body)).await
    }

    pub async fn patch(&self, build: &Value, range: &str, bytes: &[u8]) -> RunnerResponse {
        let url = format!("{}/ci/api/v1/builds/{}/trace.txt", self.base, build["id"]);
        let request = reqwest::Client::new().patch(url).header("BUILD-TOKEN", build["token"].as_str().unwrap());
        send_request(request.header("Content-Range", range).header("Content-Type", "text/plain").body(bytes.to_vec()))
            .await
    }

    /// Returns the URL of the artifacts of a build.
    pub fn artifacts_url(&self, build: &Value) -> String {
        format!("{}/ci/api/v1/builds/{}/artifacts", self.base, build["id"])
    }
}

pub async fn call(server: &Server, method: Method, path: &str, body: &Value) -> RunnerResponse {
    send_request(reqwest::Client::new().request(method, format!("{}/ci/api/v1{path}", server.base_url)).json(body))
        .await
}

#[tokio::test]
async fn v1_runners_register() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let server = &fixture.server;
    let info = json!({ "name": "gitlab-ci-multi-runner", "version": "1.11.5", "platform": "linux" });
    for (token, shared) in [(fixture.registration_token().await, false), (instance_token(server).await, true)] {
        let body = json!({
            "token": token, "description": "old", "tag_list": "b, a", "run_untagged": false, "info": info,
        });
        let made = call(server, Method::POST, "/runners/register.json", &body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let expected = json!({ "id": made.body["id"], "token": made.body["token"] });
        assert_eq!(made.body, expected);
        let shown = server.admin.get(&format!("/runners/{}", made.body["id"])).await.body;
        assert_eq!(
            json!([
                shown["description"],
                shown["tag_list"],
                shown["run_untagged"],
                shown["is_shared"],
                shown["version"]
            ]),
            json!(["old", ["a", "b"], false, shared, "1.11.5"])
        );
    }
    // The suffix `.json` is optional.
    let body = json!({ "token": fixture.registration_token().await });
    assert_eq!(call(server, Method::POST, "/runners/register", &body).await.status, 201);
    let before = server.dump_database().await;
    let refused = call(server, Method::POST, "/runners/register.json", &json!({ "token": "wrong" })).await;
    assert_eq!((refused.status, &refused.body), (403, &json!({ "message": "403 Forbidden" })));
    let body = json!({ "token": fixture.registration_token().await, "run_untagged": false, "tag_list": "" });
    let refused = call(server, Method::POST, "/runners/register.json", &body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body["message"]["tags_list"].is_array(), "{}", refused.body);
    assert_eq!(server.dump_database().await, before);
}

/// A runner checks whether it is still registered by requesting an impossible build.
#[tokio::test]
async fn v1_runners_verify_and_unregister() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let server = &fixture.server;
    let (one, two) = (OldRunner::register(&fixture, json!({})).await, OldRunner::register(&fixture, json!({})).await);
    for path in ["/builds/-1", "/builds/-1.json"] {
        let known = call(server, Method::PUT, path, &json!({ "token": one.token })).await;
        assert_eq!(known.status, 404, "{path}: {}", known.body);
        let unknown = call(server, Method::PUT, path, &json!({ "token": "wrong" })).await;
        assert_eq!(unknown.status, 403, "{path}: {}", unknown.body);
    }
    assert_eq!(call(server, Method::DELETE, "/runners/delete", &json!({ "token": "wrong" })).await.status, 403);
    assert_eq!(call(server, Method::DELETE, "/runners/delete", &json!({ "token": one.token })).await.status, 200);
    assert_eq!(call(server, Method::DELETE, "/runners/delete", &json!({ "token": one.token })).await.status, 403);
    assert_eq!(call(server, Method::PUT, "/builds/-1", &json!({ "token": one.token })).await.status, 403);
    assert_eq!(one.request_build("/builds/register.json", AGENT).await.status, 403);
    assert_eq!(count_rows(server, "runners").await, 1);
    assert_eq!(two.request_build("/builds/register.json", AGENT).await.status, 201);
}

#[tokio::test]
async fn an_empty_queue_is_answered_in_each_protocol_version() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = OldRunner::register(&fixture, json!({})).await;
    assert_eq!(runner.claim().await["id"], fixture.build("one").await["id"]);
    for path in ["/builds/register.json", "/builds/register"] {
        let nothing = runner.request_build(path, AGENT).await;
        assert_eq!((nothing.status, &nothing.body), (204, &json!("")));
        assert_ne!(nothing.header("x-gitlab-last-update"), "");
        for agent in ["", "curl/8.0", "gitlab-ci-multi-runner dev (HEAD)", "gitlab-ci-runner 1.2.3 "] {
            assert_eq!(runner.request_build(path, agent).await.status, 404, "{agent}");
        }
    }
    assert_eq!(
        call(&fixture.server, Method::POST, "/builds/register.json", &json!({ "token": "x" })).await.status,
        403
    );
}

#[tokio::test]
async fn paused_v1_runners_get_no_builds() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = OldRunner::register(&fixture, json!({})).await;
    let one = format!("/runners/{}", runner.id);
    assert_eq!(fixture.ada.put(&one, &[("active", "false")]).await.status, 200);
    for agent in [AGENT, "curl/8.0"] {
        assert_eq!(runner.request_build("/builds/register.json", agent).await.status, 404, "{agent}");
    }
    assert_eq!(fixture.build("one").await["status"], "pending");
    assert_eq!(fixture.ada.put(&one, &[("active", "true")]).await.status, 200);
    runner.claim().await;
}

const FILE: &str = "
image: ruby:2.3
services: ['postgres:9', redis]
before_script: [prepare]
after_script: [tidy]
variables: {LEVEL: file}
cache: {key: k, paths: [vendor/]}
stages: [build, test]
compile:
  stage: build
  script: [make, make check]
  artifacts: {name: out, paths: [bin/], untracked: true, expire_in: 1 week, when: always}
check: {stage: test, script: test, dependencies: [compile]}
";

#[tokio::test]
async fn the_v1_job_response_is_complete() {
    let fixture = CiFixture::with_file(FILE).await;
    let runner = OldRunner::register(&fixture, json!({})).await;
    let mut body = runner.claim().await;
    let token = body["token"].clone();
    let variables = body.as_object_mut().unwrap().remove("variables").unwrap();
    assert_eq!(
        body,
        json!({
            "id": fixture.build("compile").await["id"],
            "ref": "main",
            "tag": false,
            "sha": fixture.sha,
            "before_sha": fixture.sha,
            "status": "running",
            "name": "compile",
            "stage": "build",
            "token": token,
            "project_id": fixture.project,
            "project_name": "p",
            "commands": "prepare\nmake\nmake check",
            "repo_url": format!("http://gitlab-ci-token:{}@holdfast.test/ada/p.git", token.as_str().unwrap()),
            "allow_git_fetch": true,
            "timeout": 3600,
            "options": {
                "image": "ruby:2.3",
                "services": ["postgres:9", "redis"],
                "artifacts": {
                    "name": "out", "paths": ["bin/"], "untracked": true, "when": "always", "expire_in": "1 week",
                },
                "cache": { "key": "k", "paths": ["vendor/"], "untracked": false },
                "after_script": ["tidy"],
            },
            "depends_on_builds": [],
            "credentials": [],
        })
    );
    let find = |key: &str| variables.as_array().unwrap().iter().rfind(|it| it["key"] == key).unwrap();
    for (key, value, public) in
        [("CI_BUILD_REF", json!(fixture.sha), true), ("LEVEL", json!("file"), true), ("CI_BUILD_TOKEN", token, false)]
    {
        let variable = find(key);
        assert_eq!(
            (&variable["value"], &variable["public"], &variable["file"]),
            (&value, &json!(public), &json!(false)),
            "{key}"
        );
    }
    // The response for the next build lists these artifacts.
    let file = super::fixtures::file_part("out.zip", b"left");
    let form = reqwest::multipart::Form::new().part("file", file);
    let request =
        reqwest::Client::new().post(runner.artifacts_url(&body)).header("BUILD-TOKEN", body["token"].as_str().unwrap());
    assert_eq!(send_request(request.multipart(form)).await.status, 201);
    assert_eq!(runner.put(&body, json!({ "state": "success" })).await.status, 200);
    let next = runner.claim().await;
    assert_eq!(next["options"]["dependencies"], json!(["compile"]));
    let dependency = &next["depends_on_builds"][0];
    assert_eq!((&dependency["id"], &dependency["name"]), (&body["id"], &json!("compile")));
    assert_eq!(dependency["artifacts_file"], json!({ "filename": "out.zip", "size": 4 }));
    let request = reqwest::Client::new()
        .get(runner.artifacts_url(dependency))
        .header("BUILD-TOKEN", dependency["token"].as_str().unwrap());
    let got = send_request(request).await;
    assert_eq!((got.status, got.body), (200, json!("left")));
}
