//! Logs, traces and metrics.

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

/// Sends what is left when the server stops.
pub struct Telemetry(Option<SdkTracerProvider>);

pub fn start(configuration: &Configuration) -> anyhow::Result<Telemetry> {
    let filter = configuration.log_filter()?;
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let log = match configuration.log.format {
        LogFormat::Text => log.boxed(),
        LogFormat::Json => log.json().flatten_event(true).boxed(),
    };
    let provider = configuration.otlp_endpoint().map(provider).transpose()?;
    let traces = provider.as_ref().map(|it| tracing_opentelemetry::layer().with_tracer(it.tracer("holdfast")));
    tracing_subscriber::registry().with(filter).with(log).with(traces).init();
    Ok(Telemetry(provider))
}

fn provider(endpoint: &str) -> anyhow::Result<SdkTracerProvider> {
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
            tracing::warn!(%error, "the last traces could not be sent");
        }
    }
}

/// Request times from a tenth of a millisecond to ten seconds.
const SECONDS: [f64; 12] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

const PACKS: [f64; 8] = [1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0];

pub fn metrics() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_packs".into()), &PACKS)?
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)?
        .install_recorder()?;
    metrics::describe_counter!("holdfast_http_requests_total", "Requests answered");
    metrics::describe_histogram!("holdfast_http_request_seconds", "Time from the request's head to the answer's");
    metrics::describe_counter!(
        "holdfast_git_answers_total",
        "Fetches answered, by git itself or with another's answer"
    );
    metrics::describe_gauge!("holdfast_database_connections", "Connections of this node's pool, by state");
    metrics::describe_counter!(
        "holdfast_hook_events_handed_over_total",
        "Events handed to those who listen, by this node"
    );
    metrics::describe_counter!("holdfast_hook_deliveries_queued_total", "Deliveries that came of them");
    metrics::describe_counter!("holdfast_hook_deliveries_total", "Attempts to tell a hook something, by outcome");
    metrics::describe_histogram!("holdfast_hook_delivery_seconds", "How long receivers took");
    metrics::describe_gauge!("holdfast_hook_oldest_undelivered_seconds", "How long something waits to be told");
    metrics::describe_gauge!("holdfast_hook_events_waiting", "Events that were handed to nobody yet");
    metrics::describe_gauge!("holdfast_hooks", "Hooks that fail or are paused");
    metrics::describe_counter!(
        "holdfast_git_copies_total",
        "Copies of repositories that were used, as they were or filled"
    );
    metrics::describe_histogram!(
        "holdfast_pushed_repository_packs",
        "Packs of its own that a repository has after a push"
    );
    metrics::describe_gauge!("holdfast_jobs_waiting", "Jobs that could be done now and that nobody does");
    metrics::describe_gauge!("holdfast_job_oldest_waiting_seconds", "How long the oldest of them waits");
    metrics::describe_gauge!("holdfast_jobs_given_up", "Jobs that were tried often enough: holdfast admin jobs");
    metrics::describe_gauge!("holdfast_database_replicas", "Servers that follow the database");
    metrics::describe_gauge!("holdfast_database_replication_lag_seconds", "How far behind the last of them is");
    Ok(handle)
}
