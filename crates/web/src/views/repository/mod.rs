//! Directories, files, refs and commits.

pub mod blob;
pub mod branch;
pub mod commit_line;
pub mod path;
pub mod tag;
pub mod tree;
pub mod tree_row;
