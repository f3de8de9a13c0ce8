//! Users, their credentials, and authentication.

pub mod authentication;
pub(crate) mod bot;
pub mod browser_session;
pub mod email;
pub mod host_key;
mod job_token;
pub mod password;
pub(crate) mod secret;
pub mod session;
pub mod setup;
pub mod ssh_key;
pub mod status;
pub mod token;
pub mod user;
mod user_changes;
