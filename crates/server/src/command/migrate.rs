use anyhow::bail;
use holdfast_store::migrate::{self, State};

use super::{block_on, print};
use crate::configuration::Configuration;

#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail if the schema is behind.
    #[arg(long)]
    check: bool,
}

pub fn run(configuration: &Configuration, arguments: &Arguments) -> anyhow::Result<()> {
    let url = configuration.direct_url();
    block_on(async {
        match migrate::state(url).await? {
            State::Current => print("the schema is current"),
            State::Ahead if arguments.check => print("the schema is newer than this program, as during an upgrade"),
            State::Ahead => {
                bail!("the schema is newer than this program: run the version that migrated it, or a later one")
            }
            State::Behind(steps) if arguments.check => {
                bail!("the schema is {steps} steps behind: run `holdfast migrate`")
            }
            State::Behind(steps) => {
                print(format!("applying {steps} steps"))?;
                migrate::run(url).await?;
                print("the schema is current")
            }
        }
    })
}
