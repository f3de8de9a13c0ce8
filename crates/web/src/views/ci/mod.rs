//! Pipelines and builds.

pub mod artifact;
pub mod build;
pub mod lint;
pub mod pending;
pub mod pipeline;
pub mod trace;
