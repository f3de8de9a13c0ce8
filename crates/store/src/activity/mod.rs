//! Events: the activity feed and the outbox.

pub mod calendar;
pub mod event;
pub mod feed;
pub mod inbox;
pub mod inbox_task;
pub mod partition;
