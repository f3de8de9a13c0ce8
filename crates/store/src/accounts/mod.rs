pub mod email;
pub mod identity;
pub mod ssh_key;
pub mod token;
pub mod user;
