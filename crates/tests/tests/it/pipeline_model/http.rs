//! Both APIs over persistent connections: one connection for each of so many requests would exhaust the ports of the
//! machine.

use holdfast_tests::{Client, TestResponse};
use serde_json::Value;

#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    base: String,
}

impl Http {
    pub fn new(base: &str) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { client, base: base.to_owned() }
    }

    /// Sends a request to the v3 API; `path` is below `/api/v3`.
    pub async fn v3(&self, caller: &Client, method: &str, path: &str, form: &[(&str, &str)]) -> TestResponse {
        let request = self.client.request(method.parse().unwrap(), format!("{}/api/v3{path}", self.base));
        let request = request.header("PRIVATE-TOKEN", caller.token());
        send(if method == "GET" { request } else { request.form(form) }).await
    }

    /// Sends a request of the runner protocol; `path` is below `/api/v4`.
    pub async fn v4(&self, method: &str, path: &str, body: &Value) -> TestResponse {
        let request = self.client.request(method.parse().unwrap(), format!("{}/api/v4{path}", self.base));
        send(request.json(body)).await
    }

    /// Appends to the trace of a build.
    pub async fn append(&self, build: i64, token: &str, start: usize, text: &'static str) -> TestResponse {
        let request = self.client.patch(format!("{}/api/v4/jobs/{build}/trace", self.base));
        let end = start + text.len() - 1;
        let request = request.header("JOB-TOKEN", token).header("Content-Range", format!("{start}-{end}"));
        send(request.header("Content-Type", "text/plain").body(text)).await
    }
}

async fn send(request: reqwest::RequestBuilder) -> TestResponse {
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.expect("a readable body");
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    TestResponse { status, headers, body, text }
}
