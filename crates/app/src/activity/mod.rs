//! The activity feed.

pub mod feed;
pub mod inbox;
