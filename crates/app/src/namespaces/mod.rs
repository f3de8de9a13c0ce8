//! Namespaces, groups and their members.

pub mod access_request;
pub mod group;
pub mod member;
pub mod namespace;
