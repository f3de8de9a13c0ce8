//! Pipelines and builds.

pub mod build;
pub mod pipeline;
pub mod trace;
