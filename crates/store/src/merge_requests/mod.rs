//! Merge requests, their versions, and what follows from pushes.

pub mod list;
pub mod merge_request;
pub mod version;
pub mod waiting;
