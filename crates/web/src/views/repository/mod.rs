//! Directories, files, refs and commits.

pub mod archive_links;
pub mod blame;
pub mod blob;
pub mod branch;
pub mod commit;
pub mod commit_line;
pub mod commit_list;
pub mod comparison;
pub mod contributor;
pub mod diff;
pub mod diff_notes;
mod diff_rows;
pub mod file_form;
pub mod find;
pub mod path;
pub mod range_diff;
pub mod readme;
pub mod ref_log;
pub mod ref_switch;
pub mod tag;
pub mod tree;
pub mod tree_row;
