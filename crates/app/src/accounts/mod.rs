pub mod authentication;
pub mod email;
pub mod host_key;
pub mod password;
mod secret;
pub mod session;
pub mod ssh_key;
pub mod token;
pub mod user;
