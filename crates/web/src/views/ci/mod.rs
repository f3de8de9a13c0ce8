//! Pipelines and builds.

pub mod admin_runner;
pub mod artifact;
pub mod build;
pub mod job_token_allowlist;
pub mod lint;
pub mod pending;
pub mod pipeline;
pub mod project_runner;
pub mod runner;
pub mod trace;
pub mod trigger;
pub mod variable;
