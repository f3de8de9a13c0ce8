//! What is planned in a project: labels, the board, milestones, issues and what is said about them. All of it changes
//! with the project locked, so that numbers have no gaps, positions are dense and counts are true; only what is said
//! locks no more than its issue.

pub mod board;
pub mod closing;
pub mod issue;
pub mod issue_change;
pub mod issue_list;
pub mod label;
pub mod milestone;
pub mod note;
mod notice;
pub mod relocation;
mod remark;
mod sight;
