//! Becoming known to a server, and being forgotten. The crate `gitlab-runner` does neither.

use std::path::Path;

use anyhow::{Context as _, bail};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::VERSION;
use crate::configuration::Configuration;
use crate::server::{Server, complaint};

pub struct Registration {
    pub url: Url,
    pub token: String,
    pub description: Option<String>,
    pub tags: Vec<String>,
    pub run_untagged: bool,
}

#[derive(Deserialize)]
struct Registered {
    token: String,
}

/// A token that starts so belongs to a runner that was made on the server.
const MADE_ON_THE_SERVER: &str = "glrt-";

/// Answers the runner's own token.
pub async fn register(registration: &Registration) -> anyhow::Result<String> {
    let server = Server::new(&registration.url)?;
    let info = json!({
        "name": "holdfast-runner",
        "version": VERSION,
        "platform": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "executor": "shell",
    });
    let is_made = registration.token.starts_with(MADE_ON_THE_SERVER);
    let (path, body) = if is_made {
        ("runners/verify", json!({ "token": registration.token, "info": info }))
    } else {
        let body = json!({
            "token": registration.token,
            "description": registration.description,
            "tag_list": registration.tags.join(","),
            // A runner that has no tags and takes no untagged build would never do anything.
            "run_untagged": registration.run_untagged || registration.tags.is_empty(),
            "locked": false,
            "info": info,
        });
        ("runners", body)
    };
    let url = server.url(path);
    let answer = server.client.post(url).json(&body).send().await;
    let answer = answer.with_context(|| format!("{} cannot be reached; check --url", registration.url))?;
    match answer.status() {
        StatusCode::CREATED | StatusCode::OK => {}
        StatusCode::FORBIDDEN => bail!(
            "the server does not know this registration token; copy it anew from the settings of the project or, \
             for a shared runner, from an administrator"
        ),
        _ => bail!("the server refused to register a runner: {}", complaint(answer).await),
    }
    if is_made {
        return Ok(registration.token.clone());
    }
    let registered: Registered = answer.json().await.context("the server's answer cannot be understood")?;
    Ok(registered.token)
}

/// The configuration file goes last: as long as it is there, this can be tried again.
pub async fn unregister(configuration: &Configuration, file: &Path) -> anyhow::Result<()> {
    let server = Server::new(&configuration.url)?;
    let request = server.client.delete(server.url("runners")).json(&json!({ "token": configuration.token }));
    let answer = request.send().await.with_context(|| format!("{} cannot be reached", configuration.url))?;
    match answer.status() {
        StatusCode::NO_CONTENT | StatusCode::OK => {}
        // Somebody has removed it on the server.
        StatusCode::FORBIDDEN => tracing::warn!("the server did not know this runner any more"),
        _ => bail!("the server refused to remove the runner: {}", complaint(answer).await),
    }
    std::fs::remove_file(file).with_context(|| format!("{} cannot be removed; delete it yourself", file.display()))
}
