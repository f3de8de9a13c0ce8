//! The activity feed.

pub mod feed;
