//! Lists of projects, and the home page of a project.

mod activity;
pub mod address;
pub mod filters;
mod fork;
mod home;
mod list;
mod new;
mod search;
mod settings;
mod star;
mod upload;

use super::Pages;
pub use upload::UPLOADS;

pub fn declare(pages: &mut Pages) {
    list::declare(pages);
    new::declare(pages);
    search::declare(pages);
    settings::declare(pages);
    home::declare(pages);
    activity::declare(pages);
    fork::declare(pages);
    star::declare(pages);
    upload::declare(pages);
}
