use reqwest::header::HeaderMap;
use serde_json::Value;

/// Calls `/api/v3` with one token, or none.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// Null when there is none.
    pub body: Value,
    pub text: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a readable header"))
    }

    /// Status and body at once.
    pub fn both(&self) -> (u16, &Value) {
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
        // A connection for each request: what one test does to a connection is not felt by the next.
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
        Self { http, base: base.to_owned(), token: token.map(str::to_owned) }
    }

    /// The same caller at another node, named by host and port.
    pub fn at(&self, node: &str) -> Self {
        Self { base: format!("http://{node}"), ..self.clone() }
    }

    pub fn token(&self) -> &str {
        self.token.as_deref().expect("a client with a token")
    }

    pub fn has_token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// A request to be completed by the test; `path` is below `/api/v3`.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("a method");
        let request = self.http.request(method, format!("{}/api/v3{path}", self.base));
        match &self.token {
            Some(token) => request.header("PRIVATE-TOKEN", token),
            None => request,
        }
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a readable body");
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or(Value::Null),
        };
        Answer { status, headers, body, text }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path)).await
    }

    pub async fn post(&self, path: &str, form: Form<'_>) -> Answer {
        self.send(self.request("POST", path).form(form)).await
    }

    pub async fn put(&self, path: &str, form: Form<'_>) -> Answer {
        self.send(self.request("PUT", path).form(form)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request("DELETE", path)).await
    }
}
