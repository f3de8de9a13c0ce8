//! Merge requests.

pub mod changes;
pub mod commit_list;
pub mod discussion;
pub mod form;
pub mod frame;
pub mod list;
pub mod merge_box;
pub mod note_form;
pub mod overview;
pub mod pipeline_list;
pub mod review;
pub mod version_list;
