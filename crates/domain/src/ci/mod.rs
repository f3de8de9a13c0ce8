//! CI: the file that defines pipelines, and the state transitions of builds and pipelines.

pub mod failure_reason;
pub mod file;
pub mod pipeline_source;
pub mod status;
pub mod transitions;
pub mod variable;

pub use failure_reason::FailureReason;
pub use pipeline_source::PipelineSource;
pub use status::{BuildEvent, Status};
