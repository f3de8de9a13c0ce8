//! Issues.

mod issue;
mod issue_list;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    issue_list::declare(pages);
    issue::declare(pages);
}
