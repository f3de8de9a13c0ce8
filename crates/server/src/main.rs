//! The binary `holdfast`: configuration, telemetry, wiring and commands.

mod command;
mod configuration;
mod telemetry;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit, umask};

use command::{admin, config, documents, runner};

/// Gives memory back: with the C library's allocator a few hundred password hashes leave a gigabyte behind.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Source hosting that keeps every acknowledged push.
///
/// Settings come from a file (--config) and from variables such as HOLDFAST__DATABASE__URL;
/// `holdfast config default` shows all of them. Start with `holdfast migrate`, then
/// `holdfast admin user create --admin …`, then `holdfast serve`.
#[derive(Parser)]
#[command(name = "holdfast", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    /// The configuration file (TOML).
    #[arg(long, global = true, env = "HOLDFAST_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve requests until told to stop (SIGTERM or ctrl-c).
    Serve,
    /// Do jobs and nothing else; `serve` does them too, unless worker.concurrency is 0.
    Worker,
    /// Bring the database's schema up to this version.
    Migrate(command::migrate::Arguments),
    /// Check settings, database and storage, and say what to mend.
    Doctor,
    /// Copy everything into a directory while everybody works; again into the same one copies only what is new.
    Backup(command::backup::Create),
    /// Make an empty installation what another one was when it was backed up.
    Restore(command::backup::Restore),
    /// Kill nodes of an empty installation while clients push, and check that nothing is lost.
    Torture(command::torture::Arguments),
    /// Manage accounts and tokens, and look at jobs, from the server's own command line.
    #[command(subcommand)]
    Admin(admin::Command),
    /// Execute builds of a server, here or elsewhere.
    #[command(subcommand)]
    Runner(runner::Command),
    #[command(hide = true)]
    RunnerSandbox(runner::Sandbox),
    /// Show settings.
    #[command(subcommand)]
    Config(config::Command),
    /// Print every route of the REST interface.
    Routes,
    /// Print the OpenAPI document of the REST interface.
    Openapi,
    /// Print who may do what.
    Permissions,
    /// Print what makes a shell complete these commands.
    Completions { shell: clap_complete::Shell },
    /// Write manual pages of these commands.
    Manual {
        /// Where to; made if it is missing.
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    // One TLS implementation for everything.
    rustls::crypto::aws_lc_rs::default_provider().install_default().expect("nothing was installed before");
    let arguments = Arguments::parse();
    if let Command::RunnerSandbox(options) = &arguments.command {
        return runner::sandbox(options);
    }
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            command::complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Every connection is a file, and every pack that is read; what a login shell allows at first is soon used up.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).ok();
}

/// Packs, uploads and cached repositories are for the server's own user alone, however the process was started.
fn keep_files_private() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Other processes of the same user, such as a git that was made to run somebody's code, must not read the secrets in the
/// environment and the memory of this one. Core dumps and debuggers without privileges are off as well.
fn hide_from_other_processes() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        command::complain(&anyhow::anyhow!("the memory of this process cannot be hidden from others: {error}"));
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    allow_many_files();
    if matches!(
        arguments.command,
        Command::Serve | Command::Worker | Command::Doctor | Command::Admin(_) | Command::Restore(_)
    ) {
        keep_files_private();
    }
    // A runner has its own ways to keep builds away from it.
    if !matches!(arguments.command, Command::Runner(_)) {
        hide_from_other_processes();
    }
    let load = || configuration::Configuration::load(arguments.config.as_deref());
    match arguments.command {
        Command::Serve => command::serve::run(&load()?),
        Command::Worker => command::worker::run(&load()?),
        Command::Migrate(options) => command::migrate::run(&load()?, &options),
        Command::Doctor => command::doctor::run(arguments.config.as_deref(), load()),
        Command::Backup(options) => command::backup::create(&load()?, &options),
        Command::Restore(options) => command::backup::restore(&load()?, &options),
        Command::Torture(options) => command::torture::run(&load()?, arguments.config.as_deref(), &options),
        Command::Admin(admin) => admin::run(&load()?, admin),
        Command::Runner(runner) => runner::run(own_file(arguments.config.as_deref()), runner),
        Command::RunnerSandbox(_) => unreachable!("it has been answered by its exit code"),
        Command::Config(config) => config::run(arguments.config.as_deref(), &config),
        Command::Routes => documents::routes(),
        Command::Openapi => documents::openapi(&load()?),
        Command::Permissions => documents::permissions(),
        Command::Completions { shell } => documents::completions(Arguments::command(), shell),
        Command::Manual { directory } => documents::manual(Arguments::command(), &directory),
    }
}

/// HOLDFAST_CONFIG names the settings of a server, which may well stand on the same machine as a runner.
fn own_file(config: Option<&Path>) -> Option<&Path> {
    config.filter(|file| std::env::var_os("HOLDFAST_CONFIG").is_none_or(|servers| servers != file.as_os_str()))
}
