use std::path::Path;

use clap::Subcommand;

use super::print;
use crate::configuration::{DEFAULT, show};

#[derive(Subcommand)]
pub enum Command {
    /// Print every key with its default and its meaning: the start of a file of your own.
    Default,
    /// Print the settings in force, secrets hidden.
    Show,
}

pub fn run(file: Option<&Path>, command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Default => print(DEFAULT),
        Command::Show => print(show(file)?),
    }
}
