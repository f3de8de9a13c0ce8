//! One file per command.

pub mod admin;
pub mod backup;
pub mod config;
pub mod doctor;
pub mod documents;
mod door;
pub mod migrate;
pub mod runner;
pub mod serve;
pub mod torture;
pub mod worker;

use std::future::Future;
use std::io::Write;

use holdfast_app::{App, Clock, Entropy};
use holdfast_store::{Database, Objects};

use crate::configuration::Configuration;

/// Answers of commands go to standard output.
pub fn print(text: impl AsRef<str>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.as_ref().trim_end_matches('\n')) {
        // Whoever read us has read enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// What went wrong goes to standard error, with what led to it.
pub fn complain(error: &anyhow::Error) {
    let mut text = format!("holdfast: {error}\n");
    for cause in error.chain().skip(1) {
        text += &format!("  because: {cause}\n");
    }
    std::io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// For commands that do one thing and end.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn application(configuration: &Configuration) -> anyhow::Result<App> {
    let database = Database::new(&configuration.database_options())?;
    let objects = Objects::new(configuration.storage.options()?).with_chaos(configuration.chaos.settings());
    Ok(App::new(database, objects, configuration.settings()?, Clock::system(), Entropy::system()))
}
