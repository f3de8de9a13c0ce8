//! Pipelines, from a push to what a runner says of it.

mod artifact_life;
mod artifacts;
mod course;
mod creation;
mod git_access;
mod hooks;
mod identity;
mod job_answer;
mod job_token_scope;
mod lint;
mod old_builds;
mod old_protocol;
mod polling;
mod removal;
mod runner_management;
mod runners;
mod scene;
mod secrets;
mod security;
mod slow_runners;
mod statuses;
mod token_routes;
mod traces;
mod trigger_tokens;
mod triggers;

use holdfast_tests::{Answer, Client, Server, WorkTree};
use reqwest::Method;
use serde_json::{Value, json};

/// A project of ada's with one commit on `main` that has this CI file.
pub struct Ground {
    pub server: Server,
    pub ada: Client,
    pub project: i64,
    pub tree: WorkTree,
    pub sha: String,
}

pub const SIMPLE: &str = "one:\n  script: make\n";

impl Ground {
    pub async fn with(file: &str) -> Self {
        Self::on(Server::start().await, file).await
    }

    pub async fn on(server: Server, file: &str) -> Self {
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "p", 0).await;
        let tree = WorkTree::new().await;
        let sha = tree.commit(".gitlab-ci.yml", file.as_bytes(), "First").await;
        let ground = Self { server, ada, project, tree, sha };
        ground.push("main").await;
        ground
    }

    pub async fn push(&self, refspec: &str) {
        self.tree.push(&self.server.git_url(&self.ada, "ada/p"), &[refspec]).await.ok();
        self.server.work().await;
    }

    pub fn path(&self, below: &str) -> String {
        format!("/projects/{}{below}", self.project)
    }

    pub async fn pipelines(&self) -> Vec<Value> {
        let listed = self.ada.get(&self.path("/pipelines")).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        listed.body.as_array().unwrap().clone()
    }

    /// The newest.
    pub async fn pipeline(&self) -> Value {
        self.pipelines().await.first().cloned().unwrap_or(Value::Null)
    }

    /// Name and status of the builds that count, in the order in which they were made.
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

    pub async fn act(&self, build: &Value, what: &str) -> Answer {
        self.ada.post(&self.path(&format!("/builds/{}/{what}", build["id"])), &[]).await
    }

    /// One of this project, which takes everything.
    pub async fn runner(&self) -> Runner {
        let project = self.ada.get(&self.path("")).await;
        let token = project.body["runners_token"].as_str().unwrap().to_owned();
        Runner::register(&self.server, json!({ "token": token })).await
    }
}

/// A runner that speaks the protocol of today.
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

pub struct Said {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl Said {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub async fn send(client: &reqwest::Client, method: Method, url: &str, body: &Value) -> Said {
    said(client.request(method, url).json(body)).await
}

pub async fn said(request: reqwest::RequestBuilder) -> Said {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    Said { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

impl Runner {
    pub async fn register(server: &Server, attributes: Value) -> Self {
        let client = reqwest::Client::new();
        let made = send(&client, Method::POST, &format!("{}/api/v4/runners", server.base), &attributes).await;
        assert_eq!(made.status, 201, "{}", made.body);
        assert_eq!(made.body["token_expires_at"], Value::Null);
        let (id, token) = (made.body["id"].as_i64().unwrap(), made.body["token"].as_str().unwrap().to_owned());
        Self { base: server.base.clone(), id, token, client }
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> Said {
        send(&self.client, method, &format!("{}/api/v4{path}", self.base), &body).await
    }

    pub async fn request(&self) -> Option<Job> {
        let got = self.call(Method::POST, "/jobs/request", json!({ "token": self.token })).await;
        match got.status {
            201 => Some(Job {
                id: got.body["id"].as_i64().unwrap(),
                token: got.body["token"].as_str().unwrap().to_owned(),
                body: got.body,
            }),
            204 => None,
            other => panic!("{other} {}", got.body),
        }
    }

    pub async fn take(&self) -> Job {
        self.request().await.expect("a build")
    }

    pub async fn update(&self, job: &Job, state: &str) -> Said {
        self.call(Method::PUT, &format!("/jobs/{}", job.id), json!({ "token": job.token, "state": state })).await
    }

    pub async fn finish(&self, job: &Job, state: &str) {
        let said = self.update(job, state).await;
        assert_eq!(said.status, 200, "{}", said.body);
    }

    pub async fn patch(&self, job: &Job, start: i64, bytes: &[u8]) -> Said {
        let range = format!("{start}-{}", start + bytes.len() as i64);
        let url = format!("{}/api/v4/jobs/{}/trace", self.base, job.id);
        let request = self.client.patch(url).header("JOB-TOKEN", &job.token).header("Content-Range", range);
        said(request.header("Content-Type", "text/plain").body(bytes.to_vec())).await
    }
}

pub fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, status)| ((*name).to_owned(), (*status).to_owned())).collect()
}
