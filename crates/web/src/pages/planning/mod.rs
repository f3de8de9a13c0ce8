//! Issues.

mod board;
mod issue;
mod issue_list;
mod label;
mod milestone;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    issue_list::declare(pages);
    issue::declare(pages);
    label::declare(pages);
    milestone::declare(pages);
    board::declare(pages);
}
