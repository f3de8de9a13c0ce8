//! Registers a runner with a server and removes it again, which the crate `gitlab-runner` does not support.

use std::path::Path;

use anyhow::{Context as _, bail};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::VERSION;
use crate::configuration::Configuration;
use crate::server::{Server, error_text};

pub struct Registration {
    pub url: Url,
    pub token: String,
    pub description: Option<String>,
    pub tags: Vec<String>,
    pub run_untagged: bool,
}

#[derive(Deserialize)]
struct RegisterResponse {
    token: String,
}

/// Prefix of authentication tokens of runners that were created on the server. Such a runner is only verified.
const RUNNER_TOKEN_PREFIX: &str = "glrt-";

/// Registers a runner and returns its authentication token.
pub async fn register(registration: &Registration) -> anyhow::Result<String> {
    let server = Server::new(&registration.url)?;
    let info = json!({
        "name": "holdfast-runner",
        "version": VERSION,
        "platform": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "executor": "shell",
    });
    let has_runner_token = registration.token.starts_with(RUNNER_TOKEN_PREFIX);
    let (path, body) = if has_runner_token {
        ("runners/verify", json!({ "token": registration.token, "info": info }))
    } else {
        let body = json!({
            "token": registration.token,
            "description": registration.description,
            "tag_list": registration.tags.join(","),
            // A runner without tags that rejects untagged builds would never claim a build.
            "run_untagged": registration.run_untagged || registration.tags.is_empty(),
            "locked": false,
            "info": info,
        });
        ("runners", body)
    };
    let url = server.url(path);
    let response = server.client.post(url).json(&body).send().await;
    let response = response.with_context(|| format!("{} cannot be reached; check --url", registration.url))?;
    match response.status() {
        StatusCode::CREATED | StatusCode::OK => {}
        StatusCode::FORBIDDEN => bail!(
            "the server does not accept this registration token; copy it from the settings of the project or, for a \
             shared runner, ask an administrator for it"
        ),
        _ => bail!("the server refused to register a runner: {}", error_text(response).await),
    }
    if has_runner_token {
        return Ok(registration.token.clone());
    }
    let registered: RegisterResponse = response.json().await.context("the response of the server is invalid")?;
    Ok(registered.token)
}

/// Removes the runner from the server, and then deletes its configuration file. The file is deleted last, so that a
/// failed attempt can be repeated.
pub async fn unregister(configuration: &Configuration, file: &Path) -> anyhow::Result<()> {
    let server = Server::new(&configuration.url)?;
    let request = server.client.delete(server.url("runners")).json(&json!({ "token": configuration.token }));
    let response = request.send().await.with_context(|| format!("{} cannot be reached", configuration.url))?;
    match response.status() {
        StatusCode::NO_CONTENT | StatusCode::OK => {}
        // The runner was already removed on the server.
        StatusCode::FORBIDDEN => tracing::warn!("runner was already unregistered on the server"),
        _ => bail!("the server refused to remove the runner: {}", error_text(response).await),
    }
    std::fs::remove_file(file).with_context(|| format!("{} cannot be removed; delete it by hand", file.display()))
}
