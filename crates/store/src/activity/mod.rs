//! Events: the activity feed and the outbox.

pub mod event;
pub mod feed;
pub mod inbox;
pub mod partition;
