//! The command `torture`: runs the stress test of the crate `holdfast_stress`.

use std::path::Path;

use anyhow::bail;
use holdfast_stress::{Arguments, Installation};

use super::serve;
use crate::configuration::Configuration;

pub fn run(configuration: &Configuration, file: Option<&Path>, arguments: &Arguments) -> anyhow::Result<()> {
    let installation = Installation {
        configuration_file: file.map(Path::to_owned),
        settings: configuration.settings()?,
        database: configuration.database_options(),
        direct_url: configuration.direct_url().to_owned(),
        database_location: configuration.database_location(),
        objects: configuration.storage.options()?,
    };
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        tokio::select! {
            done = holdfast_stress::run(&installation, arguments) => done,
            result = serve::shutdown_signal() => {
                result?;
                bail!("interrupted: nothing was checked");
            }
        }
    })
}
