//! Namespaces, groups and their members.

pub mod access_request;
pub mod group;
pub mod group_settings;
pub mod member;
pub mod member_overview;
pub mod namespace;
