//! The REST API, one module per version.

pub mod v3;
