//! Signing in, the own account, and users.

mod email;
mod keyboard;
mod password;
mod preferences;
mod profile;
mod session;
mod sign_in;
mod ssh_key;
mod token;
mod user;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    sign_in::declare(pages);
    profile::declare(pages);
    password::declare(pages);
    email::declare(pages);
    ssh_key::declare(pages);
    token::declare(pages);
    preferences::declare(pages);
    keyboard::declare(pages);
    session::declare(pages);
    user::declare(pages);
}
