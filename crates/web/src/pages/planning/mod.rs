//! Issues.

mod board;
pub mod issue;
mod issue_action;
mod issue_bulk;
pub mod issue_form;
mod issue_list;
mod label;
pub mod list_filter;
mod milestone;
pub mod note;
mod preview;
mod refusal;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    issue_list::declare(pages);
    issue::declare(pages);
    issue_form::declare(pages);
    issue_action::declare(pages);
    issue_bulk::declare(pages);
    note::declare(pages);
    preview::declare(pages);
    label::declare(pages);
    milestone::declare(pages);
    board::declare(pages);
}
