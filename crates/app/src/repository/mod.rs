//! Repositories: fetching, pushing, looking into them, and what keeps them in order.

pub mod archive;
pub mod blob;
pub mod branch;
pub(crate) mod ci_file;
pub mod commit;
pub mod compaction;
pub mod compare;
pub mod contributor;
pub mod engine;
pub mod fetch;
pub mod import;
pub mod merged_branches;
mod objects;
mod outlet;
mod pack;
pub mod push;
pub(crate) mod push_details;
mod reach;
pub mod ref_change;
pub mod release;
mod remote;
pub(crate) mod revision;
pub(crate) mod statuses;
pub mod tag;
pub(crate) mod told;
pub mod tree;
mod verdict;
