//! The activity feed.

pub mod feed;
pub mod push_details;
pub mod inbox;
