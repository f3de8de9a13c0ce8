//! Repositories: git transport, ref updates, browsing, maintenance and recovery.

pub mod browse;
pub mod git_runtime;
pub mod inspection;
pub mod maintenance;
mod object_lookup;
mod objects;
mod pack;
mod pack_download;
pub mod recovery;
pub mod refs;
pub mod transfer;
pub mod warming;
