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
pub(crate) mod object_lookup;
mod objects;
pub mod open_repository;
mod pack;
mod pack_download;
pub mod recovery;
pub mod refs;
pub mod transfer;
pub mod warming;

use holdfast_domain::Violations;
use holdfast_domain::text::MAX_TEXT_BYTES;

use crate::Result;

/// Checks the size of a text that belongs to a commit or a tag: its message or its release notes.
pub(crate) fn check_message_size(field: &'static str, text: &str) -> Result<()> {
    let mut violations = Violations::default();
    violations.check_size(field, text, MAX_TEXT_BYTES);
    Ok(violations.into_result()?)
}
