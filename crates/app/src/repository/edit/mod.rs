//! Creates commits without a push: changes of files, and cherry-picks. Each is applied like the push of one commit.

pub mod cherry_pick;
pub mod entered_change;
pub mod file_changes;
pub mod file_form;
mod line_breaks;
pub(crate) mod merge;
mod open_branch;
