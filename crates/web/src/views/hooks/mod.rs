//! Hooks of projects and of the instance, and their deliveries. Both have the same pages.

pub mod delivery;
pub mod fields;
pub mod frame;
pub mod hook;
pub mod list;
pub mod status;
