//! Groups.

pub mod group;
