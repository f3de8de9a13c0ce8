//! Events for the outbox, with the data of the moment at which they happened: their subject may be deleted before they
//! are delivered.
//!
//! This module calls no use case, so that all use cases may call it.

pub(crate) mod account;
pub(crate) mod group;
pub(crate) mod project;
pub(crate) mod removal;
