//! Projects: what they may be called.

mod name;
mod path;
pub mod upload;

pub use name::ProjectName;
pub use path::ProjectPath;
