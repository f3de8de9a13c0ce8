//! Signing in, the own account, and users.

mod profile;
mod session;
mod sign_in;
mod user;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    sign_in::declare(pages);
    profile::declare(pages);
    session::declare(pages);
    user::declare(pages);
}
