//! What administrators see of the whole instance: what needs attention, its accounts, its storage and its settings.

pub mod account;
pub mod configuration;
pub mod group;
pub mod overview;
pub mod storage;
