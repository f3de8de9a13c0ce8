pub mod access_request;
pub mod group;
pub mod member;
pub mod namespace;
mod notice;
