//! Groups.

pub mod access_request;
pub mod address;
mod group;
mod member;
pub mod membership;
mod new_group;
mod settings;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    group::declare(pages);
    new_group::declare(pages);
    member::declare(pages);
    access_request::declare(pages);
    settings::declare(pages);
}
