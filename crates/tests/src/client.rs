use std::sync::LazyLock;

use reqwest::header::HeaderMap;
use serde_json::Value;

/// A client of the API with one token, or anonymous. Paths are relative to `/api/v3`, unless they begin with `/api/`.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    token: Option<String>,
}

#[derive(Debug)]
pub struct TestResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The parsed JSON body, or null if the body is empty or not JSON.
    pub body: Value,
    pub text: String,
}

impl TestResponse {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a readable header"))
    }

    /// Returns status and body as a pair, for one assertion.
    pub fn status_and_body(&self) -> (u16, &Value) {
        (self.status, &self.body)
    }

    pub fn ids(&self) -> Vec<i64> {
        let items = self.body.as_array().unwrap_or_else(|| panic!("no list: {}", self.text));
        items.iter().map(|item| item["id"].as_i64().expect("an id")).collect()
    }
}

pub type Form<'a> = &'a [(&'a str, &'a str)];

impl Client {
    pub(crate) fn new(base: &str, token: Option<&str>) -> Self {
        // Every request opens a new connection, so tests cannot affect each other through a pooled one. Building a client
        // takes longer than most requests.
        static HTTP: LazyLock<reqwest::Client> = LazyLock::new(|| {
            reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client")
        });
        Self { http: HTTP.clone(), base_url: base.to_owned(), token: token.map(str::to_owned) }
    }

    /// Returns a client with the same token for another node, given by host and port.
    pub fn for_node(&self, node: &str) -> Self {
        Self { base_url: format!("http://{node}"), ..self.clone() }
    }

    pub fn token(&self) -> &str {
        self.token.as_deref().expect("a client with a token")
    }

    pub fn token_opt(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns a request that the test completes and sends; `path` is relative to `/api/v3`, or begins with `/api/`.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("a method");
        let prefix = if path.starts_with("/api/") { "" } else { "/api/v3" };
        let request = self.http.request(method, format!("{}{prefix}{path}", self.base_url));
        match &self.token {
            Some(token) => request.header("PRIVATE-TOKEN", token),
            None => request,
        }
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> TestResponse {
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a readable body");
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or(Value::Null),
        };
        TestResponse { status, headers, body, text }
    }

    pub async fn get(&self, path: &str) -> TestResponse {
        self.send(self.request("GET", path)).await
    }

    pub async fn post(&self, path: &str, form: Form<'_>) -> TestResponse {
        self.send(self.request("POST", path).form(form)).await
    }

    pub async fn put(&self, path: &str, form: Form<'_>) -> TestResponse {
        self.send(self.request("PUT", path).form(form)).await
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send(self.request("DELETE", path)).await
    }
}
