//! Pipelines: what a file asks for, and how builds follow each other.

pub mod file;
pub mod progress;
pub mod status;
pub mod variable;

pub use status::{Event, Status};
