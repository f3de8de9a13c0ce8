//! Users and their credentials.

pub mod browser_session;
pub mod email;
pub mod ghost;
pub mod host_key;
pub mod identity;
pub mod setup_code;
pub mod ssh_key;
pub mod token;
pub mod user;
pub mod user_status;
