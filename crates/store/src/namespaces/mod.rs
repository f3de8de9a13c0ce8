//! Groups, user namespaces and memberships.

pub mod access_request;
pub mod group;
pub mod member;
pub mod namespace;
