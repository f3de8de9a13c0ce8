//! The code of a project: directories, files, branches and tags.

mod address;
mod blob;
mod branch;
mod tag;
mod tree;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    tree::declare(pages);
    blob::declare(pages);
    branch::declare(pages);
    tag::declare(pages);
}
