//! Lists of projects, and the home page of a project.

mod access_request;
mod access_token;
mod activity;
pub mod address;
mod deletion;
mod deploy_key;
pub mod filters;
mod fork;
mod home;
mod import;
mod jump;
mod list;
mod member;
mod new;
mod protection;
mod search;
mod settings;
mod share;
mod star;
mod transfer;
mod upload;

use super::Pages;
pub use upload::UPLOADS;

pub fn declare(pages: &mut Pages) {
    list::declare(pages);
    new::declare(pages);
    search::declare(pages);
    jump::declare(pages);
    settings::declare(pages);
    protection::declare(pages);
    deploy_key::declare(pages);
    access_token::declare(pages);
    member::declare(pages);
    access_request::declare(pages);
    share::declare(pages);
    transfer::declare(pages);
    deletion::declare(pages);
    home::declare(pages);
    import::declare(pages);
    activity::declare(pages);
    fork::declare(pages);
    star::declare(pages);
    upload::declare(pages);
}
