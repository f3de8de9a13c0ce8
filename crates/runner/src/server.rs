//! Requests that the runner makes itself.

use std::time::Duration;

use anyhow::Context as _;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use url::Url;

use crate::VERSION;

#[derive(Clone, Debug)]
pub struct Server {
    pub client: Client,
    base: Url,
}

impl Server {
    pub fn new(url: &Url) -> anyhow::Result<Server> {
        let client = Client::builder()
            .user_agent(format!("holdfast-runner {VERSION} ({}/{})", std::env::consts::OS, std::env::consts::ARCH))
            .connect_timeout(Duration::from_secs(15))
            .read_timeout(Duration::from_secs(120))
            // Tokens go to the server that was named and to no other.
            .redirect(Policy::none())
            .build()?;
        Ok(Server { client, base: base(url)? })
    }

    pub fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/api/v4/{path}", self.base.path().trim_end_matches('/')));
        url
    }
}

/// Without what people paste along: a slash, or the /ci of old servers.
fn base(url: &Url) -> anyhow::Result<Url> {
    let mut base = url.clone();
    url.host().filter(|_| matches!(url.scheme(), "http" | "https")).with_context(|| {
        format!("{url} is not the address of a server; give the one people open, such as https://git.example")
    })?;
    let path = url.path().trim_end_matches('/');
    base.set_path(path.strip_suffix("/ci").unwrap_or(path));
    base.set_query(None);
    base.set_fragment(None);
    Ok(base)
}

/// What a server said instead of what was hoped for.
pub async fn complaint(answer: Response) -> String {
    let status = answer.status();
    let location = answer.headers().get("location").and_then(|it| it.to_str().ok()).map(str::to_owned);
    if let Some(location) = location.filter(|_| status.is_redirection()) {
        return format!("{status}, moved to {location}: use that address");
    }
    let body = answer.text().await.unwrap_or_default();
    let body: String = body.chars().take(300).collect();
    if body.trim().is_empty() { status.to_string() } else { format!("{status}: {}", body.trim()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_people_paste_them() {
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
