//! Asks for builds until told to stop.

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
use crate::build::{Build, Site};
use crate::configuration::Configuration;
use crate::directory::{self, Slots};
use crate::relay::Relay;
use crate::sandbox::{self, Protection};
use crate::server::Server;

pub struct Options {
    /// Where the configuration is kept: not for scripts to read.
    pub file: PathBuf,
    /// End after one build, or at once if none waits.
    pub is_once: bool,
    pub is_sandbox_required: bool,
    /// How the hidden command `runner-sandbox` is started.
    pub sandbox: Vec<OsString>,
}

#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Take no more builds.
    pub stop: CancellationToken,
    /// End those that run.
    pub kill: CancellationToken,
}

/// So often in a row a server may say that it does not know the runner.
const REFUSALS: usize = 3;

/// Answers how many builds were taken.
pub async fn run(configuration: Configuration, options: Options, signals: Signals) -> anyhow::Result<usize> {
    refuse_proxies(|name| std::env::var(name).ok())?;
    let protection = check_protection(&configuration, &options)?;
    let directory = &configuration.directory;
    directory::make(directory)?;
    let _lock = lock(directory)?;
    // What a runner that was killed has left.
    let scratch = directory.join("scratch");
    directory::clear(&scratch)?;
    directory::make(&scratch)?;

    let server = Server::new(&configuration.url)?;
    let (relay, url) = Relay::start(server.clone(), signals.kill.clone()).await?;
    // The crate wants its layer for messages of its own, which are few and not for people.
    let (_layer, jobs) = GitlabLayer::new::<Registry>();
    let mut runner = RunnerBuilder::new(url, configuration.token.as_str(), scratch, jobs)
        .version(format!("holdfast-runner {VERSION}"))
        .platform(std::env::consts::OS)
        .architecture(std::env::consts::ARCH)
        .build()
        .await;
    let concurrency = if options.is_once { 1 } else { configuration.concurrency };
    let poll = Duration::from_secs(configuration.poll_seconds.max(1));
    let site = Arc::new(Site {
        hidden: vec![options.file, directory.clone()],
        server,
        slots: Slots::default(),
        sandbox: options.sandbox,
        protection,
        is_sandbox_required: options.is_sandbox_required || configuration.sandbox.require,
        stopped: signals.kill.clone(),
        configuration,
    });
    tracing::info!(url = %site.configuration.url, concurrency, ?protection, "waiting for builds");

    let mut taken = 0;
    loop {
        tokio::select! {
            () = signals.stop.cancelled() => break,
            () = runner.wait_for_space(concurrency) => {}
        }
        let (for_build, tickets) = (site.clone(), relay.clone());
        // Not to be interrupted: a build that the server has given must be run.
        let asked = runner.request_job(move |job| async move {
            let ticket = tickets.ticket(job.id()).ok_or(())?;
            tracing::info!(build = job.id(), "running");
            Ok(Build::new(for_build, ticket, job))
        });
        match asked.await {
            Ok(true) => {
                taken += 1;
                if options.is_once {
                    break;
                }
                continue;
            }
            Ok(false) if options.is_once => break,
            Ok(false) => {}
            Err(error) if options.is_once && relay.refusals() == 0 => {
                return Err(error).context("the server could not be asked for a build");
            }
            Err(error) => tracing::warn!(%error, "the server could not be asked for a build"),
        }
        if relay.refusals() >= if options.is_once { 1 } else { REFUSALS } {
            runner.drain().await;
            bail!("the server does not know this runner; remove the configuration file and register again");
        }
        tokio::time::timeout(poll, signals.stop.cancelled()).await.ok();
    }
    if runner.running() > 0 && signals.stop.is_cancelled() {
        tracing::info!(builds = runner.running(), "stopping when the running builds have ended");
    }
    runner.drain().await;
    Ok(taken)
}

/// Two runners in one directory would build over each other.
fn lock(directory: &Path) -> anyhow::Result<File> {
    let path = directory.join("lock");
    let file = File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?;
    if file.try_lock().is_err() {
        bail!("another runner uses {}; stop it, or set another directory", directory.display());
    }
    Ok(file)
}

fn check_protection(configuration: &Configuration, options: &Options) -> anyhow::Result<Protection> {
    let protection = sandbox::protection();
    if protection == Protection::None {
        if options.is_sandbox_required || configuration.sandbox.require {
            bail!(
                "this kernel has no Landlock, so scripts cannot be confined; run without --require-sandbox to accept that"
            );
        }
        tracing::warn!("this kernel has no Landlock: scripts can do whatever the runner's user can");
    }
    if rustix::process::geteuid().is_root() {
        tracing::warn!("the runner runs as root, and so do the scripts; give it a user of its own");
    }
    Ok(protection)
}

/// The protocol passes through an address of this machine, and the crate would look for it behind the proxy.
fn refuse_proxies(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<()> {
    let any = |names: [&str; 2]| names.iter().find_map(|name| variable(name).filter(|it| !it.is_empty()));
    let proxy = any(["http_proxy", "HTTP_PROXY"]).or(any(["all_proxy", "ALL_PROXY"]));
    let exceptions = any(["no_proxy", "NO_PROXY"]).unwrap_or_default();
    let is_excepted = exceptions.split(',').any(|it| matches!(it.trim(), "*" | "127.0.0.1" | "127.0.0.0/8"));
    if proxy.is_some() && !is_excepted {
        bail!("a proxy is set for HTTP; add 127.0.0.1 to NO_PROXY, through which the runner speaks to itself");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_must_leave_the_machine_itself_alone() {
        let with = |set: &'static [(&str, &str)]| {
            refuse_proxies(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(with(&[]).is_ok());
        assert!(with(&[("HTTP_PROXY", "http://p:3128")]).is_err());
        assert!(with(&[("https_proxy", "http://p:3128")]).is_ok());
        assert!(with(&[("http_proxy", "http://p:3128"), ("NO_PROXY", "localhost, 127.0.0.1")]).is_ok());
    }

    #[test]
    fn a_directory_has_one_runner() {
        let directory = tempfile::tempdir().unwrap();
        let first = lock(directory.path()).unwrap();
        assert!(lock(directory.path()).is_err());
        drop(first);
        assert!(lock(directory.path()).is_ok());
    }
}
