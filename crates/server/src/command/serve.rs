use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use axum::routing::get;
use futures_util::FutureExt;
use holdfast_app::ci::tending;
use holdfast_app::client::ConnectionLimits;
use holdfast_app::hooks::sending;
use holdfast_app::repository::warming;
use holdfast_app::worker::{Concurrency, job};
use holdfast_app::{App, worker};
use holdfast_http::{Connections, Site};
use holdfast_store::database::PoolUse;
use holdfast_store::migrate::{self, State};
use metrics_exporter_prometheus::PrometheusHandle;
use rustix::process::{Resource, getrlimit};
use tokio::signal::unix::{SignalKind, signal};

use super::application;
use super::door::Door;
use crate::configuration::Configuration;
use crate::telemetry;

pub fn run(configuration: &Configuration) -> anyhow::Result<()> {
    let _telemetry = telemetry::start(configuration)?;
    let metrics = telemetry::metrics()?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(configuration, metrics))
}

async fn serve(configuration: &Configuration, metrics: PrometheusHandle) -> anyhow::Result<()> {
    let app = Arc::new(application(configuration)?);
    let mut limits = configuration.limits();
    limits.max_connections = limits.max_connections.min(open_files(2));
    let served = Connections::new("http", holdfast_http::router(app.clone(), limits.clone()), &limits);
    let (door, grace) = (Door::default(), configuration.shutdown_grace());

    let listener = listen("server.listen", configuration.server.listen)?;
    let ssh_listener = configuration.ssh.listen()?.map(|address| listen("ssh.listen", address)).transpose()?;
    let doors = [Some(&listener), ssh_listener.as_ref()].into_iter().flatten();
    let doors = doors.map(TcpListener::try_clone).collect::<Result<Vec<_>, _>>()?;
    refuse_old_schema(configuration).await?;
    let mut public = tokio::spawn(door.clone().serve(listener, served, grace));
    let (stop_ssh, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut ssh = tokio::spawn(serve_ssh(
        app.clone(),
        ssh_listener,
        ssh_settings(configuration, app.settings.site.clone()),
        stopped,
    ));
    let (stop_jobs, stopped) = tokio::sync::oneshot::channel::<()>();
    let jobs = tokio::spawn(do_jobs(app.clone(), configuration.worker_concurrency(), stopped));
    let (stop_hooks, stopped) = tokio::sync::oneshot::channel::<()>();
    let hooks = tokio::spawn(serve_hooks(app.clone(), stopped));
    let (stop_warming, stopped) = tokio::sync::oneshot::channel::<()>();
    if configuration.git.warm_on_start {
        tokio::spawn(warm(app.clone(), stopped));
    }
    tokio::spawn(keep_up(metrics.clone(), app.clone()));
    let stopping = app.clone();
    if let Some(address) = configuration.operations_listen()? {
        let listener = listen("operations.listen", address)?;
        let metrics = metrics.clone();
        let router = holdfast_http::health_router(app.clone())
            .route("/metrics", get(move || render(app.clone(), metrics.clone())));
        // It answers to the last: nobody waits for it.
        let served = Connections::new("operations", router, &limits);
        tokio::spawn(Door::default().serve(listener, served, grace));
    }
    tracing::info!(
        listen = %configuration.server.listen,
        external_url = %configuration.server.external_url,
        version = env!("CARGO_PKG_VERSION"),
        "serving"
    );

    if configuration.chaos.settings().is_on() {
        tracing::warn!("the section [chaos] makes the storage fail: only for trials");
    }

    tokio::select! {
        told = told_to_stop() => told?,
        ended = &mut public => bail!("the listener ended by itself: {:?}", ended?),
        ended = &mut ssh => bail!("SSH ended by itself: {:?}", ended?),
    }
    tracing::info!("stopping: finishing the requests that have begun");
    stopping.leave();
    drop((stop_jobs, stop_hooks, stop_warming));
    door.close(doors).await;
    drop(stop_ssh);
    public.await??;
    ssh.await??;
    // A job that is cut off is done again elsewhere; it is only quicker to let it finish.
    tokio::time::timeout(grace, async { tokio::join!(jobs, hooks) }).await.ok();
    tracing::info!("stopped");
    Ok(())
}

fn listen(key: &str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).map_err(|error| {
        let cure = match error.kind() {
            ErrorKind::PermissionDenied => "ports below 1024 are for root: name a higher one",
            ErrorKind::AddrNotAvailable => "that is no address of this machine",
            _ => "name one that is free",
        };
        anyhow!("cannot listen on {address}: {error}; set {key}: {cure}")
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// A newer schema is fine: nodes of two versions run side by side during an upgrade. A database that is away is fine too:
/// the node says that it is not ready until it comes.
pub(super) async fn refuse_old_schema(configuration: &Configuration) -> anyhow::Result<()> {
    match migrate::state(configuration.direct_url()).await {
        Ok(State::Behind(steps)) => bail!("the schema is {steps} steps behind this program: run `holdfast migrate`"),
        Ok(State::Current | State::Ahead) => {}
        Err(error) => tracing::warn!(%error, "the schema cannot be checked"),
    }
    Ok(())
}

/// Returns that fraction of the files that this process may open. Every connection is one, and some are for other things.
fn open_files(fraction: u64) -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |files| (files / fraction) as usize)
}

fn ssh_settings(configuration: &Configuration, site: Site) -> holdfast_ssh::Settings {
    holdfast_ssh::Settings {
        connections: ConnectionLimits {
            max: configuration.ssh.max_connections.min(open_files(4)),
            max_per_address: configuration.ssh.max_connections_per_address,
            trusted_proxies: configuration.server.trusted_proxies.clone(),
        },
        max_unauthenticated: configuration.ssh.max_unauthenticated,
        handshake_timeout: configuration.ssh.handshake_timeout(),
        idle_timeout: configuration.ssh.idle_timeout(),
        shutdown_grace: configuration.shutdown_grace(),
        url: Arc::new(move |path| site.ssh_url(path)),
    }
}

async fn serve_ssh(
    app: Arc<App>,
    listener: Option<TcpListener>,
    settings: holdfast_ssh::Settings,
    stop: tokio::sync::oneshot::Receiver<()>,
) -> holdfast_ssh::Result<()> {
    let stop = async { drop(stop.await) };
    match listener {
        Some(listener) => holdfast_ssh::serve(app, listener, settings, stop).await,
        None => {
            stop.await;
            Ok(())
        }
    }
}

/// While the database is away there are no jobs; then it is tried again.
async fn do_jobs(app: Arc<App>, concurrency: Concurrency, stop: tokio::sync::oneshot::Receiver<()>) {
    if concurrency.is_none() {
        return;
    }
    let stop = async { drop(stop.await) }.shared();
    let mut every = tokio::time::interval(Duration::from_secs(5));
    while stop.peek().is_none() {
        tokio::select! {
            _ = every.tick() => {}
            () = stop.clone() => break,
        }
        if let Err(error) = worker::run(app.clone(), concurrency, stop.clone()).await {
            tracing::warn!(%error, "jobs are not done for now");
        }
    }
}

/// Tells hooks what happened.
async fn serve_hooks(app: Arc<App>, stop: tokio::sync::oneshot::Receiver<()>) {
    if app.settings.hooks.concurrency == 0 {
        return;
    }
    if let Err(error) = sending::run(app, async { drop(stop.await) }).await {
        tracing::error!(%error, "this node tells no hooks");
    }
}

/// Nobody waits for it: this node is ready before.
async fn warm(app: Arc<App>, stop: tokio::sync::oneshot::Receiver<()>) {
    let begin = Instant::now();
    tokio::select! {
        warmed = warming::warm(&app) => match warmed {
            Ok(0) => {}
            Ok(copies) => tracing::info!(copies, seconds = begin.elapsed().as_secs(), "copies are up to date"),
            Err(error) => tracing::warn!(%error, "copies are not brought up to date"),
        },
        _ = stop => {}
    }
}

/// What is folded together or let go of even if nobody asks.
async fn keep_up(metrics: PrometheusHandle, app: Arc<App>) {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        metrics.run_upkeep();
        app.engine.answers.tidy();
    }
}

pub(super) async fn told_to_stop() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}

async fn render(app: Arc<App>, metrics: PrometheusHandle) -> String {
    let PoolUse { busy, idle, unopened } = app.database.pool_use();
    for (state, count) in [("busy", busy), ("idle", idle), ("unopened", unopened)] {
        metrics::gauge!("holdfast_database_connections", "state" => state).set(f64::from(count));
    }
    if let Some(copies) = app.engine.copies() {
        metrics::gauge!("holdfast_git_cache_bytes").set(copies.bytes() as f64);
        let (here, fetched) = copies.uses();
        metrics::counter!("holdfast_git_copies_total", "how" => "here").absolute(here);
        metrics::counter!("holdfast_git_copies_total", "how" => "fetched").absolute(fetched);
    }
    let (computed, shared) = app.engine.answers.counts();
    metrics::counter!("holdfast_git_answers_total", "how" => "computed").absolute(computed);
    metrics::counter!("holdfast_git_answers_total", "how" => "shared").absolute(shared);
    match sending::overview(&app).await {
        Ok(hooks) => {
            metrics::gauge!("holdfast_hook_oldest_undelivered_seconds").set(hooks.oldest_undelivered.as_secs_f64());
            metrics::gauge!("holdfast_hooks", "state" => "failing").set(hooks.failing as f64);
            metrics::gauge!("holdfast_hooks", "state" => "paused").set(hooks.paused as f64);
            metrics::gauge!("holdfast_hook_events_waiting").set(hooks.events_waiting as f64);
        }
        Err(error) => tracing::warn!(%error, "there are no figures about hooks"),
    }
    match tending::overview(&app).await {
        Ok(builds) => {
            metrics::gauge!("holdfast_builds_waiting").set(builds.waiting as f64);
            metrics::gauge!("holdfast_build_oldest_waiting_seconds").set(builds.oldest_waiting.as_secs_f64());
        }
        Err(error) => tracing::warn!(%error, "there are no figures about builds"),
    }
    match job::overview(&app).await {
        Ok(jobs) => {
            metrics::gauge!("holdfast_jobs_waiting").set(jobs.waiting as f64);
            metrics::gauge!("holdfast_job_oldest_waiting_seconds").set(jobs.oldest_waiting.as_secs_f64());
            metrics::gauge!("holdfast_jobs_given_up").set(jobs.given_up as f64);
        }
        Err(error) => tracing::warn!(%error, "there are no figures about jobs"),
    }
    match app.database.replication().await {
        Ok((replicas, lag)) => {
            metrics::gauge!("holdfast_database_replicas").set(replicas as f64);
            metrics::gauge!("holdfast_database_replication_lag_seconds").set(lag.unwrap_or_default());
        }
        Err(error) => tracing::warn!(%error, "there are no figures about replicas"),
    }
    metrics.render()
}
