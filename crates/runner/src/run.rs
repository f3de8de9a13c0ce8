//! The main loop of the runner: requests builds and starts them, until the runner is asked to stop.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use gitlab_runner::{GitlabLayer, RunnerBuilder};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::Registry;

use crate::VERSION;
use crate::build::{Build, RunnerContext};
use crate::configuration::Configuration;
use crate::directory::{self, Slots};
use crate::local_proxy::LocalProxy;
use crate::sandbox::{self, SandboxStatus};
use crate::server::Server;

pub struct Options {
    /// Configuration file, which is hidden from scripts because it contains the token.
    pub file: PathBuf,
    /// Whether to exit after one build, or immediately if none is pending.
    pub is_once: bool,
    pub is_sandbox_required: bool,
    /// Command line that starts the hidden command `runner-sandbox`.
    pub sandbox_command: Vec<OsString>,
}

/// The two ways to stop a runner.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Claim no more builds, and exit when the running builds have finished.
    pub stop: CancellationToken,
    /// Abort the running builds.
    pub kill: CancellationToken,
}

/// Number of consecutive rejections of the runner's token after which the runner exits. The number is arbitrary.
const MAX_REJECTIONS: usize = 3;

/// Runs builds until it is stopped. Returns the number of claimed builds.
pub async fn run(configuration: Configuration, options: Options, signals: Signals) -> anyhow::Result<usize> {
    reject_proxies(|name| std::env::var(name).ok())?;
    let protection = check_sandbox(&configuration, &options)?;
    let directory = &configuration.directory;
    directory::create(directory)?;
    let _lock = lock_directory(directory)?;
    // Delete files of a runner that was killed.
    let scratch = directory.join("scratch");
    directory::remove(&scratch)?;
    directory::create(&scratch)?;

    let server = Server::new(&configuration.url)?;
    let (proxy, url) = LocalProxy::start(server.clone(), signals.kill.clone()).await?;
    // The crate requires its tracing layer to exist. It is not installed, because its few messages are not useful.
    let (_layer, jobs) = GitlabLayer::new::<Registry>();
    let mut runner = RunnerBuilder::new(url, configuration.token.as_str(), scratch, jobs)
        .version(format!("holdfast-runner {VERSION}"))
        .platform(std::env::consts::OS)
        .architecture(std::env::consts::ARCH)
        .build()
        .await;
    let concurrency = if options.is_once { 1 } else { configuration.concurrency };
    let poll = Duration::from_secs(configuration.poll_seconds.max(1));
    let context = Arc::new(RunnerContext {
        hidden_paths: vec![options.file, directory.clone()],
        server,
        slots: Slots::default(),
        sandbox_command: options.sandbox_command,
        sandbox_status: protection,
        is_sandbox_required: options.is_sandbox_required || configuration.sandbox.require,
        stopped: signals.kill.clone(),
        configuration,
    });
    tracing::info!(url = %context.configuration.url, concurrency, ?protection, "waiting for builds");

    let mut claimed_count = 0;
    loop {
        tokio::select! {
            () = signals.stop.cancelled() => break,
            () = runner.wait_for_space(concurrency) => {}
        }
        let (build_context, build_proxy) = (context.clone(), proxy.clone());
        // The request is not interrupted by a stop signal: the server may have assigned a build, which must be run.
        let request = runner.request_job(move |job| async move {
            let job_state = build_proxy.find_job(job.id()).ok_or(())?;
            tracing::info!(build = job.id(), "build started");
            Ok(Build::new(build_context, job_state, job))
        });
        match request.await {
            Ok(true) => {
                claimed_count += 1;
                if options.is_once {
                    break;
                }
                continue;
            }
            Ok(false) if options.is_once => break,
            Ok(false) => {}
            Err(error) if options.is_once && proxy.rejection_count() == 0 => {
                return Err(error).context("cannot request a build from the server");
            }
            Err(error) => tracing::warn!(%error, "requesting a build failed, retrying"),
        }
        if proxy.rejection_count() >= if options.is_once { 1 } else { MAX_REJECTIONS } {
            runner.drain().await;
            bail!(
                "the server does not know this runner; delete the configuration file and run `holdfast runner register` again"
            );
        }
        tokio::time::timeout(poll, signals.stop.cancelled()).await.ok();
    }
    if runner.running() > 0 && signals.stop.is_cancelled() {
        tracing::info!(builds = runner.running(), "stopping, waiting for running builds to finish");
    }
    runner.drain().await;
    Ok(claimed_count)
}

/// Locks the runner's directory until the returned file is closed. Two runners in one directory would use the same
/// build directories.
fn lock_directory(directory: &Path) -> anyhow::Result<File> {
    let path = directory.join("lock");
    let file = File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?;
    if file.try_lock().is_err() {
        bail!("another runner uses {}; stop it, or set a different directory", directory.display());
    }
    Ok(file)
}

fn check_sandbox(configuration: &Configuration, options: &Options) -> anyhow::Result<SandboxStatus> {
    let protection = sandbox::detect_status();
    if protection == SandboxStatus::None {
        if options.is_sandbox_required || configuration.sandbox.require {
            bail!(
                "this kernel has no Landlock, so scripts cannot be sandboxed; to accept that, do not require a sandbox"
            );
        }
        tracing::warn!(
            "kernel has no Landlock: scripts are not sandboxed and have all permissions of the runner's user"
        );
    }
    if rustix::process::geteuid().is_root() {
        tracing::warn!("runner and build scripts run as root; run it as a dedicated user");
    }
    Ok(protection)
}

/// Fails if an HTTP proxy is configured for 127.0.0.1: the crate would send requests to the local proxy through it.
fn reject_proxies(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<()> {
    let first_set = |names: [&str; 2]| names.iter().find_map(|name| variable(name).filter(|it| !it.is_empty()));
    let proxy = first_set(["http_proxy", "HTTP_PROXY"]).or(first_set(["all_proxy", "ALL_PROXY"]));
    let exceptions = first_set(["no_proxy", "NO_PROXY"]).unwrap_or_default();
    let is_excepted = exceptions.split(',').any(|it| matches!(it.trim(), "*" | "127.0.0.1" | "127.0.0.0/8"));
    if proxy.is_some() && !is_excepted {
        bail!("an HTTP proxy is set; add 127.0.0.1 to NO_PROXY, because the runner connects to itself at that address");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_for_loopback_are_rejected() {
        let with = |set: &'static [(&str, &str)]| {
            reject_proxies(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(with(&[]).is_ok());
        assert!(with(&[("HTTP_PROXY", "http://p:3128")]).is_err());
        assert!(with(&[("https_proxy", "http://p:3128")]).is_ok());
        assert!(with(&[("http_proxy", "http://p:3128"), ("NO_PROXY", "localhost, 127.0.0.1")]).is_ok());
    }

    #[test]
    fn a_directory_is_locked_by_one_runner() {
        let directory = tempfile::tempdir().unwrap();
        let first = lock_directory(directory.path()).unwrap();
        assert!(lock_directory(directory.path()).is_err());
        drop(first);
        assert!(lock_directory(directory.path()).is_ok());
    }
}
