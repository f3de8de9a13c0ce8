//! The start page of a user, and the lists of the own issues and of the own activity.

mod feed;
mod inbox;
mod issue_list;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    inbox::declare(pages);
    issue_list::declare(pages);
    feed::declare(pages);
}
