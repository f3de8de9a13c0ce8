//! The code of a project: directories, files, branches and tags.

mod address;
mod archive;
mod blame;
mod blob;
mod branch;
mod commit;
mod commit_list;
mod comparison;
mod contributor;
pub mod diff_params;
pub mod diff_stream;
mod file_form;
mod find;
mod range_diff;
pub mod readme;
mod ref_log;
mod rejection;
mod tag;
mod tree;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    tree::declare(pages);
    find::declare(pages);
    archive::declare(pages);
    blob::declare(pages);
    blame::declare(pages);
    file_form::declare(pages);
    commit_list::declare(pages);
    commit::declare(pages);
    comparison::declare(pages);
    range_diff::declare(pages);
    ref_log::declare(pages);
    branch::declare(pages);
    tag::declare(pages);
    contributor::declare(pages);
}
