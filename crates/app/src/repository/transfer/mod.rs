//! Moves objects and refs between repositories: fetches, pushes, bundles and imports.

pub mod bundle;
pub mod fetch;
pub mod import;
mod import_source;
pub(crate) mod missing_objects;
pub mod push;
pub mod receipt;
pub mod request_reader;
pub mod shared_fetch;
