//! Issues, notes, labels, milestones and boards.

pub mod assignee;
pub mod award;
pub mod board;
pub mod board_list;
pub mod imported;
pub mod issue;
pub mod issue_list;
pub mod label;
pub mod mention;
pub mod milestone;
pub mod note;
pub mod time_tracking;
pub mod todo;
pub mod todo_list;
