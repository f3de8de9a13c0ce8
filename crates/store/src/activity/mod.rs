pub mod event;
pub mod partition;
