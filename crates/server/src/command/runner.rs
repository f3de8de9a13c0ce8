//! Executes builds. Needs no database: a runner is a client of a server, mostly on another machine.

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
    /// Make this machine known to a server, and write the configuration file (--config, or
    /// holdfast-runner.toml in the working directory).
    Register(Register),
    /// Take builds and execute them until told to stop (SIGTERM or ctrl-c; a second one ends what runs).
    Run(Run),
    /// Have the server forget this runner, and remove the configuration file.
    Unregister,
}

#[derive(clap::Args)]
pub struct Register {
    /// The server, as people open it.
    #[arg(long)]
    url: Url,
    /// From the settings of a project, or for a shared runner from an administrator.
    #[arg(long, value_name = "TOKEN", env = "HOLDFAST_REGISTRATION_TOKEN", hide_env_values = true)]
    registration_token: String,
    /// What people see in the list of runners [default: the name of this machine]
    #[arg(long)]
    description: Option<String>,
    /// Builds with tags come only to runners that have them all.
    #[arg(long, value_delimiter = ',', value_name = "TAG,TAG")]
    tags: Vec<String>,
    /// Take builds without tags too. A runner without tags always does.
    #[arg(long)]
    run_untagged: bool,
    /// Where builds and caches are kept [default: holdfast-runner beside the configuration file]
    #[arg(long)]
    directory: Option<PathBuf>,
    /// How many builds run at the same time.
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    concurrency: usize,
}

#[derive(clap::Args)]
pub struct Run {
    /// End after one build, or at once if none waits.
    #[arg(long)]
    once: bool,
    /// How many builds run at the same time; the configuration file says it otherwise.
    #[arg(long, value_parser = at_least_one)]
    concurrency: Option<usize>,
    /// Run nothing where the kernel cannot confine scripts.
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
    text.parse().ok().filter(|it| *it > 0).ok_or_else(|| "give a number of 1 or more".to_owned())
}

/// `file` is what --config says.
pub fn run(file: Option<&Path>, command: Command) -> anyhow::Result<()> {
    let file = std::path::absolute(file.unwrap_or(Path::new(DEFAULT_FILE)))?;
    start_log();
    match command {
        Command::Register(options) => block_on(register(&file, options)),
        Command::Run(options) => {
            tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(take_builds(file, options))
        }
        Command::Unregister => block_on(unregister(&file)),
    }
}

pub fn sandbox(options: &Sandbox) -> ExitCode {
    holdfast_runner::sandbox::main(options.inner)
}

fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,gitlab_runner=warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal()).init();
}

async fn register(file: &Path, options: Register) -> anyhow::Result<()> {
    if file.exists() {
        bail!(
            "{} is there already; run `holdfast runner unregister` first, or name another file with --config",
            file.display()
        );
    }
    let beside = file.parent().context("the configuration file needs a directory")?;
    let directory = std::path::absolute(options.directory.unwrap_or_else(|| beside.join("holdfast-runner")))?;
    let registration = Registration {
        url: options.url.clone(),
        token: options.registration_token,
        description: options.description.or_else(machine),
        tags: options.tags,
        run_untagged: options.run_untagged,
    };
    let token = holdfast_runner::register(&registration).await?;
    Configuration::new(options.url, token, directory, options.concurrency).save(file)?;
    print(format!("Registered. {} holds the runner's token; start it with `holdfast runner run`.", file.display()))
}

fn machine() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|it| !it.is_empty())
}

async fn unregister(file: &Path) -> anyhow::Result<()> {
    let configuration = Configuration::load(file)?;
    holdfast_runner::unregister(&configuration, file).await?;
    print(format!(
        "The server has forgotten this runner. Builds and caches are still in {}.",
        configuration.directory.display()
    ))
}

async fn take_builds(file: PathBuf, options: Run) -> anyhow::Result<()> {
    let mut configuration = Configuration::load(&file)?;
    configuration.concurrency = options.concurrency.unwrap_or(configuration.concurrency);
    let signals = Signals::default();
    tokio::spawn(listen(signals.clone()));
    let is_once = options.once;
    let options = Options {
        file,
        is_once,
        is_sandbox_required: options.require_sandbox,
        // The program that runs now, even if its file has been replaced by a newer one.
        sandbox: vec!["/proc/self/exe".into(), "runner-sandbox".into()],
    };
    let taken = holdfast_runner::run(configuration, options, signals).await?;
    if is_once && taken == 0 {
        print("No build is waiting for this runner.")?;
    }
    Ok(())
}

async fn listen(signals: Signals) -> anyhow::Result<()> {
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
