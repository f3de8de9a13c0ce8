//! Moves objects and refs between repositories: fetches, pushes, bundles and imports.

pub(super) mod bounded_stream;
pub mod bundle;
pub mod fetch;
pub mod import;
mod import_source;
pub mod push;
pub(crate) mod push_event;
pub(crate) mod push_event_details;
pub mod receipt;
pub mod request_reader;
pub mod shared_fetch;
