//! Tables of CI: pipelines, builds, the build queue, runners, traces and artifacts.

pub mod artifact;
pub mod build;
pub mod build_list;
pub mod build_object;
pub mod job;
pub mod job_token_allowlist;
pub mod pending_build;
pub mod pipeline;
pub mod queue;
pub mod runner;
pub mod runner_details;
pub mod running_build;
pub mod stage_step;
pub mod trace;
pub mod trigger;
pub mod variable;
