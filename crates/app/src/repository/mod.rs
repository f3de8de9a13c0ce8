//! Repositories: fetching, pushing, and what keeps them in order.

pub mod archive;
pub mod branch;
pub mod commit;
pub mod compaction;
pub mod engine;
pub mod fetch;
pub mod import;
mod pack;
pub mod push;
mod push_details;
pub mod ref_change;
mod remote;
mod revision;
pub mod tag;
mod verdict;
