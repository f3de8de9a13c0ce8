//! Merge requests.

mod actions;
mod changes;
mod comment;
mod form;
mod list;
mod overview;
mod review;
mod versions;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    list::declare(pages);
    form::declare(pages);
    overview::declare(pages);
    changes::declare(pages);
    versions::declare(pages);
    comment::declare(pages);
    review::declare(pages);
    actions::declare(pages);
}
