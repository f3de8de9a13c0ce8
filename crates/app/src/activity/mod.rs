//! The activity feed.

pub mod feed;
pub mod inbox;
pub mod push_details;
