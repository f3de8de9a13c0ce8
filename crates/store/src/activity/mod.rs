pub mod event;
pub mod feed;
pub mod partition;
