//! Import URLs and protected branches of repositories.

pub mod import_url;
pub mod protection;

pub use import_url::ImportUrl;
pub use protection::{Protection, Rule};
