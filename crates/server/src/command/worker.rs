//! The command `worker`: runs background jobs without serving requests.

use std::sync::Arc;

use anyhow::bail;
use holdfast_app::worker;
use holdfast_store::cache;

use super::{build_app, serve};
use crate::configuration::Configuration;
use crate::telemetry;

/// Runs background jobs until the process receives SIGTERM or ctrl-c.
pub fn run(configuration: &Configuration) -> anyhow::Result<()> {
    let _telemetry = telemetry::start(configuration)?;
    let concurrency = configuration.worker_concurrency();
    if concurrency.is_none() {
        bail!(
            "worker.concurrency and imports.concurrency are 0: set at least one of them to the number of jobs that \
             this process runs at once"
        );
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let app = Arc::new(build_app(configuration)?);
        cache::ensure_own(&app.settings.git.cache_directory)?;
        serve::ensure_schema_current(configuration).await?;
        tracing::info!(?concurrency, version = env!("CARGO_PKG_VERSION"), "worker started");
        let shutdown = app.shutdown.clone();
        let stop = async move {
            if let Err(error) = serve::shutdown_signal().await {
                tracing::error!(%error, "listening for signals failed");
            }
            shutdown.cancel();
        };
        worker::run(app, concurrency, Box::pin(stop)).await?;
        tracing::info!("worker stopped");
        Ok(())
    })
}
