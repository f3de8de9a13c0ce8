//! Pipelines, builds and the runners that do them.

pub mod artifact;
pub mod build;
pub mod commit_status;
mod course;
pub mod creation;
pub mod job;
pub mod job_token_allowlist;
mod mask;
mod notice;
pub mod pipeline;
mod predefined;
pub mod runner;
pub mod runner_door;
pub mod tending;
pub mod trace;
pub mod trigger;
pub mod variable;
pub mod waiting;

use std::time::Duration;

use chrono::TimeDelta;

/// What operators decide about pipelines.
#[derive(Clone, Debug)]
pub struct CiSettings {
    /// How long a build may run.
    pub build_timeout: TimeDelta,
    /// A build whose runner is silent for so long has failed.
    pub silent_after: TimeDelta,
    /// How long a runner may wait for work in one request.
    pub longest_wait: Duration,
    pub max_trace_bytes: u64,
    pub max_artifact_bytes: u64,
}
