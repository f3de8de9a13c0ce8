//! Sets up logs, OpenTelemetry traces and Prometheus metrics.

use std::io::IsTerminal;

use anyhow::Context as _;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::configuration::{Configuration, LogFormat};

/// A guard that sends the remaining traces when it is dropped.
pub struct Telemetry(Option<SdkTracerProvider>);

pub fn start(configuration: &Configuration) -> anyhow::Result<Telemetry> {
    let filter = configuration.log_filter()?;
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let log = match configuration.log.format {
        LogFormat::Text => log.boxed(),
        LogFormat::Json => log.json().flatten_event(true).boxed(),
    };
    let provider = configuration.otlp_endpoint().map(build_provider).transpose()?;
    let traces = provider.as_ref().map(|it| tracing_opentelemetry::layer().with_tracer(it.tracer("holdfast")));
    tracing_subscriber::registry().with(filter).with(log).with(traces).init();
    Ok(Telemetry(provider))
}

fn build_provider(endpoint: &str) -> anyhow::Result<SdkTracerProvider> {
    let exporter = SpanExporter::builder().with_http().with_endpoint(endpoint).build();
    let exporter = exporter.with_context(|| format!("telemetry.otlp_endpoint {endpoint} cannot be used"))?;
    let resource = Resource::builder().with_service_name("holdfast").build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(provider) = &self.0
            && let Err(error) = provider.shutdown()
        {
            tracing::warn!(%error, "flushing telemetry traces failed");
        }
    }
}

/// Histogram buckets for durations, from 0.1 ms to 30 s in steps of about a factor of three.
const SECONDS_BUCKETS: [f64; 12] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

const PACKS_BUCKETS: [f64; 8] = [1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0];

pub fn install_metrics() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full("holdfast_repository_packs_after_push".into()), &PACKS_BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS_BUCKETS)?
        .install_recorder()?;
    metrics::describe_counter!("holdfast_http_requests_total", "HTTP requests, by method, route and status.");
    metrics::describe_histogram!(
        "holdfast_http_request_duration_seconds",
        "Time from the head of an HTTP request to the head of its response, by method and route."
    );
    metrics::describe_counter!(
        "holdfast_connections_refused_total",
        "Connections that were closed because of a limit, by listener and reason."
    );
    metrics::describe_counter!(
        "holdfast_git_fetch_responses_total",
        "Responses to git fetches, by source: computed by git, or shared with an identical fetch."
    );
    metrics::describe_gauge!(
        "holdfast_database_connections",
        "Database connections of this node's pool, by state: busy, idle, or available to be opened."
    );
    metrics::describe_counter!(
        "holdfast_hook_events_fanned_out_total",
        "Webhook events that this node copied into the queues of the subscribed hooks."
    );
    metrics::describe_counter!(
        "holdfast_hook_deliveries_queued_total",
        "Webhook deliveries that this node queued by fanning out events."
    );
    metrics::describe_counter!("holdfast_hook_deliveries_total", "Webhook delivery attempts, by outcome.");
    metrics::describe_histogram!("holdfast_hook_delivery_seconds", "Duration of webhook delivery attempts.");
    metrics::describe_gauge!(
        "holdfast_hook_oldest_pending_delivery_seconds",
        "Age of the oldest webhook event that is not delivered, without paused hooks."
    );
    metrics::describe_gauge!("holdfast_hook_events_pending", "Webhook events that are not fanned out yet.");
    metrics::describe_gauge!("holdfast_hooks", "Hooks that are failing or paused, by state.");
    metrics::describe_counter!(
        "holdfast_git_cache_requests_total",
        "Uses of cached repositories, by result: hit, or miss if packs had to be downloaded."
    );
    metrics::describe_gauge!("holdfast_git_cache_bytes", "Size of this node's repository cache.");
    metrics::describe_histogram!(
        "holdfast_repository_packs_after_push",
        "Packs of a repository after a push, without packs shared with forks."
    );
    metrics::describe_gauge!("holdfast_jobs_pending", "Background jobs that are due and not running.");
    metrics::describe_gauge!("holdfast_job_oldest_pending_seconds", "Age of the oldest pending background job.");
    metrics::describe_gauge!(
        "holdfast_jobs_failed",
        "Background jobs that failed permanently; list them with holdfast admin jobs."
    );
    metrics::describe_gauge!("holdfast_builds_pending", "Builds that wait for a runner.");
    metrics::describe_gauge!("holdfast_build_oldest_pending_seconds", "Age of the oldest pending build.");
    metrics::describe_counter!("holdfast_builds_claimed_total", "Builds that runners claimed from this node.");
    metrics::describe_gauge!("holdfast_database_replicas", "Standbys that are connected to the database.");
    metrics::describe_gauge!(
        "holdfast_database_replication_lag_seconds",
        "Replay lag of the slowest standby of the database."
    );
    Ok(handle)
}
