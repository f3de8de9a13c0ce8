//! Helpers of several CI tests.

use holdfast_domain::ids::UserId;
use holdfast_tests::{Client, Server, WorkTree};
use reqwest::header::HeaderMap;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use super::{CiFixture, Job, Runner, RunnerResponse, send_request};

/// A CI file with builds of two stages.
pub const STAGES: &str = "
stages: [build, test]
first: {stage: build, script: make, artifacts: {paths: [out]}}
second: {stage: test, script: check}
";

impl CiFixture {
    /// Returns the registration token of the project.
    pub async fn registration_token(&self) -> String {
        let project = self.ada.get(&self.path("")).await;
        project.body["runners_token"].as_str().unwrap().to_owned()
    }

    /// Creates a user who is a member of the project.
    pub async fn add_member(&self, name: &str, level: &str) -> (UserId, Client) {
        let (id, client) = self.server.user(name).await;
        let form = [("user_id", &*id.to_string()), ("access_level", level)];
        let added = self.ada.post(&self.path("/members"), &form).await;
        assert_eq!(added.status, 201, "{}", added.text);
        (id, client)
    }

    /// Creates another private project of ada's with this CI file, and its first pipeline.
    pub async fn another_project(&self, path: &str, file: &str) -> i64 {
        let project = self.server.project(&self.ada, path, 0).await;
        let tree = WorkTree::new().await;
        tree.commit(".gitlab-ci.yml", file.as_bytes(), "First").await;
        tree.push(&self.server.git_url(&self.ada, &format!("ada/{path}")), &["main"]).await.ok();
        self.server.run_jobs().await;
        project
    }

    /// Creates another pipeline of `main`.
    pub async fn start_pipeline(&self) -> Value {
        let response = self.ada.post(&self.path("/pipeline"), &[("ref", "main")]).await;
        assert_eq!(response.status, 201, "{}", response.text);
        response.body
    }

    /// Adds this project to the job token allowlist of `target`, which `master` manages.
    pub async fn allow_job_tokens(&self, master: &Client, target: &str) {
        let form = [("target_project_id", &*self.project.to_string())];
        let added = master.post(&format!("/projects/{target}/job_token_scope/allowlist"), &form).await;
        assert_eq!(added.status, 201, "{}", added.text);
    }

    pub async fn update_setting(&self, name: &str, value: &str) {
        let saved = self.ada.put(&self.path(""), &[(name, value)]).await;
        assert_eq!(saved.status, 200, "{}", saved.text);
    }
}

/// Returns the registration token of the instance.
pub async fn instance_token(server: &Server) -> String {
    let query = "select token from runner_registration";
    sqlx::query_scalar(query).fetch_one(&mut server.database().await).await.unwrap()
}

/// Returns the number of rows of a table.
pub async fn count_rows(server: &Server, table: &str) -> usize {
    server.dump_database().await[table].as_array().unwrap().len()
}

/// Returns the number of objects of a kind in the object store.
pub fn count_stored(server: &Server, kind: &str) -> usize {
    std::fs::read_dir(server.directory.path().join(kind)).map_or(0, Iterator::count)
}

pub fn file_part(name: &str, bytes: &[u8]) -> Part {
    Part::bytes(bytes.to_vec()).file_name(name.to_owned())
}

impl Runner {
    /// Registers a shared runner.
    pub async fn register_shared(server: &Server, mut attributes: Value) -> Self {
        attributes["token"] = instance_token(server).await.into();
        Self::register(server, attributes).await
    }

    /// Registers a runner of the project with these attributes.
    pub async fn register_for(fixture: &CiFixture, mut attributes: Value) -> Self {
        attributes["token"] = fixture.registration_token().await.into();
        Self::register(&fixture.server, attributes).await
    }

    /// Uploads artifacts.
    pub async fn upload_artifacts(&self, job: &Job, name: &str, bytes: &[u8]) -> RunnerResponse {
        self.upload_form(job, "", Form::new().part("file", file_part(name, bytes))).await
    }

    /// Uploads a multipart form; `query` includes its question mark.
    pub async fn upload_form(&self, job: &Job, query: &str, form: Form) -> RunnerResponse {
        let url = format!("{}/api/v4/jobs/{}/artifacts{query}", self.base, job.id);
        send_request(self.client.post(url).header("JOB-TOKEN", &job.token).multipart(form)).await
    }

    /// Downloads the artifacts of a build with a token.
    pub async fn download_artifacts(&self, build: i64, token: &str) -> (u16, HeaderMap, Vec<u8>) {
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

    /// Returns the variable that the script gets: the last one of this name.
    pub fn variable(&self, key: &str) -> Option<&Value> {
        self.body["variables"].as_array().unwrap().iter().rfind(|it| it["key"] == key)
    }

    pub fn value(&self, key: &str) -> Option<&str> {
        self.variable(key).map(|it| it["value"].as_str().unwrap())
    }
}
