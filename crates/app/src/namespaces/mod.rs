pub mod group;
pub mod member;
pub mod namespace;
