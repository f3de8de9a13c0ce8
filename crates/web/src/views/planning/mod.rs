//! Issues.

pub mod board;
pub mod choices;
pub mod comment_form;
pub mod issue;
pub mod issue_confirmation;
pub mod issue_form;
pub mod issue_list;
pub mod label;
pub mod label_form;
pub mod label_list;
pub mod list_filter;
pub mod milestone;
pub mod milestone_form;
pub mod milestone_list;
pub mod preview;
pub mod system_note;
