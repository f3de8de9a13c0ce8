use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::routing::get;
use holdfast_app::App;
use holdfast_http::Site;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::application;
use crate::configuration::Configuration;
use crate::telemetry;

pub fn run(configuration: &Configuration) -> anyhow::Result<()> {
    let _telemetry = telemetry::start(configuration)?;
    let metrics = telemetry::metrics()?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(configuration, metrics))
}

async fn serve(configuration: &Configuration, metrics: PrometheusHandle) -> anyhow::Result<()> {
    let app = Arc::new(application(configuration)?);
    let site = Site::new(&configuration.server.external_url);
    let router = holdfast_http::router(app.clone(), site, configuration.limits());
    let (stop, stopping) = watch::channel(false);

    let listener = listen("server.listen", configuration.server.listen).await?;
    let public = tokio::spawn(serve_on(listener, router, stopping.clone()));
    if let Some(address) = configuration.operations_listen()? {
        let listener = listen("operations.listen", address).await?;
        let router = holdfast_http::health_router(app.clone())
            .route("/metrics", get(move || render(app.clone(), metrics.clone())));
        // It answers to the last: nobody waits for it.
        tokio::spawn(serve_on(listener, router, stopping));
    }
    tracing::info!(
        listen = %configuration.server.listen,
        external_url = %configuration.server.external_url,
        version = env!("CARGO_PKG_VERSION"),
        "serving"
    );

    told_to_stop().await?;
    tracing::info!("stopping: finishing the requests that have begun");
    stop.send_replace(true);
    let grace = configuration.shutdown_grace();
    match tokio::time::timeout(grace, public).await {
        Ok(served) => served??,
        Err(_) => tracing::warn!(seconds = grace.as_secs(), "some requests did not finish in time and are cut off"),
    }
    tracing::info!("stopped");
    Ok(())
}

async fn listen(key: &str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; set {key} to an address that is free (HOLDFAST__…__LISTEN)")
    })
}

fn serve_on(
    listener: TcpListener,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) -> impl Future<Output = std::io::Result<()>> {
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let stop = async move {
        stopping.wait_for(|stopping| *stopping).await.ok();
    };
    axum::serve(listener, service).with_graceful_shutdown(stop).into_future()
}

async fn told_to_stop() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}

async fn render(app: Arc<App>, metrics: PrometheusHandle) -> String {
    let (size, idle) = app.database.pool_size();
    metrics::gauge!("holdfast_database_connections", "state" => "idle").set(idle as f64);
    metrics::gauge!("holdfast_database_connections", "state" => "busy").set(f64::from(size) - idle as f64);
    metrics.run_upkeep();
    metrics.render()
}
