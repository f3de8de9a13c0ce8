//! Labels, boards, milestones, issues and notes.
//!
//! All changes hold the lock of the project, so that numbers have no gaps, positions are dense and counters are correct
//! (ADR 0019). Changes of notes only lock their issue.

mod assignee;
pub mod award;
pub mod board;
pub mod close_issues;
pub mod default_labels;
mod events;
pub mod issue;
pub mod issue_action;
pub mod issue_bulk;
pub mod issue_form;
pub mod issue_list;
pub mod issue_move;
pub mod issue_search;
pub mod issue_update;
pub(crate) mod issue_visibility;
pub mod label;
pub mod list_filter;
pub(crate) mod list_query;
pub mod mention;
pub mod milestone;
pub mod milestone_issues;
pub mod note;
pub mod note_form;
mod quick_action;
pub(crate) mod system_note;
pub mod time_tracking;
pub mod title_search;
pub mod todo;
