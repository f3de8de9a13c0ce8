//! Reads the contents of repositories: trees, files, commits, comparisons, archives and contributors.

pub mod archive;
pub mod blame;
pub mod blob;
pub mod changes;
pub(crate) mod ci_file;
pub mod commit;
pub mod commit_detail;
pub mod commit_list;
pub mod commit_page;
pub mod compare;
pub mod comparison_page;
pub mod contributor;
pub(crate) mod description_template;
pub mod file;
pub mod file_search;
pub mod last_commit;
pub mod overview;
pub mod range_diff;
pub mod ref_switch;
pub(crate) mod revision;
pub mod tree;
