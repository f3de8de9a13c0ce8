//! Groups, user namespaces and memberships.

pub mod access_request;
pub mod bot;
pub mod group;
pub mod inherited_member;
pub mod member;
pub mod namespace;
