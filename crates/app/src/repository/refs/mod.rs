//! Refs: lists and updates branches and tags, restores earlier values, and keeps all updates in one function.

pub mod branch;
pub(crate) mod containing_merges;
pub mod containing_refs;
pub mod merged_branches;
pub(super) mod new_objects;
pub(super) mod planned_update;
pub mod protected_branch;
pub mod protected_tag;
mod push_event;
pub(crate) mod push_event_details;
pub mod ref_address;
mod ref_list;
pub mod ref_log;
pub mod ref_restore;
pub mod ref_update;
pub(super) mod ref_update_policy;
pub mod release;
pub mod tag;
pub(super) mod tag_permissions;
