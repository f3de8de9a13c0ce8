//! Repositories: git transport, ref updates, browsing, maintenance and recovery.

mod bounded_stream;
pub mod browse;
pub mod commit_comment;
pub mod edit;
mod fetch_slot;
mod git_objects;
pub mod git_runtime;
pub mod inspection;
pub mod maintenance;
mod object_lookup;
mod objects;
pub mod open_repository;
mod pack;
mod pack_download;
pub mod recovery;
pub mod refs;
pub mod transfer;
pub mod warming;
