//! Pipelines and builds.

pub mod build;
pub mod pending;
pub mod pipeline;
pub mod trace;
