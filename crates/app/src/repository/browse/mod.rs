//! Reads the contents of repositories for the API: trees, files, commits, comparisons, archives and contributors.

pub mod archive;
pub mod blob;
pub(crate) mod ci_file;
pub mod commit;
pub mod compare;
pub mod contributor;
pub mod overview;
pub(crate) mod revision;
pub mod tree;
