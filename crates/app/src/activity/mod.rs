//! The activity feed.

pub mod calendar;
pub mod feed;
pub mod inbox;
pub mod push_details;
