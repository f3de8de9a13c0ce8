//! The administration, and the first run.

mod configuration;
mod group_list;
mod job;
mod overview;
mod project;
mod setup;
mod storage;
mod user;
mod user_access;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    overview::declare(pages);
    user::declare(pages);
    user_access::declare(pages);
    group_list::declare(pages);
    project::declare(pages);
    job::declare(pages);
    storage::declare(pages);
    configuration::declare(pages);
    setup::declare(pages);
}
