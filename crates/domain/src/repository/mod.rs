//! Imports, protected branches and tags, and ref updates of repositories.

pub mod import_phase;
pub mod import_url;
pub mod protection;
pub mod ref_update_channel;

pub use import_phase::ImportPhase;
pub use import_url::ImportUrl;
pub use protection::{Protection, Rule, TagProtection, TagRule};
pub use ref_update_channel::RefUpdateChannel;
