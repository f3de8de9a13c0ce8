//! The command `migrate`: applies database migrations, or checks whether any are missing.

use anyhow::bail;
use holdfast_app::Clock;
use holdfast_store::migrate::{self, SchemaState};

use super::{block_on, print};
use crate::configuration::Configuration;

#[derive(clap::Args)]
pub struct Arguments {
    /// Apply nothing, and exit with 1 if migrations are missing.
    #[arg(long)]
    check: bool,
}

pub fn run(configuration: &Configuration, arguments: &Arguments) -> anyhow::Result<()> {
    let url = configuration.direct_url();
    block_on(async {
        match migrate::state(url).await.map_err(|error| configuration.database_error(error))? {
            SchemaState::Current if arguments.check => print("the schema is current"),
            SchemaState::Ahead if arguments.check => {
                print("the schema is newer than this version of holdfast, as during an upgrade")
            }
            SchemaState::Ahead => {
                bail!(
                    "the schema is newer than this version of holdfast: run the version that applied it, or a later one"
                )
            }
            SchemaState::Behind(steps) if arguments.check => {
                bail!("{steps} migrations are missing: run `holdfast migrate`")
            }
            state => {
                if let SchemaState::Behind(steps) = state {
                    print(format!("applying {steps} migrations"))?;
                }
                // Also runs on a current schema, because it creates the upcoming partitions, too.
                migrate::run(url, Clock::system().now().date_naive()).await?;
                print("the schema is current")
            }
        }
    })
}
