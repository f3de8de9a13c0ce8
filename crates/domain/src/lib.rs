//! The nouns of Holdfast and the rules that hold for them wherever they appear. No input or output happens here:
//! everything is a value or a pure function, so that every rule can be tested without a database.

pub mod access_level;
pub mod accounts;
pub mod activity;
pub mod ci;
pub mod field;
pub mod hooks;
pub mod ids;
pub mod namespaces;
pub mod network;
pub mod page;
pub mod planning;
pub mod policy;
pub mod projects;
pub mod repository;
mod site;
pub mod text;
pub mod violations;
pub mod visibility;

pub use access_level::AccessLevel;
pub use field::Field;
pub use site::Site;
pub use violations::Violations;
pub use visibility::Visibility;
