use std::sync::Arc;

use anyhow::bail;
use holdfast_app::worker;

use super::{application, serve};
use crate::configuration::Configuration;
use crate::telemetry;

/// Does jobs and nothing else, until told to stop.
pub fn run(configuration: &Configuration) -> anyhow::Result<()> {
    let _telemetry = telemetry::start(configuration)?;
    let concurrency = configuration.worker_concurrency();
    if concurrency.is_none() {
        bail!(
            "worker.concurrency and imports.concurrency are 0: set one of them to the number of jobs that this process \
             is to do at once"
        );
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let app = Arc::new(application(configuration)?);
        serve::refuse_old_schema(configuration).await?;
        tracing::info!(?concurrency, version = env!("CARGO_PKG_VERSION"), "doing jobs");
        let stop = async {
            if let Err(error) = serve::told_to_stop().await {
                tracing::error!(%error, "cannot wait for signals");
            }
        };
        worker::run(app, concurrency, stop).await?;
        tracing::info!("stopped");
        Ok(())
    })
}
