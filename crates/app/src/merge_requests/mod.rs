//! Merge requests: proposals to merge a branch, which are discussed, updated by pushes, and accepted.
//!
//! Changes of attributes, labels or state lock the target project and then the merge request. Changes of versions, notes
//! and waiting merges lock only the merge request. A transaction that also reads or updates refs locks the repository
//! after them.

pub mod accept;
pub mod action;
pub mod blocker;
pub mod changes;
pub mod closing;
pub mod detail;
pub mod discussion;
mod events;
pub mod form;
pub mod list;
pub mod merge_request;
pub mod page;
pub mod pipeline;
pub mod pushed;
pub mod review;
pub mod search;
mod source;
mod system_note;
pub mod thread;
pub mod version;
pub mod waiting;
