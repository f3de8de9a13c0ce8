//! Issues.

pub mod issue;
pub mod issue_list;
pub mod label;
