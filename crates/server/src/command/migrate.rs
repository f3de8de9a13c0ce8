use anyhow::bail;
use holdfast_app::Clock;
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
            State::Current if arguments.check => print("the schema is current"),
            State::Ahead if arguments.check => print("the schema is newer than this program, as during an upgrade"),
            State::Ahead => {
                bail!("the schema is newer than this program: run the version that migrated it, or a later one")
            }
            State::Behind(steps) if arguments.check => {
                bail!("the schema is {steps} steps behind: run `holdfast migrate`")
            }
            state => {
                if let State::Behind(steps) = state {
                    print(format!("applying {steps} steps"))?;
                }
                // Beside the steps it makes room for the time to come, so it is worth running on a current schema too.
                migrate::run(url, Clock::system().now().date_naive()).await?;
                print("the schema is current")
            }
        }
    })
}
