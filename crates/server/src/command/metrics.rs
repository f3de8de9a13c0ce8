//! The response of `/metrics`, on the monitoring listener of `serve`.

use std::sync::Arc;

use holdfast_app::App;
use holdfast_app::ci::queue;
use holdfast_app::hooks::dispatch;
use holdfast_app::worker::job;
use holdfast_store::PoolUsage;
use holdfast_store::cache::HitCounts;
use metrics_exporter_prometheus::PrometheusHandle;

/// Updates the metrics that are read on demand, and renders all metrics in the text format of Prometheus.
///
/// While the database is unavailable, metrics that are read from it keep their last value.
pub async fn render_metrics(app: Arc<App>, metrics: PrometheusHandle) -> String {
    let PoolUsage { busy, idle, unopened } = app.database.pool_usage();
    for (state, count) in [("busy", busy), ("idle", idle), ("available", unopened)] {
        metrics::gauge!("holdfast_database_connections", "state" => state).set(f64::from(count));
    }
    if let Some(cache) = app.git_runtime.cache_if_open() {
        metrics::gauge!("holdfast_git_cache_bytes").set(cache.bytes() as f64);
        let HitCounts { hits, misses } = cache.hit_counts();
        metrics::counter!("holdfast_git_cache_requests_total", "result" => "hit").absolute(hits);
        metrics::counter!("holdfast_git_cache_requests_total", "result" => "miss").absolute(misses);
    }
    let (computed, shared) = app.git_runtime.shared_fetches.counts();
    metrics::counter!("holdfast_git_fetch_responses_total", "source" => "computed").absolute(computed);
    metrics::counter!("holdfast_git_fetch_responses_total", "source" => "shared").absolute(shared);
    match dispatch::stats(&app).await {
        Ok(hooks) => {
            metrics::gauge!("holdfast_hook_oldest_pending_delivery_seconds")
                .set(hooks.oldest_undelivered.as_secs_f64());
            metrics::gauge!("holdfast_hooks", "state" => "failing").set(hooks.failing as f64);
            metrics::gauge!("holdfast_hooks", "state" => "paused").set(hooks.paused as f64);
            metrics::gauge!("holdfast_hook_events_pending").set(hooks.pending_fan_out as f64);
        }
        Err(error) => tracing::warn!(%error, "collecting hook metrics failed"),
    }
    match queue::stats(&app).await {
        Ok(builds) => {
            metrics::gauge!("holdfast_builds_pending").set(builds.pending as f64);
            metrics::gauge!("holdfast_build_oldest_pending_seconds").set(builds.oldest_pending.as_secs_f64());
        }
        Err(error) => tracing::warn!(%error, "collecting build metrics failed"),
    }
    match job::stats(&app).await {
        Ok(jobs) => {
            metrics::gauge!("holdfast_jobs_pending").set(jobs.pending as f64);
            metrics::gauge!("holdfast_job_oldest_pending_seconds").set(jobs.oldest_pending.as_secs_f64());
            metrics::gauge!("holdfast_jobs_failed").set(jobs.failed as f64);
        }
        Err(error) => tracing::warn!(%error, "collecting job metrics failed"),
    }
    match app.database.replication_status().await {
        Ok(status) => {
            metrics::gauge!("holdfast_database_replicas").set(status.replicas as f64);
            metrics::gauge!("holdfast_database_replication_lag_seconds").set(status.lag_seconds.unwrap_or_default());
        }
        Err(error) => tracing::warn!(%error, "collecting replication metrics failed"),
    }
    metrics.render()
}
