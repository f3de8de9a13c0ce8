//! Downloads artifacts of earlier builds and uploads the artifacts of this build.
//!
//! The uploader of the crate `gitlab-runner` is not used: it does not compress, and it loses file permissions.

use std::fs::File;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Response, StatusCode};
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;

use crate::payload::{Artifact, Dependency, Payload};
use crate::server::{Server, error_text};

/// Maximum number of attempts after connection errors and 5xx responses.
const MAX_ATTEMPTS: usize = 3;
/// Maximum number of attempts after 503 responses, which announce a temporary condition.
const MAX_ATTEMPTS_UNAVAILABLE: usize = 6;
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Downloads the artifacts of a dependency to an unnamed file in `scratch`. Returns `None` if the server has none.
pub async fn download(server: &Server, dependency: &Dependency, scratch: &Path) -> anyhow::Result<Option<File>> {
    let url = server.url(&format!("jobs/{}/artifacts", dependency.id));
    let send = || server.client.get(url.clone()).header("JOB-TOKEN", &dependency.token).send();
    let mut response = with_retries(send).await?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(None),
        _ => bail!("{}", error_text(response).await),
    }
    let file = tempfile::tempfile_in(scratch)?;
    let mut writer = tokio::fs::File::from_std(file);
    while let Some(chunk) = response.chunk().await? {
        writer.write_all(&chunk).await?;
    }
    writer.flush().await?;
    Ok(Some(writer.into_std().await))
}

/// Uploads an archive as artifacts of the build. Returns when the server has stored it.
pub async fn upload(
    server: &Server,
    payload: &Payload,
    artifact: &Artifact,
    name: &str,
    file: &File,
) -> anyhow::Result<()> {
    let length = file.metadata()?.len();
    let url = server.url(&format!("jobs/{}/artifacts", payload.id));
    let send = || async {
        let mut file = file.try_clone().context("the archive cannot be read")?;
        std::io::Seek::rewind(&mut file)?;
        let body = Body::wrap_stream(ReaderStream::new(tokio::fs::File::from_std(file)));
        let mut form = Form::new()
            .part("file", Part::stream_with_length(body, length).file_name(format!("{name}.zip")))
            .text("artifact_format", "zip")
            .text("artifact_type", artifact.artifact_type.clone().unwrap_or_else(|| "archive".to_owned()));
        if let Some(expire_in) = artifact.expire_in.clone().filter(|it| !it.is_empty()) {
            form = form.text("expire_in", expire_in);
        }
        let request = server.client.post(url.clone()).header("JOB-TOKEN", &payload.token).multipart(form);
        anyhow::Ok(request.send().await?)
    };
    let response = with_retries(send).await?;
    match response.status() {
        StatusCode::CREATED | StatusCode::OK => Ok(()),
        StatusCode::PAYLOAD_TOO_LARGE => {
            bail!("the archive of {length} bytes exceeds the limit of the server (ci.max_artifact_bytes)")
        }
        _ => bail!("{}", error_text(response).await),
    }
}

/// Sends a request until it succeeds, fails for a reason that a retry does not change, or has used up its attempts.
async fn with_retries<E: Into<anyhow::Error>, F: Future<Output = Result<Response, E>>>(
    send: impl Fn() -> F,
) -> anyhow::Result<Response> {
    let mut interval = tokio::time::interval(RETRY_INTERVAL);
    let mut attempt = 1;
    loop {
        interval.tick().await;
        let response = send().await;
        let max_attempts = match &response {
            Ok(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE => MAX_ATTEMPTS_UNAVAILABLE,
            Ok(answer) if answer.status().is_server_error() => MAX_ATTEMPTS,
            Ok(_) => 0,
            Err(_) => MAX_ATTEMPTS,
        };
        if attempt >= max_attempts {
            return response.map_err(Into::into);
        }
        attempt += 1;
    }
}
