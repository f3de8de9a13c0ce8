//! The commands of the CI runner. They need no database: a runner is a client of a server, usually on another machine.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use holdfast_runner::{Configuration, DEFAULT_FILE, Options, Registration, Signals};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use url::Url;

use super::{block_on, print};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Register this machine as a runner of a server.
    ///
    /// Writes the configuration file (--config, or holdfast-runner.toml in the working directory).
    Register(Register),
    /// Claim and execute builds.
    ///
    /// SIGTERM or ctrl-c stops the runner when its running builds have finished. A second signal aborts them.
    Run(Run),
    /// Remove this runner from the server, and delete the configuration file.
    Unregister,
}

#[derive(clap::Args)]
pub struct Register {
    /// URL of the server, as in a browser.
    #[arg(long)]
    url: Url,
    /// Registration token of a project or, for a shared runner, of the instance.
    #[arg(long, value_name = "TOKEN", env = "HOLDFAST_REGISTRATION_TOKEN", hide_env_values = true)]
    registration_token: String,
    /// Description in the list of runners [default: the host name]
    #[arg(long)]
    description: Option<String>,
    /// Tags of the runner. It claims only builds whose tags it has.
    #[arg(long, value_delimiter = ',', value_name = "TAG,TAG")]
    tags: Vec<String>,
    /// Also claim builds without tags. A runner without tags always does.
    #[arg(long)]
    run_untagged: bool,
    /// Directory for builds and caches [default: holdfast-runner beside the configuration file]
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Maximum number of concurrent builds.
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    concurrency: usize,
}

#[derive(clap::Args)]
pub struct Run {
    /// Exit after one build, or immediately if none is pending.
    #[arg(long)]
    once: bool,
    /// Maximum number of concurrent builds [default: from the configuration file]
    #[arg(long, value_parser = at_least_one)]
    concurrency: Option<usize>,
    /// Refuse to run builds if the kernel cannot sandbox their scripts.
    #[arg(long)]
    require_sandbox: bool,
}

/// The process that confines a script; started by the runner.
#[derive(clap::Args)]
pub struct Sandbox {
    #[arg(long)]
    inner: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|it| *it > 0).ok_or_else(|| "the number must be at least 1".to_owned())
}

/// Runs a runner command with the configuration file from --config, or the default one.
pub fn run(file: Option<&Path>, command: Command) -> anyhow::Result<()> {
    let file = std::path::absolute(file.unwrap_or(Path::new(DEFAULT_FILE)))?;
    init_log();
    match command {
        Command::Register(options) => block_on(register(&file, options)),
        Command::Run(options) => {
            tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run_builds(file, options))
        }
        Command::Unregister => block_on(unregister(&file)),
    }
}

pub fn sandbox(options: &Sandbox) -> ExitCode {
    holdfast_runner::sandbox::main(options.inner)
}

fn init_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,gitlab_runner=warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal()).init();
}

async fn register(file: &Path, options: Register) -> anyhow::Result<()> {
    if file.exists() {
        bail!(
            "{} already exists; run `holdfast runner unregister` first, or select another file with --config",
            file.display()
        );
    }
    let parent = file.parent().context("the configuration file must be in a directory")?;
    let directory = std::path::absolute(options.directory.unwrap_or_else(|| parent.join("holdfast-runner")))?;
    let registration = Registration {
        url: options.url.clone(),
        token: options.registration_token,
        description: options.description.or_else(hostname),
        tags: options.tags,
        run_untagged: options.run_untagged,
    };
    let token = holdfast_runner::register(&registration).await?;
    Configuration::new(options.url, token, directory, options.concurrency).save(file)?;
    print(format!(
        "Registered. {} contains the runner's token. Start the runner with `holdfast runner run`.",
        file.display()
    ))
}

fn hostname() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|it| !it.is_empty())
}

async fn unregister(file: &Path) -> anyhow::Result<()> {
    let configuration = Configuration::load(file)?;
    holdfast_runner::unregister(&configuration, file).await?;
    print(format!(
        "The runner was removed from the server. Builds and caches are still in {}.",
        configuration.directory.display()
    ))
}

async fn run_builds(file: PathBuf, options: Run) -> anyhow::Result<()> {
    let mut configuration = Configuration::load(&file)?;
    configuration.concurrency = options.concurrency.unwrap_or(configuration.concurrency);
    let signals = Signals::default();
    tokio::spawn(listen_for_signals(signals.clone()));
    let is_once = options.once;
    let options = Options {
        file,
        is_once,
        is_sandbox_required: options.require_sandbox,
        // This refers to the running program even if its file has been replaced by an upgrade.
        sandbox_command: vec!["/proc/self/exe".into(), "runner-sandbox".into()],
    };
    let claimed_count = holdfast_runner::run(configuration, options, signals).await?;
    if is_once && claimed_count == 0 {
        print("No build is pending for this runner.")?;
    }
    Ok(())
}

async fn listen_for_signals(signals: Signals) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    for token in [signals.stop, signals.kill] {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        token.cancel();
    }
    Ok(())
}
