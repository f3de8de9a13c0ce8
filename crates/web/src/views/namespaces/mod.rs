//! Groups.

pub mod group;
pub mod new_group;
