//! Bodies. A presenter is a plain function of what was loaded and who looks: it never queries.

pub mod access_request;
pub mod email;
pub mod event;
pub mod group;
pub mod hook;
pub mod member;
pub mod namespace;
pub mod project;
pub mod ssh_key;
mod timestamp;
pub mod token;
pub mod user;

pub use timestamp::Timestamp;
