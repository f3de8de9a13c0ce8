//! Lists of projects, and the home page of a project.

pub mod address;
pub mod filters;
mod home;
mod list;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    list::declare(pages);
    home::declare(pages);
}
