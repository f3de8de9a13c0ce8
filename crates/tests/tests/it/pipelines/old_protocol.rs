//! The protocol of runners of the 8.x era: how they come and go, and what they get.

use holdfast_tests::Server;
use reqwest::Method;
use serde_json::{Value, json};

use super::scene::{instance_token, rows};
use super::{Ground, SIMPLE, Said, said};

pub const AGENT: &str = "gitlab-ci-multi-runner 1.11.5 (1-11-stable; go1.7.4; linux/amd64)";

/// A runner of that time.
pub struct Old {
    base: String,
    pub id: i64,
    pub token: String,
}

impl Old {
    pub async fn register(ground: &Ground, mut attributes: Value) -> Self {
        attributes["token"] = ground.runners_token().await.into();
        let made = call(&ground.server, Method::POST, "/runners/register.json", &attributes).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let (id, token) = (made.body["id"].as_i64().unwrap(), made.body["token"].as_str().unwrap().to_owned());
        Self { base: ground.server.base.clone(), id, token }
    }

    pub async fn ask(&self, path: &str, agent: &str) -> Said {
        let request = reqwest::Client::new().post(format!("{}/ci/api/v1{path}", self.base));
        said(request.header("User-Agent", agent).json(&json!({ "token": self.token }))).await
    }

    /// A build, which there is.
    pub async fn take(&self) -> Value {
        let got = self.ask("/builds/register.json", AGENT).await;
        assert_eq!(got.status, 201, "{}", got.body);
        got.body
    }

    pub async fn put(&self, build: &Value, mut body: Value) -> Said {
        body["token"] = json!(self.token);
        let url = format!("{}/ci/api/v1/builds/{}.json", self.base, build["id"]);
        said(reqwest::Client::new().put(url).json(&body)).await
    }

    pub async fn patch(&self, build: &Value, range: &str, bytes: &[u8]) -> Said {
        let url = format!("{}/ci/api/v1/builds/{}/trace.txt", self.base, build["id"]);
        let request = reqwest::Client::new().patch(url).header("BUILD-TOKEN", build["token"].as_str().unwrap());
        said(request.header("Content-Range", range).header("Content-Type", "text/plain").body(bytes.to_vec())).await
    }

    /// Where the files of a build are.
    pub fn files(&self, build: &Value) -> String {
        format!("{}/ci/api/v1/builds/{}/artifacts", self.base, build["id"])
    }
}

pub async fn call(server: &Server, method: Method, path: &str, body: &Value) -> Said {
    said(reqwest::Client::new().request(method, format!("{}/ci/api/v1{path}", server.base)).json(body)).await
}

#[tokio::test]
async fn they_register() {
    let ground = Ground::with(SIMPLE).await;
    let server = &ground.server;
    let info = json!({ "name": "gitlab-ci-multi-runner", "version": "1.11.5", "platform": "linux" });
    for (token, shared) in [(ground.runners_token().await, false), (instance_token(server).await, true)] {
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
    // The ending may be left out.
    let body = json!({ "token": ground.runners_token().await });
    assert_eq!(call(server, Method::POST, "/runners/register", &body).await.status, 201);
    let before = server.contents().await;
    let refused = call(server, Method::POST, "/runners/register.json", &json!({ "token": "wrong" })).await;
    assert_eq!((refused.status, &refused.body), (403, &json!({ "message": "403 Forbidden" })));
    let body = json!({ "token": ground.runners_token().await, "run_untagged": false, "tag_list": "" });
    let refused = call(server, Method::POST, "/runners/register.json", &body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body["message"]["tags_list"].is_array(), "{}", refused.body);
    assert_eq!(server.contents().await, before);
}

/// By asking for a build that cannot be, a runner finds out whether it is still known.
#[tokio::test]
async fn they_ask_whether_they_are_known_and_go() {
    let ground = Ground::with(SIMPLE).await;
    let server = &ground.server;
    let (one, two) = (Old::register(&ground, json!({})).await, Old::register(&ground, json!({})).await);
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
    assert_eq!(one.ask("/builds/register.json", AGENT).await.status, 403);
    assert_eq!(rows(server, "runners").await, 1);
    assert_eq!(two.ask("/builds/register.json", AGENT).await.status, 201);
}

#[tokio::test]
async fn they_are_told_that_there_is_nothing_as_they_understand_it() {
    let ground = Ground::with(SIMPLE).await;
    let runner = Old::register(&ground, json!({})).await;
    assert_eq!(runner.take().await["id"], ground.build("one").await["id"]);
    for path in ["/builds/register.json", "/builds/register"] {
        let nothing = runner.ask(path, AGENT).await;
        assert_eq!((nothing.status, &nothing.body), (204, &json!("")));
        assert_ne!(nothing.header("x-gitlab-last-update"), "");
        for agent in ["", "curl/8.0", "gitlab-ci-multi-runner dev (HEAD)", "gitlab-ci-runner 1.2.3 "] {
            assert_eq!(runner.ask(path, agent).await.status, 404, "{agent}");
        }
    }
    assert_eq!(call(&ground.server, Method::POST, "/builds/register.json", &json!({ "token": "x" })).await.status, 403);
}

#[tokio::test]
async fn one_that_is_paused_finds_nothing() {
    let ground = Ground::with(SIMPLE).await;
    let runner = Old::register(&ground, json!({})).await;
    let one = format!("/runners/{}", runner.id);
    assert_eq!(ground.ada.put(&one, &[("active", "false")]).await.status, 200);
    for agent in [AGENT, "curl/8.0"] {
        assert_eq!(runner.ask("/builds/register.json", agent).await.status, 404, "{agent}");
    }
    assert_eq!(ground.build("one").await["status"], "pending");
    assert_eq!(ground.ada.put(&one, &[("active", "true")]).await.status, 200);
    runner.take().await;
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
async fn all_that_they_are_told_of_a_build() {
    let ground = Ground::with(FILE).await;
    let runner = Old::register(&ground, json!({})).await;
    let mut body = runner.take().await;
    let token = body["token"].clone();
    let variables = body.as_object_mut().unwrap().remove("variables").unwrap();
    assert_eq!(
        body,
        json!({
            "id": ground.build("compile").await["id"],
            "ref": "main",
            "tag": false,
            "sha": ground.sha,
            "before_sha": ground.sha,
            "status": "running",
            "name": "compile",
            "stage": "build",
            "token": token,
            "project_id": ground.project,
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
        [("CI_BUILD_REF", json!(ground.sha), true), ("LEVEL", json!("file"), true), ("CI_BUILD_TOKEN", token, false)]
    {
        let it = find(key);
        assert_eq!((&it["value"], &it["public"], &it["file"]), (&value, &json!(public), &json!(false)), "{key}");
    }
    // The next one is told what this one left.
    let file = super::scene::file("out.zip", b"left");
    let form = reqwest::multipart::Form::new().part("file", file);
    let request =
        reqwest::Client::new().post(runner.files(&body)).header("BUILD-TOKEN", body["token"].as_str().unwrap());
    assert_eq!(said(request.multipart(form)).await.status, 201);
    assert_eq!(runner.put(&body, json!({ "state": "success" })).await.status, 200);
    let next = runner.take().await;
    assert_eq!(next["options"]["dependencies"], json!(["compile"]));
    let told = &next["depends_on_builds"][0];
    assert_eq!((&told["id"], &told["name"]), (&body["id"], &json!("compile")));
    assert_eq!(told["artifacts_file"], json!({ "filename": "out.zip", "size": 4 }));
    let request = reqwest::Client::new().get(runner.files(told)).header("BUILD-TOKEN", told["token"].as_str().unwrap());
    let got = said(request).await;
    assert_eq!((got.status, got.body), (200, json!("left")));
}
