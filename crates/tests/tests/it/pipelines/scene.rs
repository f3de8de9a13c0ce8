//! What several tests of pipelines need beside a project and its runner.

use holdfast_domain::ids::UserId;
use holdfast_tests::{Client, Server, WorkTree};
use reqwest::header::HeaderMap;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use super::{Ground, Job, Runner, Said, said};

/// A file with builds of two stages.
pub const STAGES: &str = "
stages: [build, test]
first: {stage: build, script: make, artifacts: {paths: [out]}}
second: {stage: test, script: check}
";

impl Ground {
    /// What registers runners of this project.
    pub async fn runners_token(&self) -> String {
        let project = self.ada.get(&self.path("")).await;
        project.body["runners_token"].as_str().unwrap().to_owned()
    }

    /// Somebody with a role in the project.
    pub async fn member(&self, name: &str, level: &str) -> (UserId, Client) {
        let (id, client) = self.server.user(name).await;
        let form = [("user_id", &*id.to_string()), ("access_level", level)];
        let added = self.ada.post(&self.path("/members"), &form).await;
        assert_eq!(added.status, 201, "{}", added.text);
        (id, client)
    }

    /// Another private project of ada's with this CI file, and what its push made of it.
    pub async fn another_project(&self, path: &str, file: &str) -> i64 {
        let project = self.server.project(&self.ada, path, 0).await;
        let tree = WorkTree::new().await;
        tree.commit(".gitlab-ci.yml", file.as_bytes(), "First").await;
        tree.push(&self.server.git_url(&self.ada, &format!("ada/{path}")), &["main"]).await.ok();
        self.server.work().await;
        project
    }

    /// One more pipeline of `main`.
    pub async fn start(&self) -> Value {
        let made = self.ada.post(&self.path("/pipeline"), &[("ref", "main")]).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.body
    }

    /// Lets builds of this project read another one, which `master` manages.
    pub async fn allow(&self, master: &Client, target: &str) {
        let form = [("target_project_id", &*self.project.to_string())];
        let added = master.post(&format!("/projects/{target}/job_token_scope/allowlist"), &form).await;
        assert_eq!(added.status, 201, "{}", added.text);
    }

    pub async fn set(&self, name: &str, value: &str) {
        let saved = self.ada.put(&self.path(""), &[(name, value)]).await;
        assert_eq!(saved.status, 200, "{}", saved.text);
    }
}

/// What registers runners for everybody.
pub async fn instance_token(server: &Server) -> String {
    let query = "select token from runner_registration";
    sqlx::query_scalar(query).fetch_one(&mut server.database().await).await.unwrap()
}

/// How many rows a table has.
pub async fn rows(server: &Server, table: &str) -> usize {
    server.contents().await[table].as_array().unwrap().len()
}

/// How many files builds have in the store.
pub fn stored(server: &Server, kind: &str) -> usize {
    std::fs::read_dir(server.directory.path().join(kind)).map_or(0, Iterator::count)
}

pub fn file(name: &str, bytes: &[u8]) -> Part {
    Part::bytes(bytes.to_vec()).file_name(name.to_owned())
}

impl Runner {
    /// One of the instance, for every project that wants it.
    pub async fn shared(server: &Server, mut attributes: Value) -> Self {
        attributes["token"] = instance_token(server).await.into();
        Self::register(server, attributes).await
    }

    /// One of a project, with these attributes.
    pub async fn of(ground: &Ground, mut attributes: Value) -> Self {
        attributes["token"] = ground.runners_token().await.into();
        Self::register(&ground.server, attributes).await
    }

    /// Leaves an archive.
    pub async fn leave(&self, job: &Job, name: &str, bytes: &[u8]) -> Said {
        self.leave_form(job, "", Form::new().part("file", file(name, bytes))).await
    }

    /// `query` with its question mark.
    pub async fn leave_form(&self, job: &Job, query: &str, form: Form) -> Said {
        let url = format!("{}/api/v4/jobs/{}/artifacts{query}", self.base, job.id);
        said(self.client.post(url).header("JOB-TOKEN", &job.token).multipart(form)).await
    }

    /// What a build left, for whoever has this token.
    pub async fn fetch(&self, build: i64, token: &str) -> (u16, HeaderMap, Vec<u8>) {
        let url = format!("{}/api/v4/jobs/{build}/artifacts", self.base);
        let response = self.client.get(url).header("JOB-TOKEN", token).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.bytes().await.unwrap().to_vec())
    }
}

impl Job {
    pub fn name(&self) -> &str {
        self.body["job_info"]["name"].as_str().unwrap()
    }

    /// What the script finds under that name: of several the last.
    pub fn variable(&self, key: &str) -> Option<&Value> {
        self.body["variables"].as_array().unwrap().iter().rfind(|it| it["key"] == key)
    }

    pub fn value(&self, key: &str) -> Option<&str> {
        self.variable(key).map(|it| it["value"].as_str().unwrap())
    }
}
