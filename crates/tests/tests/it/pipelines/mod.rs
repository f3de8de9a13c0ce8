//! CI: pipelines, builds, runners and their protocols.

mod artifact_lifecycle;
mod artifacts;
mod creation;
mod deletion;
mod fixtures;
mod git_access;
mod hooks;
mod identity;
mod job_response;
mod job_token_scope;
mod lint;
mod old_builds;
mod old_protocol;
mod polling;
mod runner_management;
mod runners;
mod secrets;
mod security;
mod slow_runners;
mod state_transitions;
mod statuses;
mod token_routes;
mod traces;
mod trigger_tokens;
mod triggers;

use holdfast_tests::{Client, Server, TestResponse, WorkTree};
use reqwest::Method;
use serde_json::{Value, json};

/// A project of ada's with one commit on `main` that contains this CI file.
pub struct CiFixture {
    pub server: Server,
    pub ada: Client,
    pub project: i64,
    pub tree: WorkTree,
    pub sha: String,
}

pub const SIMPLE: &str = "one:\n  script: make\n";

impl CiFixture {
    pub async fn with_file(file: &str) -> Self {
        Self::on_server(Server::start().await, file).await
    }

    pub async fn on_server(server: Server, file: &str) -> Self {
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "p", 0).await;
        let tree = WorkTree::new().await;
        let sha = tree.commit(".gitlab-ci.yml", file.as_bytes(), "First").await;
        let fixture = Self { server, ada, project, tree, sha };
        fixture.push("main").await;
        fixture
    }

    pub async fn push(&self, refspec: &str) {
        self.tree.push(&self.server.git_url(&self.ada, "ada/p"), &[refspec]).await.ok();
        self.server.run_jobs().await;
    }

    pub fn path(&self, below: &str) -> String {
        format!("/projects/{}{below}", self.project)
    }

    pub async fn pipelines(&self) -> Vec<Value> {
        let listed = self.ada.get(&self.path("/pipelines")).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        listed.body.as_array().unwrap().clone()
    }

    /// Returns the newest pipeline.
    pub async fn pipeline(&self) -> Value {
        self.pipelines().await.first().cloned().unwrap_or(Value::Null)
    }

    /// Returns name and status of the latest builds, in the order of their creation.
    pub async fn statuses(&self) -> Vec<(String, String)> {
        let listed = self.ada.get(&self.path("/builds?per_page=100")).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        let mut builds = listed.body.as_array().unwrap().clone();
        builds.reverse();
        let text = |build: &Value, field: &str| build[field].as_str().unwrap().to_owned();
        builds.iter().map(|build| (text(build, "name"), text(build, "status"))).collect()
    }

    pub async fn build(&self, name: &str) -> Value {
        let listed = self.ada.get(&self.path("/builds?per_page=100")).await;
        let found = listed.body.as_array().unwrap().iter().find(|build| build["name"] == name).cloned();
        found.unwrap_or_else(|| panic!("no build {name}"))
    }

    pub async fn build_action(&self, build: &Value, action: &str) -> TestResponse {
        self.ada.post(&self.path(&format!("/builds/{}/{action}", build["id"])), &[]).await
    }

    /// Registers a runner of this project that runs every build.
    pub async fn runner(&self) -> Runner {
        let project = self.ada.get(&self.path("")).await;
        let token = project.body["runners_token"].as_str().unwrap().to_owned();
        Runner::register(&self.server, json!({ "token": token })).await
    }
}

/// A runner of the current protocol (v4).
pub struct Runner {
    base: String,
    pub id: i64,
    pub token: String,
    client: reqwest::Client,
}

pub struct Job {
    pub id: i64,
    pub token: String,
    pub body: Value,
}

pub struct RunnerResponse {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl RunnerResponse {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub async fn send(client: &reqwest::Client, method: Method, url: &str, body: &Value) -> RunnerResponse {
    send_request(client.request(method, url).json(body)).await
}

pub async fn send_request(request: reqwest::RequestBuilder) -> RunnerResponse {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    RunnerResponse { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

impl Runner {
    pub async fn register(server: &Server, attributes: Value) -> Self {
        let client = reqwest::Client::new();
        let response = send(&client, Method::POST, &format!("{}/api/v4/runners", server.base_url), &attributes).await;
        assert_eq!(response.status, 201, "{}", response.body);
        assert_eq!(response.body["token_expires_at"], Value::Null);
        let (id, token) = (response.body["id"].as_i64().unwrap(), response.body["token"].as_str().unwrap().to_owned());
        Self { base: server.base_url.clone(), id, token, client }
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> RunnerResponse {
        send(&self.client, method, &format!("{}/api/v4{path}", self.base), &body).await
    }

    pub async fn request(&self) -> Option<Job> {
        let response = self.call(Method::POST, "/jobs/request", json!({ "token": self.token })).await;
        match response.status {
            201 => Some(Job {
                id: response.body["id"].as_i64().unwrap(),
                token: response.body["token"].as_str().unwrap().to_owned(),
                body: response.body,
            }),
            204 => None,
            other => panic!("{other} {}", response.body),
        }
    }

    pub async fn claim(&self) -> Job {
        self.request().await.expect("a build")
    }

    pub async fn update(&self, job: &Job, state: &str) -> RunnerResponse {
        self.call(Method::PUT, &format!("/jobs/{}", job.id), json!({ "token": job.token, "state": state })).await
    }

    pub async fn finish(&self, job: &Job, state: &str) {
        let response = self.update(job, state).await;
        assert_eq!(response.status, 200, "{}", response.body);
    }

    pub async fn patch(&self, job: &Job, start: i64, bytes: &[u8]) -> RunnerResponse {
        let range = format!("{start}-{}", start + bytes.len() as i64);
        let url = format!("{}/api/v4/jobs/{}/trace", self.base, job.id);
        let request = self.client.patch(url).header("JOB-TOKEN", &job.token).header("Content-Range", range);
        send_request(request.header("Content-Type", "text/plain").body(bytes.to_vec())).await
    }
}

pub fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, status)| ((*name).to_owned(), (*status).to_owned())).collect()
}
