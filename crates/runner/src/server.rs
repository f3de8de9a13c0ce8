//! The HTTP client for requests that the runner sends to the server itself.

use std::time::Duration;

use anyhow::Context as _;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use url::Url;

use crate::VERSION;

#[derive(Clone, Debug)]
pub struct Server {
    pub client: Client,
    base_url: Url,
}

impl Server {
    pub fn new(url: &Url) -> anyhow::Result<Server> {
        let client = Client::builder()
            .user_agent(format!("holdfast-runner {VERSION} ({}/{})", std::env::consts::OS, std::env::consts::ARCH))
            .connect_timeout(Duration::from_secs(15))
            .read_timeout(Duration::from_secs(120))
            // A redirect could send tokens to another server.
            .redirect(Policy::none())
            .build()?;
        Ok(Server { client, base_url: normalize_base_url(url)? })
    }

    pub fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        url.set_path(&format!("{}/api/v4/{path}", self.base_url.path().trim_end_matches('/')));
        url
    }
}

/// Removes what users commonly paste along: a trailing slash, the path /ci of old servers, query and fragment.
fn normalize_base_url(url: &Url) -> anyhow::Result<Url> {
    let mut base = url.clone();
    url.host().filter(|_| matches!(url.scheme(), "http" | "https")).with_context(|| {
        format!("{url} is not the URL of a server; use the one that a browser opens, such as https://git.example")
    })?;
    let path = url.path().trim_end_matches('/');
    base.set_path(path.strip_suffix("/ci").unwrap_or(path));
    base.set_query(None);
    base.set_fragment(None);
    Ok(base)
}

/// Describes an unexpected response: its status, and the redirect target or the beginning of the body.
pub async fn error_text(response: Response) -> String {
    let status = response.status();
    let location = response.headers().get("location").and_then(|it| it.to_str().ok()).map(str::to_owned);
    if let Some(location) = location.filter(|_| status.is_redirection()) {
        return format!("{status}, moved to {location}: use this URL");
    }
    let body = response.text().await.unwrap_or_default();
    let body: String = body.chars().take(300).collect();
    if body.trim().is_empty() { status.to_string() } else { format!("{status}: {}", body.trim()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_urls_are_normalized() {
        for (pasted, expected) in [
            ("https://git.example", "https://git.example/api/v4/runners"),
            ("https://git.example/ci/", "https://git.example/api/v4/runners"),
            ("http://host:8080/code/", "http://host:8080/code/api/v4/runners"),
        ] {
            assert_eq!(Server::new(&pasted.parse().unwrap()).unwrap().url("runners").as_str(), expected);
        }
        assert!(Server::new(&"git@git.example:x".parse().unwrap_or("ssh://git.example".parse().unwrap())).is_err());
    }
}
