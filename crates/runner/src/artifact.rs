//! Artifacts: those of earlier builds before the script, those of this build after it.
//!
//! Not with the crate's own uploader: that does not compress and loses the permissions of files.

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
use crate::server::{Server, complaint};

/// Patience with a server that is not at its best: this often, and longer if it says that it is away for now.
const ATTEMPTS: usize = 3;
const ATTEMPTS_WHEN_AWAY: usize = 6;
const PAUSE: Duration = Duration::from_secs(2);

/// None if there were none after all.
pub async fn download(server: &Server, dependency: &Dependency, scratch: &Path) -> anyhow::Result<Option<File>> {
    let url = server.url(&format!("jobs/{}/artifacts", dependency.id));
    let ask = || server.client.get(url.clone()).header("JOB-TOKEN", &dependency.token).send();
    let mut answer = patiently(ask).await?;
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(None),
        _ => bail!("{}", complaint(answer).await),
    }
    let file = tempfile::tempfile_in(scratch)?;
    let mut writer = tokio::fs::File::from_std(file);
    while let Some(chunk) = answer.chunk().await? {
        writer.write_all(&chunk).await?;
    }
    writer.flush().await?;
    Ok(Some(writer.into_std().await))
}

/// Answers only when the server has it.
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
    let answer = patiently(send).await?;
    match answer.status() {
        StatusCode::CREATED | StatusCode::OK => Ok(()),
        StatusCode::PAYLOAD_TOO_LARGE => bail!("the archive of {length} bytes is larger than the server takes"),
        _ => bail!("{}", complaint(answer).await),
    }
}

/// Tries again where that may help.
async fn patiently<E: Into<anyhow::Error>, F: Future<Output = Result<Response, E>>>(
    ask: impl Fn() -> F,
) -> anyhow::Result<Response> {
    let mut pause = tokio::time::interval(PAUSE);
    let mut attempt = 1;
    loop {
        pause.tick().await;
        let answer = ask().await;
        let allowed = match &answer {
            Ok(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE => ATTEMPTS_WHEN_AWAY,
            Ok(answer) if answer.status().is_server_error() => ATTEMPTS,
            Ok(_) => 0,
            Err(_) => ATTEMPTS,
        };
        if attempt >= allowed {
            return answer.map_err(Into::into);
        }
        attempt += 1;
    }
}
