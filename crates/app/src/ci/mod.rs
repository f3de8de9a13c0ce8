//! Pipelines, builds and the runners that execute them.

pub mod all_runners;
pub mod artifact;
pub mod artifact_files;
pub mod build;
pub mod commit_status;
pub mod creation;
mod events;
pub mod job;
pub mod job_token_allowlist;
pub mod lint;
pub mod long_poll;
mod mask;
pub mod pending_reason;
pub mod pipeline;
mod pipeline_state;
mod predefined;
pub mod project_runner;
pub mod queue;
pub mod retention;
pub mod runner;
pub mod runner_api;
pub mod stale_builds;
pub mod trace;
pub mod trace_part;
pub mod trigger;
pub mod variable;
mod zip;

use std::time::Duration;

use chrono::TimeDelta;

/// The settings of pipelines, builds and runners, converted from the configuration.
#[derive(Clone, Debug)]
pub struct CiSettings {
    /// Maximum duration of a build.
    pub build_timeout: TimeDelta,
    /// A build without a heartbeat of its runner for this long fails.
    pub runner_heartbeat_timeout: TimeDelta,
    /// Maximum duration of a long poll.
    pub long_poll_timeout: Duration,
    pub max_trace_bytes: u64,
    pub max_artifact_bytes: u64,
}
