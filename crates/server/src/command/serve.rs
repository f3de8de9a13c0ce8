//! The command `serve`: starts the listeners, the worker and the webhook dispatcher, and shuts them down in order.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use axum::Router;
use axum::routing::get;
use holdfast_app::accounts::setup;
use holdfast_app::client::ConnectionLimits;
use holdfast_app::hooks::dispatch;
use holdfast_app::repository::warming;
use holdfast_app::worker::Concurrency;
use holdfast_app::{Actor, App, Error, worker};
use holdfast_http::{Connections, InstanceUrls, Limits, RequestLimits};
use holdfast_store::cache;
use holdfast_store::migrate::{self, SchemaState};
use metrics_exporter_prometheus::PrometheusHandle;
use rustix::process::{Resource, getrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::build_app;
use super::http_listener::GracefulListener;
use super::metrics::render_metrics;
use crate::configuration::Configuration;
use crate::telemetry;

pub fn run(configuration: &Configuration) -> anyhow::Result<()> {
    let _telemetry = telemetry::start(configuration)?;
    let metrics = telemetry::install_metrics()?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(configuration, metrics))
}

async fn serve(configuration: &Configuration, metrics: PrometheusHandle) -> anyhow::Result<()> {
    let app = Arc::new(build_app(configuration)?.with_configuration(configuration.effective_settings()?));
    cache::ensure_own(&app.settings.git.cache_directory)?;
    let mut limits = configuration.limits();
    limits.max_connections = limits.max_connections.min(open_file_share(2));
    let connections = Connections::new("http", build_router(app.clone(), &limits, configuration.web.enabled), &limits);
    let (http_listener, grace) = (GracefulListener::default(), configuration.shutdown_grace());

    let listener = listen("server.listen", configuration.server.listen)?;
    let ssh_listener = configuration.ssh.listen()?.map(|address| listen("ssh.listen", address)).transpose()?;
    let listeners = [Some(&listener), ssh_listener.as_ref()].into_iter().flatten();
    let listeners = listeners.map(TcpListener::try_clone).collect::<Result<Vec<_>, _>>()?;
    ensure_schema_current(configuration).await?;
    let mut public = tokio::spawn(http_listener.clone().serve(listener, connections, grace));
    let mut ssh = tokio::spawn(serve_ssh(
        app.clone(),
        ssh_listener,
        ssh_settings(configuration, app.settings.site.clone()),
        http_listener.stop_accepting.clone(),
    ));
    let jobs = tokio::spawn(run_worker(app.clone(), configuration.worker_concurrency()));
    let hooks = tokio::spawn(serve_hooks(app.clone()));
    if configuration.git.warm_on_start {
        tokio::spawn(warm(app.clone()));
    }
    tokio::spawn(run_upkeep(metrics.clone(), app.clone()));
    if configuration.web.enabled {
        tokio::spawn(announce_setup(app.clone()));
    }
    let shutdown = app.shutdown.clone();
    let monitoring = configuration.monitoring_listen()?;
    if let Some(address) = monitoring {
        let listener = listen("monitoring.listen", address)?;
        let metrics = metrics.clone();
        let router = holdfast_http::health_router(app.clone())
            .route("/metrics", get(move || render_metrics(app.clone(), metrics.clone())));
        // Monitoring responds until the process exits; shutdown does not wait for its connections.
        let connections = Connections::new("monitoring", router, &limits);
        tokio::spawn(GracefulListener::default().serve(listener, connections, grace));
    }
    tracing::info!(
        listen = %configuration.server.listen,
        ssh = configuration.ssh.listen()?.map(tracing::field::display),
        monitoring = monitoring.map(tracing::field::display),
        external_url = %configuration.server.external_url,
        version = env!("CARGO_PKG_VERSION"),
        "server started"
    );

    if configuration.fault_injection.settings().is_enabled() {
        tracing::warn!("fault injection is enabled; do not use in production");
    }

    tokio::select! {
        result = shutdown_signal() => result?,
        ended = &mut public => bail!("the HTTP listener stopped unexpectedly: {:?}", ended?),
        ended = &mut ssh => bail!("the SSH server stopped unexpectedly: {:?}", ended?),
    }
    tracing::info!("shutting down, finishing active requests");
    shutdown.cancel();
    http_listener.shut_down(listeners).await;
    public.await??;
    ssh.await??;
    // A job that is cut off is retried by another node, but letting it finish is faster.
    tokio::time::timeout(grace, async { tokio::join!(jobs, hooks) }).await.ok();
    tracing::info!("server stopped");
    Ok(())
}

/// Returns the router of the API, git and runners, with the web interface unless web.enabled is false.
fn build_router(app: Arc<App>, limits: &Limits, has_pages: bool) -> Router {
    if !has_pages {
        return holdfast_http::router(app, limits.clone());
    }
    let limits = Arc::new(RequestLimits::new(limits.clone()));
    let pages = holdfast_web::router(app.clone(), limits.clone());
    holdfast_http::router_with_pages(app, limits, pages)
}

fn listen(key: &str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).map_err(|error| {
        let fix = match error.kind() {
            ErrorKind::PermissionDenied => "ports below 1024 need privileges, use a higher one",
            ErrorKind::AddrNotAvailable => "this machine does not have that address",
            _ => "use an address and a port that are free",
        };
        anyhow!("cannot listen on {address}: {error}. Change {key}: {fix}")
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Fails if migrations are missing. A newer schema is accepted, because nodes of two versions run side by side during
/// an upgrade. An unreachable database is accepted, too: the node is not ready until it can connect.
pub(super) async fn ensure_schema_current(configuration: &Configuration) -> anyhow::Result<()> {
    match migrate::state(configuration.direct_url()).await {
        Ok(SchemaState::Behind(steps)) => {
            bail!("{steps} database migrations are missing: run `holdfast migrate`")
        }
        Ok(SchemaState::Current | SchemaState::Ahead) => {}
        Err(error) => {
            tracing::warn!(%error, database = configuration.database_location(), "checking database schema failed")
        }
    }
    Ok(())
}

/// Returns the limit of open files divided by `fraction`. Every connection needs a file descriptor, and the rest is for
/// files, database connections and pipes.
fn open_file_share(fraction: u64) -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| (files / fraction) as usize)
}

fn ssh_settings(configuration: &Configuration, site: InstanceUrls) -> holdfast_ssh::Settings {
    holdfast_ssh::Settings {
        connection_limits: ConnectionLimits {
            max: configuration.ssh.max_connections.min(open_file_share(4)),
            max_per_address: configuration.ssh.max_connections_per_address,
            trusted_proxies: configuration.server.trusted_proxies.clone(),
        },
        max_unauthenticated_connections: configuration.ssh.max_unauthenticated_connections,
        handshake_timeout: configuration.ssh.handshake_timeout(),
        idle_timeout: configuration.ssh.idle_timeout(),
        shutdown_grace: configuration.shutdown_grace(),
        project_url: Arc::new(move |path| site.ssh_url(path)),
    }
}

async fn serve_ssh(
    app: Arc<App>,
    listener: Option<TcpListener>,
    settings: holdfast_ssh::Settings,
    stop_accepting: CancellationToken,
) -> holdfast_ssh::Result<()> {
    match listener {
        Some(listener) => holdfast_ssh::serve(app, listener, settings, stop_accepting.cancelled()).await,
        None => {
            stop_accepting.cancelled().await;
            Ok(())
        }
    }
}

/// Runs the worker, and restarts it every five seconds while the database is unavailable.
async fn run_worker(app: Arc<App>, concurrency: Concurrency) {
    if concurrency.is_none() {
        return;
    }
    let mut interval = tokio::time::interval(Duration::from_secs(5));
    while !app.shutdown.is_cancelled() {
        tokio::select! {
            _ = interval.tick() => {}
            () = app.shutdown.cancelled() => break,
        }
        if let Err(error) =
            worker::run(app.clone(), concurrency, Box::pin(app.shutdown.clone().cancelled_owned())).await
        {
            tracing::warn!(%error, "background worker stopped, restarting");
        }
    }
}

/// Runs the webhook dispatcher, unless hooks.concurrency is 0.
async fn serve_hooks(app: Arc<App>) {
    if app.settings.hooks.concurrency == 0 {
        return;
    }
    if let Err(error) = dispatch::run(app.clone(), Box::pin(app.shutdown.clone().cancelled_owned())).await {
        tracing::error!(%error, "webhook dispatcher failed to start");
    }
}

/// Warms the repository cache in the background. The node is ready before this has finished.
async fn warm(app: Arc<App>) {
    let started = Instant::now();
    tokio::select! {
        warmed = warming::warm(&app) => match warmed {
            Ok(0) => {}
            Ok(repositories) => {
                tracing::info!(repositories, seconds = started.elapsed().as_secs(), "cache warming finished");
            }
            Err(error) => tracing::warn!(%error, "cache warming failed"),
        },
        () = app.shutdown.cancelled() => {}
    }
}

/// Logs a code for the creation of the first administrator, if there is no user yet.
async fn announce_setup(app: Arc<App>) {
    // The database may not be ready yet.
    let mut interval = tokio::time::interval(Duration::from_secs(5));
    loop {
        tokio::select! {
            _ = interval.tick() => {}
            () = app.shutdown.cancelled() => return,
        }
        match setup::is_needed(&app).await {
            Ok(false) => return,
            Ok(true) => break,
            Err(error) => tracing::warn!(%error, "checking for users failed"),
        }
    }
    match setup::create_code(&app, &Actor::Operator).await {
        Ok(code) => tracing::warn!(
            url = app.settings.site.url("/setup"),
            setup_code = code,
            "no user exists yet, create the first administrator in a browser with this code"
        ),
        // Another node has just served the first run.
        Err(Error::Conflict(_)) => {}
        Err(error) => tracing::warn!(%error, "creating a setup code failed"),
    }
}

/// Runs periodic upkeep: aggregates metrics, and evicts expired shared fetches even if no request does.
async fn run_upkeep(metrics: PrometheusHandle, app: Arc<App>) {
    let mut interval = tokio::time::interval(Duration::from_secs(5));
    loop {
        interval.tick().await;
        metrics.run_upkeep();
        app.git_runtime.shared_fetches.run_pending_evictions();
    }
}

pub(super) async fn shutdown_signal() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}
