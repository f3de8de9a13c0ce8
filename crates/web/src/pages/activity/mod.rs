//! The start page of a user, and the lists of the own merge requests, issues, todos and activity.

mod feed;
mod inbox;
mod issue_list;
mod merge_request_list;
mod todo;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    inbox::declare(pages);
    merge_request_list::declare(pages);
    issue_list::declare(pages);
    todo::declare(pages);
    feed::declare(pages);
}
