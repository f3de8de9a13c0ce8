pub mod authentication;
pub mod email;
pub mod password;
pub mod session;
pub mod ssh_key;
pub mod token;
pub mod user;
