//! The types of Holdfast and the rules that apply to them everywhere.
//!
//! There is no input or output in this crate: everything is a value or a pure function, so that every rule can be
//! tested without a database.

pub mod access_level;
pub mod accounts;
pub mod activity;
pub mod ci;
mod date;
pub mod field;
pub mod hooks;
pub mod ids;
mod instance_urls;
pub mod merge_requests;
pub mod namespaces;
pub mod network;
pub mod page;
pub mod planning;
pub mod policy;
pub mod projects;
pub mod repository;
pub mod site;
pub mod text;
pub mod violations;
pub mod visibility;

pub use access_level::AccessLevel;
pub use date::parse_date;
pub use field::Field;
pub use instance_urls::InstanceUrls;
pub use violations::Violations;
pub use visibility::Visibility;
