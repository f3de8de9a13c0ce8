//! The command `config`: prints the default and the effective settings.

use std::path::Path;

use clap::Subcommand;

use super::print;
use crate::configuration::{DEFAULT_TOML, show};

#[derive(Subcommand)]
pub enum Command {
    /// Print all settings with their defaults and descriptions.
    Default,
    /// Print the effective settings, with secrets hidden.
    Show,
}

pub fn run(file: Option<&Path>, command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Default => print(DEFAULT_TOML),
        Command::Show => print(show(file)?),
    }
}
