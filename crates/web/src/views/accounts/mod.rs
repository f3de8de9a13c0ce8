//! Signing in, profiles and sessions.

pub mod calendar;
pub mod email;
pub mod keyboard;
pub mod password;
pub mod preferences;
pub mod profile;
pub mod session;
pub mod sign_in;
pub mod ssh_key;
pub mod token;
pub mod user;
