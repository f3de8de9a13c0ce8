//! The start page of a user, and the lists of the own issues and of the own activity.

pub mod feed;
pub mod frame;
pub mod inbox;
pub mod issue_list;
pub mod list_filter;
pub mod merge_request_list;
pub mod target_row;
pub mod todo_list;
