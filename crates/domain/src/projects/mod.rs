//! Names, paths and uploads of projects.

mod name;
mod path;
pub mod upload;

pub use name::ProjectName;
pub use path::ProjectPath;
