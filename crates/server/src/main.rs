//! The binary `holdfast`: command line, configuration, telemetry, and the wiring of the other crates.

mod command;
mod configuration;
mod telemetry;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit, umask};

use command::documents::DocumentedApi;
use command::{admin, config, documents, import, runner};

/// jemalloc returns freed memory to the system; with the C library's allocator the process keeps a gigabyte after a few
/// hundred password hashes.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Git hosting server that keeps every acknowledged push.
///
/// Settings are read from a file and from environment variables such as HOLDFAST__DATABASE__URL. The file is named by
/// --config or by the variable HOLDFAST_CONFIG; otherwise it is /etc/holdfast/holdfast.toml, if that exists.
/// `holdfast config default` lists all settings. To set up an instance, run `holdfast migrate`, then
/// `holdfast admin user create --admin …`, then `holdfast serve`.
#[derive(Parser)]
#[command(name = "holdfast", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    /// Configuration file (TOML) [default: HOLDFAST_CONFIG, or /etc/holdfast/holdfast.toml if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server: HTTP, SSH, webhooks and background jobs.
    ///
    /// Stops gracefully on SIGTERM or ctrl-c.
    Serve,
    /// Run background jobs only.
    ///
    /// `serve` runs jobs as well, unless worker.concurrency and imports.concurrency are 0.
    Worker,
    /// Apply database migrations.
    Migrate(command::migrate::Arguments),
    /// Check configuration, database and storage.
    ///
    /// Reports each problem with a fix. Exits with 1 if there are errors; warnings do not count.
    Doctor,
    /// Create an online backup in a directory.
    ///
    /// Repeated backups into the same directory copy only new objects.
    Backup(command::backup::Create),
    /// Restore a backup into an empty installation.
    Restore(command::backup::Restore),
    /// Stress-test an empty installation.
    ///
    /// Kills nodes during pushes and checks that no acknowledged push is lost.
    Torture(holdfast_stress::Arguments),
    /// Administer users, tokens, repositories and jobs.
    #[command(subcommand)]
    Admin(admin::Command),
    /// Import projects from other servers.
    #[command(subcommand)]
    Import(import::Command),
    /// Register and run a CI runner.
    #[command(subcommand)]
    Runner(runner::Command),
    #[command(hide = true)]
    RunnerSandbox(runner::Sandbox),
    /// Show the configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Print the routes of the API.
    Routes {
        /// Print the pages of the web interface instead.
        #[arg(long, conflicts_with = "api")]
        pages: bool,
        /// The version of the API.
        #[arg(long, value_enum, default_value = "v3")]
        api: DocumentedApi,
    },
    /// Print the OpenAPI document of the API.
    Openapi {
        /// The version of the API.
        #[arg(long, value_enum, default_value = "v3")]
        api: DocumentedApi,
    },
    /// Print the permission matrix.
    Permissions,
    /// Print a shell completion script.
    Completions { shell: clap_complete::Shell },
    /// Write the manual pages.
    Manual {
        /// Directory to write to. Created if it does not exist.
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    // All TLS clients in this process use the same cryptography provider.
    rustls::crypto::aws_lc_rs::default_provider().install_default().expect("no TLS provider is installed before main");
    let arguments = Arguments::parse();
    if let Command::RunnerSandbox(options) = &arguments.command {
        return runner::sandbox(options);
    }
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            command::print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Raises the soft limit of open files to the hard limit. Every connection and every open pack needs a file descriptor,
/// and the usual soft limit of 1024 is too low for a server.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).ok();
}

/// Makes packs, uploads and cached repositories accessible only to the user of this process, whatever umask it was
/// started with.
fn restrict_file_modes() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Prevents other processes of the same user, such as a compromised git process, from reading the secrets in the
/// environment and the memory of this process. Also disables core dumps and unprivileged debuggers.
fn disable_dumps() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        command::print_error(&anyhow::anyhow!("cannot protect the memory of this process: {error}"));
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    raise_file_limit();
    if matches!(
        arguments.command,
        Command::Serve
            | Command::Worker
            | Command::Doctor
            | Command::Admin(_)
            | Command::Import(_)
            | Command::Restore(_)
    ) {
        restrict_file_modes();
    }
    // A runner is excepted: its sandbox isolates it from builds.
    if !matches!(arguments.command, Command::Runner(_)) {
        disable_dumps();
    }
    let file = select_config(arguments.config.clone(), std::env::var_os("HOLDFAST_CONFIG"), Path::new(DEFAULT_CONFIG));
    let load = || configuration::Configuration::load(file.as_deref());
    match arguments.command {
        Command::Serve => command::serve::run(&load()?),
        Command::Worker => command::worker::run(&load()?),
        Command::Migrate(options) => command::migrate::run(&load()?, &options),
        Command::Doctor => command::doctor::run(file.as_deref(), load()),
        Command::Backup(options) => command::backup::create(&load()?, &options),
        Command::Restore(options) => command::backup::restore(&load()?, &options),
        Command::Torture(options) => command::torture::run(&load()?, file.as_deref(), &options),
        Command::Admin(admin) => admin::run(&load()?, admin),
        Command::Import(source) => import::run(&load()?, source),
        Command::Runner(runner) => runner::run(arguments.config.as_deref(), runner),
        Command::RunnerSandbox(_) => unreachable!("main has returned the exit code of the sandbox"),
        Command::Config(config) => config::run(file.as_deref(), &config),
        Command::Routes { pages: false, api } => documents::routes(api.into()),
        Command::Routes { pages: true, .. } => documents::pages(),
        Command::Openapi { api } => documents::openapi(&load()?, api.into()),
        Command::Permissions => documents::permissions(),
        Command::Completions { shell } => documents::completions(Arguments::command(), shell),
        Command::Manual { directory } => documents::manual(Arguments::command(), &directory),
    }
}

/// Configuration file that is read if neither --config nor HOLDFAST_CONFIG is given.
const DEFAULT_CONFIG: &str = "/etc/holdfast/holdfast.toml";

/// Returns the configuration file of a server: the argument, otherwise the value of HOLDFAST_CONFIG, otherwise the default
/// file if it exists. An empty variable means that no file is read. A runner has a configuration of its own.
fn select_config(argument: Option<PathBuf>, variable: Option<OsString>, default_file: &Path) -> Option<PathBuf> {
    if argument.is_some() {
        return argument;
    }
    match variable {
        Some(file) => Some(file.into()).filter(|file: &PathBuf| !file.as_os_str().is_empty()),
        // If this user may not look for the file, reading it reports why.
        None => Some(default_file.to_owned()).filter(|file| file.try_exists().unwrap_or(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_file_comes_from_the_argument_the_variable_or_the_default() {
        let directory = tempfile::tempdir().unwrap();
        let (present, missing) = (directory.path().join("holdfast.toml"), directory.path().join("missing.toml"));
        std::fs::write(&present, "").unwrap();
        let (argument, variable) = (Some(PathBuf::from("a.toml")), Some(OsString::from("b.toml")));
        assert_eq!(select_config(argument.clone(), variable.clone(), &present), argument);
        assert_eq!(select_config(None, variable, &present), Some("b.toml".into()));
        assert_eq!(select_config(None, Some(OsString::new()), &present), None);
        assert_eq!(select_config(None, None, &present), Some(present.clone()));
        assert_eq!(select_config(None, None, &missing), None);
    }
}
