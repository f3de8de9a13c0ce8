//! Merge requests, their versions, and what follows from pushes.

pub mod commit;
pub mod discussion;
pub mod draft_note;
pub mod imported;
pub mod list;
pub mod merge_request;
pub mod open;
pub mod pipeline;
pub mod subscription;
pub mod title_search;
pub mod version;
pub mod waiting;
