use clap::Subcommand;

use super::print;
use crate::configuration::{Configuration, DEFAULT, Invalid};

#[derive(Subcommand)]
pub enum Command {
    /// Print every key with its default and its meaning: the start of a file of your own.
    Default,
    /// Print the settings in force, secrets hidden.
    Show,
}

pub fn run(load: impl Fn() -> Result<Configuration, Invalid>, command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Default => print(DEFAULT),
        Command::Show => print(format!("{:#?}", load()?)),
    }
}
