//! The commands of `holdfast`, one module each.

pub mod admin;
pub mod backup;
pub mod config;
pub mod doctor;
pub mod documents;
mod http_listener;
pub mod import;
mod metrics;
pub mod migrate;
pub mod runner;
pub mod serve;
pub mod torture;
pub mod worker;

use std::future::Future;
use std::io::Write;

use anyhow::bail;
use holdfast_app::{App, Clock, Entropy};
use holdfast_store::migrate::{self as migrate_schema, SchemaState};
use holdfast_store::{Database, Objects};

use crate::configuration::Configuration;

/// Prints the output of a command to standard output. A closed pipe is not an error.
pub fn print(text: impl AsRef<str>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.as_ref().trim_end_matches('\n')) {
        // The reader, such as `head`, has closed the pipe.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Prints an error and its causes to standard error.
pub fn print_error(error: &anyhow::Error) {
    let mut text = format!("holdfast: {error}\n");
    for cause in error.chain().skip(1) {
        text += &format!("  caused by: {cause}\n");
    }
    std::io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// Runs a future on a single-threaded runtime, for commands that do one thing and exit.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Fails if the database cannot be reached, or lacks migrations.
async fn ensure_database_ready(configuration: &Configuration) -> anyhow::Result<()> {
    match migrate_schema::state(configuration.direct_url()).await {
        Ok(SchemaState::Current | SchemaState::Ahead) => Ok(()),
        Ok(SchemaState::Behind(steps)) => {
            let location = configuration.database_location();
            bail!("{steps} migrations are missing in the database {location}: run `holdfast migrate`")
        }
        Err(error) => Err(configuration.database_error(error)),
    }
}

fn build_app(configuration: &Configuration) -> anyhow::Result<App> {
    let database = Database::new(&configuration.database_options())?;
    let objects = Objects::new(configuration.storage.options()?).with_faults(configuration.fault_injection.settings());
    Ok(App::new(database, objects, configuration.settings()?, Clock::system(), Entropy::system()))
}
